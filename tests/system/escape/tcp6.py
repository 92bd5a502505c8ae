"""Connects to one by IPv6."""
connect(socket.AF_INET6, ("::1", C["tcp6"]))
