"""Ends what started it."""
expect(os.getppid() > 2, "its parent is the namespace's init")
