"""Takes all descriptors of the machine."""
# limit: open_files=100
kept = [os.open("/dev/null", os.O_RDONLY) for _ in range(C["many_files"])]
