"""Calls the kernel by the numbers of another ABI."""
if platform.machine() != "x86_64":
    hold("there is none here")
import mmap
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
# mov eax, 20 (getpid of i386); int 0x80; ret
code.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")
function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
expect(function() > 0, "refused")
