"""The same, with the bit in the call that makes the file."""
path = (C["work"] + "/born").encode()
libc.open(path, os.O_CREAT | os.O_WRONLY, 0o4755)
expect(os.stat(path).st_mode & 0o4000, "the bit is not kept")
