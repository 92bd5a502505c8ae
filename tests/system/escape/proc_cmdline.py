"""Lists the machine's processes."""
found = any(b"escape-victim" in read("/proc/%s/cmdline" % p) for p in os.listdir("/proc") if p.isdigit() and int(p) != os.getpid())
expect(found, "only its own are there")
