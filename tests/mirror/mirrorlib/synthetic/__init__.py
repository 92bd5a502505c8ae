"""Made-up packages for edge cases: one module for each family, all working on a Maker."""
