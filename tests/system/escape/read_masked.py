"""Reads a file that a mask hides in a readable directory."""
expect(read(C["readable"] + "/masked") == C["secret"].encode(), "hidden")
