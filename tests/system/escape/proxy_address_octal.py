"""Writes a forbidden address in octal."""
# where: network
code, _ = status(through_proxy(b"CONNECT 0177.0.0.1:%d HTTP/1.1\r\n\r\n" % C["other_port"]))
expect(code == 200, "status %d" % code)
