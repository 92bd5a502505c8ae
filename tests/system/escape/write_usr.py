"""Plants a program in PATH."""
open("/usr/local/bin/pkgd-escape", "x").close()
os.unlink("/usr/local/bin/pkgd-escape")
