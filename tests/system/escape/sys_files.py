"""Reads the machine's devices."""
expect(os.listdir("/sys/class"), "empty")
