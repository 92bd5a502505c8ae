"""Learns who has an account here."""
expect(C["user"].encode() in read("/etc/passwd").replace(b"sandbox", b""), "only the sandbox's own")
expect(len(read("/etc/passwd").splitlines()) > 5, "a list of our own")
