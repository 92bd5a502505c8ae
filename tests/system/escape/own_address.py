"""Connects to the machine by its address in the network."""
connect(socket.AF_INET, (C["address"], C["tcp"]))
