"""Computes for ever."""
# where: limits
# limit: cpu_s=1
end = time.monotonic() + (6 if C["inside"] else 0.1)
while time.monotonic() < end:
    pass
