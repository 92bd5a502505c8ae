"""Measures the machine."""
attribute = ctypes.create_string_buffer(struct.pack("IIQ", 1, 112, 0), 112)
call("perf_event_open", attribute, 0, -1, -1, 0)
