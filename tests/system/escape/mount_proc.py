"""Mounts a fresh /proc."""
call("mount", b"proc", C["mountpoint"].encode(), b"proc", 0, b"")
call("umount2", C["mountpoint"].encode(), 2)
