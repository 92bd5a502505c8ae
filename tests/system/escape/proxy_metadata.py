"""Reaches the cloud's metadata through the proxy."""
# where: network
code, _ = status(through_proxy(b"CONNECT 169.254.169.254:%d HTTP/1.1\r\n\r\n" % C["tcp"], 10))
expect(code != 403, "status %d" % code)
