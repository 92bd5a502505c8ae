"""Reads another process's memory."""
pid = os.fork()
if pid == 0:
    time.sleep(5)
    os._exit(0)
try:
    local = ctypes.create_string_buffer(8)
    vector = struct.pack("PN", ctypes.addressof(local), 8)
    a, b = ctypes.create_string_buffer(vector), ctypes.create_string_buffer(vector)
    call("process_vm_readv", pid, a, 1, b, 1, 0)
finally:
    os.kill(pid, 9)
