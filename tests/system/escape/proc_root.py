"""Reaches the host through /proc/PID/root."""
expect(read("/proc/%d/root%s" % (C["victim"], C["canary"])) == C["secret"].encode(), "another text")
