"""Replaces its directory by a link while the host looks at it."""
path = C["work"] + "/race"
os.mkdir(path)
os.rmdir(path)
os.symlink(C["outside"], path)
open(path + "/through", "x").close()
