"""Changes an interface."""
import fcntl
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
request = fcntl.ioctl(sock, 0x8942, struct.pack("16si20x", b"lo", 0))
fcntl.ioctl(sock, 0x8943, request)
