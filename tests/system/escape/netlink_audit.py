"""Writes to the machine's audit log."""
socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9)
