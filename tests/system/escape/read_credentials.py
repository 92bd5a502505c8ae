"""Reads an index password out of .netrc."""
expect(b"password" in read(C["home"] + "/.netrc"), "none")
