"""Mounts through the newer calls."""
fd = call("fsopen", b"tmpfs", 0)
