"""Talks to one where Docker and D-Bus have theirs."""
connect(socket.AF_UNIX, C["run_socket"])
