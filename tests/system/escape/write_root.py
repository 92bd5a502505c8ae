"""Plants a file at the root of the file system."""
open("/pkgd-escape", "x").close()
os.unlink("/pkgd-escape")
expect(not C["inside"], "")
