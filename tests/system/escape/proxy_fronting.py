"""Names an allowed host to the proxy and another one to its server."""
# where: network
sock = through_proxy(b"CONNECT %s:%d HTTP/1.1\r\n\r\n" % (C["front"].encode(), C["tls"]))
code, _ = status(sock)
expect(code == 200, "status %d" % code)
sock.sendall(hello("evil.test"))
expect(sock.recv(100)[:1] == b"\x16", "no answer of the server")
