"""Fills the proxy's memory by a head without end."""
# where: network
sock = through_proxy(b"GET http://127.0.0.1:%d/ HTTP/1.1\r\nHost: x\r\n" % C["http"])
sent = 0
while sent < C["flood"]:
    sock.sendall(b"X: " + b"a" * 1000 + b"\r\n")
    sent += 1005
sock.sendall(b"\r\n")
code, _ = status(sock)
expect(code == 200, "status %d" % code)
