"""Takes all memory through files in /dev/shm."""
# where: limits
# limit: memory=134217728
path = "/dev/shm/escape-bomb"
try:
    with open(path, "wb") as f:
        for _ in range(C["megabytes"]):
            f.write(b"x" * (1 << 20))
            f.flush()
    time.sleep(1)
finally:
    os.unlink(path)
