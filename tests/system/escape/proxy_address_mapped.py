"""Writes a forbidden address as a mapped IPv6 address."""
# where: network
code, _ = status(through_proxy(b"CONNECT [::ffff:127.0.0.1]:%d HTTP/1.1\r\n\r\n" % C["other_port"]))
expect(code == 200, "status %d" % code)
