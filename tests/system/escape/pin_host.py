"""Gets hold of a process of the host."""
os.pidfd_open(C["victim"])
