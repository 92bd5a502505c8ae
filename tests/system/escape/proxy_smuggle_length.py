"""Hides a request behind two lengths."""
# where: network
sock = through_proxy(b"POST http://127.0.0.1:%d/ HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" % C["http"])
code, _ = status(sock)
expect(code == 200, "status %d" % code)
