"""Plants a file in /etc."""
open("/etc/pkgd-escape", "x").close()
os.unlink("/etc/pkgd-escape")
