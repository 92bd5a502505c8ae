"""Talks to a daemon of the host."""
connect(socket.AF_UNIX, C["socket"])
