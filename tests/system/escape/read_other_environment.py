"""Reads a tree of another environment."""
expect(read(C["pkgd"] + "/data/generations/7/1/bin/tool"), "empty")
