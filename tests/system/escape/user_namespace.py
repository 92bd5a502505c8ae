"""Makes a user namespace and with it capabilities."""
call("unshare", 0x10000000)
