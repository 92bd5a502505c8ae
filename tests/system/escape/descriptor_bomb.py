"""Takes all descriptors of the machine."""
# where: limits
# limit: open_files=100
kept = [os.open("/dev/null", os.O_RDONLY) for _ in range(C["many_files"])]
