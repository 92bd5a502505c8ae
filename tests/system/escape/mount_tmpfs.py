"""Mounts a file system of its own."""
call("mount", b"none", C["mountpoint"].encode(), b"tmpfs", 0, b"")
call("umount2", C["mountpoint"].encode(), 2)
