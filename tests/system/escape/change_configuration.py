"""Switches the sandbox off for the next job."""
with open(C["pkgd"] + "/config/pkgd.json", "w") as f:
    f.write("{}")
