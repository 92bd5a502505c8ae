"""Uses the kernel's crypto sockets, a rich source of its bugs."""
socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET)
