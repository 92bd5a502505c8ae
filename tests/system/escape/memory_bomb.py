"""Takes all memory, in one process."""
# where: limits
# limit: memory=134217728
kept = []
for _ in range(C["megabytes"]):
    kept.append(b"x" * (1 << 20))
