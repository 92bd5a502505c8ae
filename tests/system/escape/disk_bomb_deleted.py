"""Fills the disk with a file that has no name."""
# where: disk
# limit: disk=67108864
path = C["work"] + "/gone"
with open(path, "wb") as f:
    os.unlink(path)
    for _ in range(C["megabytes"]):
        f.write(b"x" * (1 << 20))
        f.flush()
    time.sleep(12 if C["inside"] else 0)
