"""Fills the disk."""
# where: disk
# limit: disk=67108864
path = C["work"] + "/bomb"
with open(path, "wb") as f:
    for _ in range(C["megabytes"]):
        f.write(b"x" * (1 << 20))
        f.flush()
    time.sleep(12 if C["inside"] else 0)
