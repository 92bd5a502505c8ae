"""Names an allowed host before an @."""
# where: network
code, _ = status(through_proxy(b"GET http://127.0.0.1:%d@%s/ HTTP/1.1\r\nHost: x\r\n\r\n" % (C["http"], C["denied"].encode())))
expect(code == 200, "status %d" % code)
