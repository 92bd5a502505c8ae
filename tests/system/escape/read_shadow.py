"""Reads the password hashes of the machine."""
expect(read("/etc/shadow"), "empty")
