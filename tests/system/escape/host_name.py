"""Renames the machine."""
name = socket.gethostname()
socket.sethostname(name)
