"""Reads the kernel's memory."""
expect(len(read("/proc/kcore")) == 4096, "hidden")
