"""Makes a node for a disk of the machine."""
path = C["work"] + "/disk"
os.mknod(path, 0o600 | 0o060000, os.makedev(254, 0))
