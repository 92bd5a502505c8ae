"""Reads what the caller types."""
expect(C["secret"].encode() in os.read(0, 100), "empty")
