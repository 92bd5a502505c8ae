"""Finds a socket file of the way out, to chmod or unlink it."""
import stat
found = []
for base, names, files in os.walk("/" if C["inside"] else C["outside"]):
    names[:] = [n for n in names if os.path.join(base, n) not in ("/proc", "/sys", "/usr")]
    for name in files:
        if stat.S_ISSOCK(os.lstat(os.path.join(base, name)).st_mode):
            found.append(os.path.join(base, name))
expect(found, "there is none")
os.chmod(found[0], 0)
os.chmod(found[0], 0o600)
