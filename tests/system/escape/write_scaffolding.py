"""Writes beside a mount, in the directory that only leads to it."""
path = os.path.dirname(C["readable"]) + "/planted"
open(path, "x").close()
os.unlink(path)
