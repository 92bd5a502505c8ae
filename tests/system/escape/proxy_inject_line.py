"""Injects a line by its authority."""
# where: network
code, _ = status(through_proxy(b"CONNECT 127.0.0.1:%d\tHTTP/1.1\r\nX: y HTTP/1.1\r\n\r\n" % C["http"]))
expect(code == 200, "status %d" % code)
