"""Talks to a socket that lies in its own workspace."""
# where: writable
connect(socket.AF_UNIX, C["work"] + "/host.sock")
