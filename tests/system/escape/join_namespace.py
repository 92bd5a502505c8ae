"""Joins a namespace."""
call("setns", os.open("/proc/self/ns/uts", os.O_RDONLY), 0)
