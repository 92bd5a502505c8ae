"""Follows a link that it makes itself."""
link = C["work"] + "/link"
os.symlink(C["canary"], link)
expect(read(link) == C["secret"].encode(), "another text")
