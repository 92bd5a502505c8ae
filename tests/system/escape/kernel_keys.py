"""Reads the keys of all users."""
expect(b"keyring" in read("/proc/keys"), "empty")
