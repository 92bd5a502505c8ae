"""Uses a descriptor that was left open."""
expect(os.read(C["leaked"], 100) == C["secret"].encode(), "another file")
