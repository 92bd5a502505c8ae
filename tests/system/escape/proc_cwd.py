"""Reaches the host through /proc/PID/cwd."""
expect(os.listdir("/proc/%d/cwd" % C["victim"]), "empty")
