"""Writes a forbidden address in its short form."""
# where: network
code, _ = status(through_proxy(b"CONNECT 127.1:%d HTTP/1.1\r\n\r\n" % C["other_port"]))
expect(code == 200, "status %d" % code)
