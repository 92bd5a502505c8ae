"""Gives a file to another user."""
path = C["work"] + "/given"
open(path, "x").close()
os.chown(path, 12345, 12345)
