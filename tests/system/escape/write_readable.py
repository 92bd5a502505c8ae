"""Writes to a directory that was granted for reading."""
path = C["readable"] + "/planted"
open(path, "x").close()
os.unlink(path)
