"""Asks for a host that no rule names."""
# where: network
code, _ = status(through_proxy(b"CONNECT %s HTTP/1.1\r\n\r\n" % C["denied"].encode()))
expect(code == 200, "status %d" % code)
