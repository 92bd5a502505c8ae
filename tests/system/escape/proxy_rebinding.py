"""Reaches this machine by a public name that leads to it."""
# where: network
code, _ = status(through_proxy(b"CONNECT %s:%d HTTP/1.1\r\n\r\n" % (C["rebound"].encode(), C["tcp"])))
expect(code == 200, "status %d" % code)
