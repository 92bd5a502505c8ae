"""Takes a descriptor of another process."""
expect(os.listdir("/proc/%d/fd" % C["victim"]), "empty")
