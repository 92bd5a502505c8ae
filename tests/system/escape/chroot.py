"""Changes its root, the first half of the classic escape."""
call("chroot", b"/tmp")
