"""Signals or traces the proxy."""
# where: network
found = [p for p in os.listdir("/proc") if p.isdigit() and int(p) > 2 and b"pkg-proxy" in read("/proc/%s/cmdline" % p).split(b"\0")[0]]
expect(found, "it is not among the processes here")
os.kill(int(found[0]), 0)
