"""Writes a forbidden address as one number."""
# where: network
code, _ = status(through_proxy(b"CONNECT 2130706433:%d HTTP/1.1\r\n\r\n" % C["other_port"]))
expect(code == 200, "status %d" % code)
