"""Asks the cloud for the machine's credentials."""
connect(socket.AF_INET, (C["metadata"], C["tcp"]))
