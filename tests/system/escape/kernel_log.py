"""Reads the kernel's log."""
fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
os.read(fd, 8192)
