"""Talks to the hypervisor."""
socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)
