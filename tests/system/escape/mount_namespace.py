"""Makes a mount namespace."""
call("unshare", 0x00020000)
