"""Loads code into the kernel."""
try:
    call("bpf", 0, 0, 0)
except OSError as error:
    if error.errno not in (errno.EINVAL, errno.EFAULT):
        raise
