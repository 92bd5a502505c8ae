"""Sends one by IPv6."""
sock = connect(socket.AF_INET6, ("::1", C["udp6"]), socket.SOCK_DGRAM)
sock.send(b"out")
expect(sock.recv(10) == b"seen", "nobody heard it")
