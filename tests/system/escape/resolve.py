"""Asks the system for a name."""
expect(socket.getaddrinfo(C["name"], 80), "no answer")
