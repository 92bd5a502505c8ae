"""Speaks another protocol in a tunnel for TLS."""
# where: network
sock = through_proxy(b"CONNECT %s:%d HTTP/1.1\r\n\r\n" % (C["front"].encode(), C["tls"]))
code, _ = status(sock)
expect(code == 200, "status %d" % code)
sock.sendall(b"SSH-2.0-evil\r\n")
expect(sock.recv(100), "closed")
