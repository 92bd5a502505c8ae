"""Puts a key into a keyring that others can see."""
call("add_key", b"user", b"escape", b"x", 1, -3)
