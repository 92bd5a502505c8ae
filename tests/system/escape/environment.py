"""Reads a secret of the caller's environment."""
expect(any("ESCAPE_SECRET" in v for v in os.environ.values()), "not there")
