"""The same by plain HTTP."""
# where: network
code, _ = status(through_proxy(b"GET http://%s/ HTTP/1.1\r\nHost: x\r\n\r\n" % C["denied"].encode()))
expect(code == 200, "status %d" % code)
