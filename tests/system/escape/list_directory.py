"""Lists a directory outside every grant."""
expect("canary" in os.listdir(os.path.dirname(C["canary"])), "it is not listed")
