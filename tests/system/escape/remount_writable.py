"""Makes a read-only mount writable."""
target = b"/usr" if C["inside"] else C["mountpoint"].encode()
if not C["inside"]:
    call("mount", b"none", target, b"tmpfs", 1, b"")
call("mount", b"none", target, b"", 0x20 | (0x1000 if C["inside"] else 0), b"")
if not C["inside"]:
    call("umount2", target, 2)
