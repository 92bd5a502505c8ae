"""Reads a secret out of another process's environment."""
expect(b"VICTIM_TOKEN" in read("/proc/%d/environ" % C["victim"]), "another process")
