"""Walks up from its own directory."""
os.chdir(C["work"])
expect(read(os.path.relpath(C["canary"], C["work"])) == C["secret"].encode(), "another text")
