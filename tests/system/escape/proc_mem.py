"""Writes to the memory of another process."""
fd = os.open("/proc/%d/mem" % C["victim"], os.O_RDWR)
