"""Stops the kernel in the middle of a copy."""
call("userfaultfd", 1)
