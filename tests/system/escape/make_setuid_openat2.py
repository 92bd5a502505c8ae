"""The same by openat2, whose mode a filter cannot read."""
# where: foreign
path = (C["work"] + "/born2").encode()
how = ctypes.create_string_buffer(struct.pack("QQQ", os.O_CREAT | os.O_WRONLY, 0o4755, 0))
call("openat2", -100, path, how, 24)
expect(os.stat(path).st_mode & 0o4000, "the bit is not kept")
