"""Listens to the wire."""
socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
