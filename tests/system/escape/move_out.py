"""Moves a file of its own out to where others look."""
path = C["work"] + "/moved"
open(path, "w").close()
os.rename(path, C["outside"] + "/moved")
