"""Hides a field in a folded line."""
# where: network
code, _ = status(through_proxy(b"GET http://127.0.0.1:%d/ HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\n\r\n" % C["http"]))
expect(code == 200, "status %d" % code)
