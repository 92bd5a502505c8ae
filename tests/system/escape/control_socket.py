"""Answers its own card."""
connect(socket.AF_UNIX, C["pkgd"] + "/run/control.sock")
