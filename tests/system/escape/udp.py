"""Sends a datagram out."""
sock = connect(socket.AF_INET, (C["address"], C["udp"]), socket.SOCK_DGRAM)
sock.send(b"out")
