"""Reads a file outside every grant."""
expect(read(C["canary"]) == C["secret"].encode(), "another text")
