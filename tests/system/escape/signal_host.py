"""Signals a process of the host."""
os.kill(C["victim"], 0)
