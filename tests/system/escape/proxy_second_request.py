"""Asks for an allowed host first, on the same connection."""
# where: network
sock = through_proxy(b"GET http://127.0.0.1:%d/ HTTP/1.1\r\nHost: x\r\n\r\nGET http://%s/ HTTP/1.1\r\nHost: x\r\n\r\n" % (C["http"], C["denied"].encode()))
got = answer(sock)
expect(got.count(b"HTTP/1.1 200") == 2, "%r" % got[-200:])
