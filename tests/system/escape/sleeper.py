"""Never ends."""
# where: limits
# limit: wall_ms=1000
for s in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(s, signal.SIG_IGN)
time.sleep(8 if C["inside"] else 0)
