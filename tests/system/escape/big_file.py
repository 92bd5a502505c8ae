"""Writes one file without end."""
# where: writable
# limit: file_size=67108864
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
with open(C["work"] + "/big", "wb") as f:
    for _ in range(C["megabytes"]):
        f.write(b"x" * (1 << 20))
