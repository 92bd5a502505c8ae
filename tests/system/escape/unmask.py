"""Removes the mask over a secret."""
call("umount2", (C["readable"] + "/masked").encode(), 2) if C["inside"] else None
expect(read(C["readable"] + "/masked") == C["secret"].encode(), "hidden")
