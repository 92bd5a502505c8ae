"""Reads another job's file in the cache."""
expect(read(C["pkgd"] + "/cache/files/ab"), "empty")
