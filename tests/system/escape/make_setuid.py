"""Leaves a program that becomes us for whoever runs it."""
path = C["work"] + "/setuid"
open(path, "x").close()
os.chmod(path, 0o4755)
expect(os.stat(path).st_mode & 0o4000, "the bit is not kept")
