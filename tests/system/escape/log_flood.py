"""Fills the log."""
for _ in range(C["megabytes"]):
    sys.stdout.write("x" * (1 << 20))
sys.stdout.flush()
hold("it is drained and cut") if C["inside"] else None
