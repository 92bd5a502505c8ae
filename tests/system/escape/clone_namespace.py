"""Makes one by clone."""
pid = call("clone", 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)
if pid == 0:
    os._exit(0)
os.waitpid(pid, 0)
