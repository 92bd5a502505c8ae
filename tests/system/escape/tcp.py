"""Connects to a server of this machine."""
connect(socket.AF_INET, ("127.0.0.1", C["tcp"]))
