"""Talks to a socket without a file."""
connect(socket.AF_UNIX, "\0" + C["abstract"])
