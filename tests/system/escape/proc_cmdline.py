"""Lists the machine's processes."""
def line(p):
    try:
        return read("/proc/%s/cmdline" % p)
    except OSError:
        return b""


expect(any(b"escape-victim" in line(p) for p in os.listdir("/proc") if p.isdigit() and int(p) != os.getpid()), "only its own are there")
