"""Puts a wheel of its own into the cache."""
with open(C["pkgd"] + "/cache/wheels/evil.whl", "wb") as f:
    f.write(b"evil")
