"""Reads a private key of the user who runs it all."""
expect(b"KEY" in read(C["home"] + "/.ssh/id_ed25519"), "no key")
