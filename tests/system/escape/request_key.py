"""Has the kernel start a program for a key."""
try:
    call("request_key", b"user", b"no-such-key", 0, -3)
except OSError as error:
    if error.errno != errno.ENOKEY:
        raise
