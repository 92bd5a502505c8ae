"""Clones a part of the mount tree."""
call("open_tree", -100, b"/usr", 1)
