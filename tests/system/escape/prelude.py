# Put before every attempt: C is what the runner tells it (paths, ports, numbers). An attempt that comes to its end has
# escaped; one that an OSError or hold() stops was held.
import ctypes
import errno
import os
import platform
import signal
import socket
import struct
import subprocess
import sys
import time

libc = ctypes.CDLL(None, use_errno=True)
NUMBERS = {
    "x86_64": dict(mount=165, umount2=166, pivot_root=155, chroot=161, ptrace=101, add_key=248, request_key=249, keyctl=250,
                   unshare=272, clone=56, perf_event_open=298, process_vm_readv=310, kcmp=312, bpf=321, userfaultfd=323,
                   name_to_handle_at=303, open_by_handle_at=304, kexec_load=246, quotactl=179, swapon=167, reboot=169,
                   syslog=103, setns=308, finit_module=313),
    "aarch64": dict(mount=40, umount2=39, pivot_root=41, chroot=51, ptrace=117, add_key=217, request_key=218, keyctl=219,
                    unshare=97, clone=220, perf_event_open=241, process_vm_readv=270, kcmp=272, bpf=280, userfaultfd=282,
                    name_to_handle_at=264, open_by_handle_at=265, kexec_load=104, quotactl=60, swapon=224, reboot=142,
                    syslog=116, setns=268, finit_module=273),
}[platform.machine()]
NUMBERS.update(pidfd_send_signal=424, io_uring_setup=425, open_tree=428, move_mount=429, fsopen=430, clone3=435,
               openat2=437, pidfd_getfd=438, mount_setattr=442, fchmodat2=452)


class Held(Exception):
    pass


def hold(why):
    raise Held(why)


def call(name, *args):
    """A system call; its result, or OSError."""
    ctypes.set_errno(0)
    args = [ctypes.c_char_p(a) if isinstance(a, bytes) else a if not isinstance(a, int) else ctypes.c_long(a) for a in args]
    result = libc.syscall(ctypes.c_long(NUMBERS[name]), *args)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), name)
    return result


def read(path):
    with open(path, "rb") as f:
        return f.read(4096)


def expect(condition, why):
    if not condition:
        hold(why)


def connect(family, address, kind=socket.SOCK_STREAM):
    sock = socket.socket(family, kind)
    sock.settimeout(3)
    sock.connect(address)
    return sock


def through_proxy(data, wait=3):
    """What the proxy answers."""
    sock = connect(socket.AF_INET, ("127.0.0.1", C["proxy"]))
    sock.settimeout(wait)
    sock.sendall(data)
    return sock


def answer(sock):
    out = b""
    try:
        while more := sock.recv(65536):
            out += more
    except (TimeoutError, ConnectionError):
        pass
    return out


def status(sock):
    head = b""
    while b"\r\n\r\n" not in head and (more := sock.recv(4096)):
        head += more
    return int(head.split()[1]), head.partition(b"\r\n\r\n")[2]


def hello(name):
    """A TLS ClientHello for that server."""
    import ssl
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_hostname=name)
    try:
        tls.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()
