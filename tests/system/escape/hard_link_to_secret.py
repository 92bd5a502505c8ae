"""Links a secret into its own directory."""
os.link(C["canary"], C["work"] + "/hard")
expect(read(C["work"] + "/hard"), "empty")
