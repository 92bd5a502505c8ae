"""Takes a mount away."""
if not C["inside"]:
    call("mount", b"none", C["mountpoint"].encode(), b"tmpfs", 0, b"")
call("umount2", b"/proc" if C["inside"] else C["mountpoint"].encode(), 2)
