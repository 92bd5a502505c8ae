"""Changes the root of its namespace."""
os.chdir("/tmp")
try:
    call("pivot_root", b".", b".")
except OSError as error:
    if error.errno not in (errno.EINVAL, errno.EBUSY):
        raise
