"""Reads the database: cards, grants, audit."""
expect(read(C["pkgd"] + "/state/state.db"), "empty")
