"""Makes one by clone3, whose flags a filter cannot read."""
args = ctypes.create_string_buffer(struct.pack("8Q", 0x10000000, 0, 0, 0, signal.SIGCHLD, 0, 0, 0), 64)
pid = call("clone3", args, 64)
if pid == 0:
    os._exit(0)
os.waitpid(pid, 0)
