"""Follows a link that waited in a granted directory."""
expect(read(C["readable"] + "/link") == C["secret"].encode(), "another text")
