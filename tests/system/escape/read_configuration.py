"""Reads the configuration, which may name credentials."""
expect(read(C["pkgd"] + "/config/pkgd.json"), "empty")
