"""Changes a file of another environment."""
with open(C["pkgd"] + "/data/generations/7/1/bin/tool", "ab") as f:
    f.write(b"#")
