"""Reads the machine's logs."""
expect(os.listdir("/var/log"), "empty")
