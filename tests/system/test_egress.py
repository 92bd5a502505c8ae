"""pkg-proxy and pkg-shim as real processes, against servers on loopback only.

PKGD_LIBEXEC names the directory with the two programs; without it, the installed tree of the test build.
Numbers T80 to T98 are rows of the list of behaviours that the product keeps.
"""

import contextlib
import hashlib
import json
import os
import random
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import threading
import time

import pytest

LIBEXEC = os.environ.get("PKGD_LIBEXEC") or os.path.join(
    os.path.abspath(os.environ.get("PKGD_TEST_BUILD", "build/test")), "root/usr/local/libexec/pkgd")
PROXY = os.path.join(LIBEXEC, "pkg-proxy")
SHIM = os.path.join(LIBEXEC, "pkg-shim")

pytestmark = pytest.mark.skipif(
    not os.access(PROXY, os.X_OK) and not os.environ.get("CI"),
    reason="the programs are not built",
)

LOOPBACK = ["127.0.0.0/8", "::1"]


# ---- servers ---------------------------------------------------------------------------------


class Server:
    """Accepts on loopback; every connection is handed to `handle` in a thread of its own."""

    def __init__(self, handle, address="127.0.0.1"):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.sock = socket.create_server((address, 0), family=family, backlog=512)
        self.port = self.sock.getsockname()[1]
        self.handle = handle
        self.opened = 0
        self.closed = 0
        self.requests = []
        self.lock = threading.Lock()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                conn, _ = self.sock.accept()
            except OSError:
                return
            with self.lock:
                self.opened += 1
            threading.Thread(target=self.serve, args=(conn,), daemon=True).start()

    def serve(self, conn):
        try:
            self.handle(self, conn)
        except OSError:
            pass
        finally:
            conn.close()
            with self.lock:
                self.closed += 1

    def close(self):
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)
        self.sock.close()


def read_head(conn):
    data = b""
    while b"\r\n\r\n" not in data:
        more = conn.recv(65536)
        if not more:
            return data, b""
        data += more
    head, _, rest = data.partition(b"\r\n\r\n")
    return head + b"\r\n\r\n", rest


def read_all(conn):
    out = []
    while True:
        data = conn.recv(1 << 16)
        if not data:
            return b"".join(out)
        out.append(data)


def read_exactly(conn, count):
    out = b""
    while len(out) < count:
        data = conn.recv(min(1 << 16, count - len(out)))
        if not data:
            break
        out += data
    return out


def echo(_, conn):
    while True:
        data = conn.recv(1 << 16)
        if not data:
            conn.shutdown(socket.SHUT_WR)
            return
        conn.sendall(data)


def http_ok(server, conn):
    head, rest = read_head(conn)
    fields = head.lower()
    body = rest
    if b"content-length:" in fields:
        length = int(fields.split(b"content-length:")[1].split(b"\r\n")[0])
        body += read_exactly(conn, length - len(rest))
    elif b"transfer-encoding: chunked" in fields:
        while not body.endswith(b"0\r\n\r\n"):
            body += conn.recv(65536)
    with server.lock:
        server.requests.append((head, body))
    answer = b"hello " + str(len(body)).encode()
    conn.sendall(
        b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nKeep-Alive: timeout=5\r\n"
        b"Connection: keep-alive\r\n\r\n%s" % (len(answer), answer)
    )
    conn.settimeout(2)
    with contextlib.suppress(OSError):
        conn.recv(1)


def http_many(server, conn):
    """Answers requests with a length until the client leaves."""
    rest = b""
    while True:
        while b"\r\n\r\n" not in rest:
            more = conn.recv(65536)
            if not more:
                return
            rest += more
        head, _, rest = rest.partition(b"\r\n\r\n")
        fields = head.lower()
        length = int(fields.split(b"content-length:")[1].split(b"\r\n")[0]) if b"content-length:" in fields else 0
        rest += read_exactly(conn, length - len(rest)) if len(rest) < length else b""
        body, rest = rest[:length], rest[length:]
        with server.lock:
            server.requests.append((head, body))
        answer = b"hello %d" % len(body)
        conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(answer), answer))


# ---- the proxy -------------------------------------------------------------------------------


class Proxy:
    def __init__(self, tmp_path, rules, limits=None, name="test list", cure="Run: pkg host add", env=None):
        self.dir = tmp_path
        self.rules_path = str(tmp_path / "rules.json")
        self.audit_path = str(tmp_path / "audit.jsonl")
        self.name, self.cure, self.limits = name, cure, limits or {}
        self.write(rules)
        listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port = listener.getsockname()[1]
        theirs, self.control = os.pipe()
        self.log_path = tmp_path / "proxy.log"
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                [PROXY, "--listen-fd", str(listener.fileno()), "--control-fd", str(theirs),
                 "--rules", self.rules_path, "--audit", self.audit_path],
                pass_fds=[listener.fileno(), theirs], stderr=log, env=env or {},
            )
        os.close(theirs)
        listener.close()

    def write(self, rules, text=None):
        text = text or json.dumps(
            {"name": self.name, "rules": rules, "cure": self.cure, "limits": self.limits})
        with open(self.rules_path + ".new", "w") as out:
            out.write(text)
        os.rename(self.rules_path + ".new", self.rules_path)

    def connect(self):
        conn = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return conn

    def tunnel(self, authority):
        """(status, socket, body or early bytes)"""
        conn = self.connect()
        conn.sendall(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
        head, rest = read_head(conn)
        status = int(head.split()[1])
        return status, conn, rest if status == 200 else rest + read_all(conn)

    def send(self, data):
        """Everything the proxy answers to data, until it closes."""
        with self.connect() as conn:
            conn.sendall(data)
            return read_all(conn)

    def settled_fds(self):
        """How many it has open once it has let go of one connection that it refused."""
        rows = len(self.rows())
        self.send(b"\r\n\r\n")
        self.row(count=rows + 1)
        time.sleep(0.05)
        return self.fds()

    def fds(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def memory(self):
        """The most it ever had resident; a sanitizer's own memory is not counted against it."""
        with open(PROXY, "rb") as program:
            if b"__asan_init" in program.read():
                return 0
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:")) * 1024

    def rows(self):
        if not os.path.exists(self.audit_path):
            return []
        with open(self.audit_path) as rows:
            return [json.loads(line) for line in rows]

    def row(self, index=-1, count=None):
        """Rows are written when a connection closes, a moment after the client sees it."""
        end = time.time() + 5
        while time.time() < end:
            rows = self.rows()
            if len(rows) >= (count or 1):
                return rows[index]
            time.sleep(0.01)
        raise AssertionError(f"only {len(self.rows())} rows")

    def log(self):
        return self.log_path.read_text()

    def stop(self):
        os.close(self.control)
        status = self.process.wait(10)
        assert status == 0, self.log()


@pytest.fixture
def make_proxy(tmp_path):
    proxies = []

    def make(rules, **keywords):
        directory = tmp_path / f"proxy{len(proxies)}"
        directory.mkdir()
        proxies.append(Proxy(directory, rules, **keywords))
        return proxies[-1]

    yield make
    for proxy in proxies:
        if proxy.process.poll() is None:
            proxy.stop()


@pytest.fixture
def serve():
    servers = []

    def make(handle, address="127.0.0.1"):
        servers.append(Server(handle, address))
        return servers[-1]

    yield make
    for server in servers:
        server.close()


def any_tls(*hosts):
    return [{"host": host, "tls": "any"} for host in hosts]


def wait_for(condition, seconds=5):
    end = time.time() + seconds
    while not condition():
        assert time.time() < end, "it did not come to pass in time"
        time.sleep(0.02)


def pattern(length):
    """Bytes that tell their position, so that a lost or moved block shows."""
    block = b"".join(struct.pack(">I", i) for i in range(1 << 14))
    return (block * (length // len(block) + 1))[:length]


def client_hello(name, **options):
    """A real ClientHello of OpenSSL."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_hostname=name, **options)
    with contextlib.suppress(ssl.SSLWantReadError):
        tls.do_handshake()
    return outgoing.read()


def split_records(hello, size):
    """The same handshake message in TLS records of `size` bytes."""
    body = hello[5:]
    return b"".join(
        b"\x16\x03\x01" + struct.pack(">H", len(body[i:i + size])) + body[i:i + size]
        for i in range(0, len(body), size))


# ---- tunnels ---------------------------------------------------------------------------------


@pytest.mark.parametrize("limits", [{}, {"splice_after": 0}, {"pipes": 0}])
def test_eight_mebibytes_come_through_unchanged_in_both_directions(make_proxy, serve, limits):  # T80
    server = serve(echo)
    proxy = make_proxy(any_tls(f"127.0.0.1:{server.port}"), limits=limits)
    status, conn, _ = proxy.tunnel(f"127.0.0.1:{server.port}")
    assert status == 200
    sent = pattern(8 << 20)

    def write():
        conn.sendall(sent)
        conn.shutdown(socket.SHUT_WR)

    threading.Thread(target=write, daemon=True).start()
    got = read_all(conn)
    assert hashlib.sha256(got).digest() == hashlib.sha256(sent).digest()
    row = proxy.row()
    assert (row["verdict"], row["up"], row["down"]) == ("allowed", 8 << 20, 8 << 20)
    assert row["address"] == "127.0.0.1" and row["rule"] == f"127.0.0.1:{server.port}"


def test_either_side_may_close_its_half_first(make_proxy, serve):
    got = []

    def server_first(_, conn):
        conn.sendall(b"first")
        conn.shutdown(socket.SHUT_WR)
        got.append(read_all(conn))

    server = serve(server_first)
    proxy = make_proxy(any_tls(f"127.0.0.1:{server.port}"))
    _, conn, early = proxy.tunnel(f"127.0.0.1:{server.port}")
    assert early + read_all(conn) == b"first"
    conn.sendall(b"still heard")
    conn.shutdown(socket.SHUT_WR)
    wait_for(lambda: got)
    assert got == [b"still heard"]


def push_until_it_stalls(conn):
    """How many bytes went in before nothing did for a second."""
    conn.setblocking(False)
    accepted, last = 0, time.time()
    while time.time() - last < 1:
        try:
            accepted += conn.send(b"x" * 65536)
            last = time.time()
        except BlockingIOError:
            time.sleep(0.01)
        assert accepted < 256 << 20, "somebody takes it all"
    return accepted


def test_a_stalled_reader_stalls_its_writer_and_nothing_grows(make_proxy, serve):
    done = threading.Event()
    server = serve(lambda _, conn: done.wait(20))
    proxy = make_proxy(any_tls(f"127.0.0.1:{server.port}"))
    _, conn, _ = proxy.tunnel(f"127.0.0.1:{server.port}")
    push_until_it_stalls(conn)
    assert proxy.memory() < 16 << 20
    done.set()


# ---- heads -----------------------------------------------------------------------------------


def test_a_head_that_never_ends_is_cut_off_with_431(make_proxy):  # T81
    proxy = make_proxy(LOOPBACK)
    conn = proxy.connect()
    conn.sendall(b"GET http://127.0.0.1/ HTTP/1.1\r\n")
    conn.settimeout(5)
    accepted, answer = 0, b""
    with contextlib.suppress(ConnectionError):
        while accepted < 64 << 20:
            accepted += conn.send(b"X-Filler: " + b"a" * 8000 + b"\r\n")
    # What came before the reset can still be read.
    with contextlib.suppress(ConnectionError):
        answer = conn.recv(65536)
    assert answer.startswith(b"HTTP/1.1 431 ")
    assert accepted < 16 << 20
    assert proxy.memory() < 16 << 20
    assert proxy.row()["verdict"] == "oversize"


def test_a_head_is_too_long_even_when_its_end_is_in_the_same_packet(make_proxy):  # D17
    proxy = make_proxy(LOOPBACK, limits={"head_bytes": 1024})
    head = b"GET http://127.0.0.1/ HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 2000 + b"\r\n\r\n"
    assert proxy.send(head).startswith(b"HTTP/1.1 431 ")


def test_a_head_that_does_not_arrive_in_time_is_answered_with_408(make_proxy):
    proxy = make_proxy(LOOPBACK, limits={"head_ms": 200})
    start = time.time()
    assert proxy.send(b"GET http://127").startswith(b"HTTP/1.1 408 ")
    assert time.time() - start < 3
    assert proxy.row()["verdict"] == "timeout"


@pytest.mark.parametrize("head, status", [
    (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    (b"GET https://127.0.0.1/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    (b"GET http://127.0.0.1/ HTTP/2.0\r\nHost: a\r\n\r\n", 505),
    (b"GET http://127.0.0.1/ HTTP/1.1\nHost: a\n\n", 400),
    (b"GET http://127.0.0.1/ HTTP/1.1\r\n\r\n", 400),
    (b"GET http://127.0.0.1/ HTTP/1.1\r\nHost: a\r\n b\r\n\r\n", 400),
    (b"GET http://127.0.0.1/ HTTP/1.1\r\nHost : a\r\n\r\n", 400),
    (b"POST http://127.0.0.1/ HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
    (b"POST http://127.0.0.1/ HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", 400),
    (b"POST http://127.0.0.1/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
    (b"POST http://127.0.0.1/ HTTP/1.1\r\nHost: a\r\nConnection: content-length\r\nContent-Length: 1\r\n\r\n", 400),
    (b"GET http://user@127.0.0.1/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    (b"CONNECT 127.0.0.1:port HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    (b"CONNECT 127.0.0.1:0 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    (b"CONNECT 127.1:443 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    (b"CONNECT 2130706433:443 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    (b"\r\n\r\n", 400),
    (b"\x16\x03\x01\x00\x05hello\n", 400),
])
def test_a_malformed_request_is_refused_before_anything_is_dialled(make_proxy, head, status):
    proxy = make_proxy(LOOPBACK)
    assert proxy.send(head).startswith(b"HTTP/1.1 %d " % status)
    assert proxy.row()["address"] is None


# ---- rules -----------------------------------------------------------------------------------


def test_a_refusal_names_host_list_and_cure(make_proxy):
    proxy = make_proxy([".good.test"])
    status, _, body = proxy.tunnel("evil.test:443")
    assert status == 403
    assert b"evil.test:443" in body and b"test list" in body and b"pkg host add" in body
    row = proxy.row()
    assert (row["verdict"], row["host"], row["port"], row["rule"]) == ("denied", "evil.test", 443, None)


def test_an_empty_list_allows_nothing(make_proxy, serve):
    server = serve(echo)
    proxy = make_proxy([])
    assert proxy.tunnel(f"127.0.0.1:{server.port}")[0] == 403
    assert server.opened == 0


def test_a_port_that_no_rule_names_is_refused(make_proxy, serve):
    server, other = serve(echo), serve(echo)
    proxy = make_proxy(any_tls(f"127.0.0.1:{server.port}"))
    assert proxy.tunnel(f"127.0.0.1:{other.port}")[0] == 403
    assert proxy.tunnel(f"127.0.0.1:{server.port}")[0] == 200


def test_an_edit_of_the_rules_takes_effect_without_a_restart(make_proxy, serve):  # T89
    server = serve(echo)
    target = f"127.0.0.1:{server.port}"
    proxy = make_proxy([])
    assert proxy.tunnel(target)[0] == 403
    proxy.write(any_tls(target))
    assert proxy.tunnel(target)[0] == 200
    proxy.write([])
    assert proxy.tunnel(target)[0] == 403


def test_a_broken_edit_keeps_the_last_good_rules_and_says_so_once(make_proxy, serve):
    server = serve(echo)
    target = f"127.0.0.1:{server.port}"
    proxy = make_proxy(any_tls(target))
    assert proxy.tunnel(target)[0] == 200
    for text in ['{"rules": [', '{"rules": ["*"]}', '{"rules": [], "typo": 1}', '[]']:
        proxy.write(None, text=text)
        before = proxy.log().count("last good host rules")
        assert proxy.tunnel(target)[0] == 200
        assert proxy.tunnel(target)[0] == 200
        assert proxy.log().count("last good host rules") == before + 1
    os.unlink(proxy.rules_path)
    assert proxy.tunnel(target)[0] == 200
    proxy.write([])
    assert proxy.tunnel(target)[0] == 403


def test_rules_that_are_broken_from_the_start_stop_it(tmp_path):
    (tmp_path / "rules.json").write_text('{"rules": ["http://x/"]}')
    listener = socket.create_server(("127.0.0.1", 0))
    done = subprocess.run(
        [PROXY, "--listen-fd", str(listener.fileno()), "--rules", str(tmp_path / "rules.json"),
         "--audit", str(tmp_path / "audit")],
        pass_fds=[listener.fileno()], capture_output=True, env={}, timeout=10)
    assert done.returncode == 1 and b"is a URL" in done.stderr


@pytest.mark.parametrize("name", ["localhost", socket.gethostname()])
def test_a_name_that_leads_to_this_machine_is_refused(make_proxy, serve, name):  # D16
    server = serve(echo)
    proxy = make_proxy(any_tls(f"{name}:{server.port}"))
    status, _, body = proxy.tunnel(f"{name}:{server.port}")
    assert status == 403 and (b"loopback" in body or b"this machine's own" in body)
    assert server.opened == 0
    assert proxy.row()["verdict"] == "address-refused"


def test_a_rule_that_names_the_address_lets_the_name_through(make_proxy, serve):
    server = serve(echo)
    names = [f"localhost:{server.port}", f"127.0.0.0/8:{server.port}", f"[::1]:{server.port}"]
    proxy = make_proxy(any_tls(*names))
    assert proxy.tunnel(f"LOCALHOST.:{server.port}")[0] == 200


def test_an_ipv6_literal_is_reached(make_proxy, serve):
    try:
        server = serve(echo, "::1")
    except OSError:
        pytest.skip("no IPv6 here")
    proxy = make_proxy(any_tls(f"[::1]:{server.port}"))
    status, conn, _ = proxy.tunnel(f"[0:0::1]:{server.port}")
    assert status == 200
    conn.sendall(b"ping")
    assert conn.recv(4) == b"ping"


# ---- dialling --------------------------------------------------------------------------------


@contextlib.contextmanager
def black_hole():
    """A loopback listener whose backlog is full: the SYN is dropped."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(0)
    fillers = []
    for _ in range(4):
        filler = socket.socket()
        filler.setblocking(False)
        filler.connect_ex(listener.getsockname())
        fillers.append(filler)
    time.sleep(0.1)
    yield listener.getsockname()[1]
    for sock in fillers + [listener]:
        sock.close()


def test_a_black_hole_is_answered_with_504_naming_the_host(make_proxy):  # T83
    with black_hole() as port:
        proxy = make_proxy(any_tls(f"127.0.0.1:{port}"), limits={"dial_ms": 300})
        start = time.time()
        status, _, body = proxy.tunnel(f"127.0.0.1:{port}")
        assert status == 504 and f"127.0.0.1:{port}".encode() in body
        assert 0.25 < time.time() - start < 3
        assert proxy.row()["verdict"] == "timeout"


def test_a_flood_while_dialling_is_not_read(make_proxy):  # T82
    with black_hole() as port:
        proxy = make_proxy(any_tls(f"127.0.0.1:{port}"))
        conn = proxy.connect()
        conn.sendall(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        accepted = push_until_it_stalls(conn)
        assert accepted < 16 << 20
        assert proxy.memory() < 16 << 20
        with pytest.raises(BlockingIOError):
            conn.recv(1)


def test_a_closed_port_is_answered_with_502(make_proxy):
    sock = socket.create_server(("127.0.0.1", 0))
    port = sock.getsockname()[1]
    sock.close()
    proxy = make_proxy(any_tls(f"127.0.0.1:{port}"))
    status, _, body = proxy.tunnel(f"127.0.0.1:{port}")
    assert status == 502 and b"refused" in body
    assert proxy.row()["verdict"] == "failed"


def test_a_name_that_does_not_exist_is_answered_with_502(make_proxy):
    proxy = make_proxy(["no-such-name.invalid"], limits={"dial_ms": 5000})
    status, _, body = proxy.tunnel("no-such-name.invalid:443")
    assert status in (502, 504) and b"no-such-name.invalid" in body


def test_clients_that_leave_at_once_leave_no_upstream_open(make_proxy, serve):  # T84
    server = serve(echo)
    proxy = make_proxy(any_tls(f"127.0.0.1:{server.port}"))
    before = proxy.settled_fds()
    for _ in range(20):
        for _ in range(60):
            with proxy.connect() as conn:
                conn.sendall(f"CONNECT 127.0.0.1:{server.port} HTTP/1.1\r\n\r\n".encode())
        if server.opened:
            break
    assert server.opened
    wait_for(lambda: server.opened == server.closed)
    wait_for(lambda: proxy.fds() == before)


# ---- plain HTTP ------------------------------------------------------------------------------


def plain(server, path, *fields, method="GET"):
    return (f"{method} http://127.0.0.1:{server.port}{path} HTTP/1.1\r\nHost: a\r\n"
            + "".join(f + "\r\n" for f in fields) + "\r\n").encode()


def read_response(conn):
    """(head, body) of a response with a length."""
    head, rest = read_head(conn)
    length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
    return head, rest + read_exactly(conn, length - len(rest))


@pytest.mark.parametrize("version, said, kept", [
    ("1.1", "keep-alive, x-drop", True), ("1.1", "close, x-drop", False), ("1.0", "x-drop", False)])
def test_a_plain_request_reaches_the_origin_in_origin_form(make_proxy, serve, version, said, kept):  # T87
    server = serve(http_ok)
    proxy = make_proxy([f"127.0.0.1:{server.port}"])
    conn = proxy.connect()
    conn.sendall(
        f"GET http://127.0.0.1:{server.port}/a?b=c HTTP/{version}\r\nHost: other.test\r\n"
        "Proxy-Connection: keep-alive\r\nProxy-Authorization: Basic c2VjcmV0\r\nX-Drop: 1\r\n"
        f"Connection: {said}\r\nTE: trailers\r\nUpgrade: h2c\r\nX-Keep: 2\r\n\r\n".encode())
    answer, body = read_response(conn)
    head = server.requests[0][0].decode()
    closing = "" if kept else "Connection: close\r\n"
    assert head == (f"GET /a?b=c HTTP/{version}\r\nHost: 127.0.0.1:{server.port}\r\nX-Keep: 2\r\n{closing}\r\n")
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n") and body == b"hello 0"
    assert (b"Connection: close" in answer) == (not kept) and b"Keep-Alive" not in answer
    row = proxy.row()
    assert (row["method"], row["status"], row["verdict"]) == ("GET", 200, "allowed")
    assert (row["up"], row["down"]) == (len(head), len(answer + body))


def test_every_request_of_a_connection_is_judged_anew(make_proxy, serve):  # T86
    server = serve(http_many)
    proxy = make_proxy([f"127.0.0.1:{server.port}"])
    evil = b"GET http://evil.test/2 HTTP/1.1\r\nHost: a\r\n\r\n"
    with proxy.connect() as conn:
        conn.sendall(plain(server, "/1"))
        assert read_response(conn)[1] == b"hello 0"
        conn.sendall(evil)
        assert read_all(conn).startswith(b"HTTP/1.1 403 ")
    # The same in one packet: the second waits for the first to be over, and is refused all the same.
    got = proxy.send(plain(server, "/1") + evil + plain(server, "/3"))
    assert got.count(b"HTTP/1.1 200 ") == 1 and got.count(b"HTTP/1.1 403 ") == 1
    assert [head.split()[1] for head, _ in server.requests] == [b"/1", b"/1"]
    wait_for(lambda: len(proxy.rows()) == 4)
    assert [(row["host"], row["verdict"]) for row in proxy.rows()] == [
        ("127.0.0.1", "allowed"), ("evil.test", "denied")] * 2


def test_requests_of_a_connection_share_the_servers_and_have_a_row_each(make_proxy, serve):
    server = serve(http_many)
    proxy = make_proxy([f"127.0.0.1:{server.port}"])
    with proxy.connect() as conn:
        for i in range(3):
            conn.sendall(plain(server, f"/{i}", "Content-Length: 2", method="POST") + b"ab")
            assert read_response(conn)[1] == b"hello 2"
        conn.sendall(plain(server, "/3") + plain(server, "/4"))
        assert [read_response(conn)[1] for _ in range(2)] == [b"hello 0"] * 2
    assert [head.split()[1] for head, _ in server.requests] == [b"/%d" % i for i in range(5)]
    assert server.opened == 1
    wait_for(lambda: len(proxy.rows()) == 5)
    assert [(row["method"], row["verdict"]) for row in proxy.rows()] == [("POST", "allowed")] * 3 + [("GET", "allowed")] * 2
    wait_for(lambda: server.closed == 1)


def test_an_edit_of_the_rules_reaches_a_kept_connection(make_proxy, serve):
    server = serve(http_many)
    proxy = make_proxy([f"127.0.0.1:{server.port}"])
    with proxy.connect() as conn:
        conn.sendall(plain(server, "/1"))
        read_response(conn)
        proxy.write([])
        conn.sendall(plain(server, "/2"))
        assert read_all(conn).startswith(b"HTTP/1.1 403 ")
    assert len(server.requests) == 1


def test_bytes_that_nobody_asked_for_are_no_answer_to_the_next_request(make_proxy, serve):
    late = threading.Event()

    def surplus(server, conn):
        head, _ = read_head(conn)
        with server.lock:
            server.requests.append((head, b""))
        conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntrue")
        if b"/late" in head:
            late.wait(5)
        conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlies")
        conn.settimeout(2)
        with contextlib.suppress(OSError):
            conn.recv(1)

    server = serve(surplus)
    proxy = make_proxy([f"127.0.0.1:{server.port}"])
    for path in ("/soon", "/late"):
        with proxy.connect() as conn:
            for i in range(3):
                conn.sendall(plain(server, path))
                assert read_response(conn)[1] == b"true"
                late.set()
                time.sleep(0.05)


def test_a_kept_connection_that_the_server_closed_is_made_anew(make_proxy, serve):
    gone = threading.Event()

    def once(server, conn):
        read_head(conn)
        with server.lock:
            server.requests.append((b"", b""))
        conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        if len(server.requests) == 1:
            # The second request is on its way when the connection goes.
            read_head(conn)
            gone.set()

    server = serve(once)
    proxy = make_proxy([f"127.0.0.1:{server.port}"])
    with proxy.connect() as conn:
        for _ in range(2):
            conn.sendall(plain(server, "/"))
            assert read_response(conn)[1] == b"ok"
    assert gone.is_set() and server.opened == 2


def test_a_kept_connection_without_a_request_is_closed_without_a_row(make_proxy, serve):
    server = serve(http_many)
    proxy = make_proxy([f"127.0.0.1:{server.port}"], limits={"keep_ms": 200})
    with proxy.connect() as conn:
        conn.sendall(plain(server, "/1"))
        read_response(conn)
        assert read_all(conn) == b""
    assert len(proxy.rows()) == 1


@pytest.mark.parametrize("chunked", [False, True])
def test_late_pieces_of_a_body_make_one_whole_upstream_request(make_proxy, serve, chunked):  # T85
    server = serve(http_ok)
    proxy = make_proxy([f"127.0.0.1:{server.port}"])
    payload = pattern(3000)
    results = []

    def post():
        with proxy.connect() as conn:
            framing = "Transfer-Encoding: chunked" if chunked else "Content-Length: 3000"
            conn.sendall(
                f"POST http://127.0.0.1:{server.port}/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
                f"{framing}\r\n\r\n".encode())
            for pause, piece in zip((0.001, 0.005, 0.01), range(0, 3000, 1000)):
                time.sleep(pause)
                data = payload[piece:piece + 1000]
                conn.sendall(b"3e8\r\n" + data + b"\r\n" if chunked else data)
            if chunked:
                conn.sendall(b"0\r\n\r\n")
            results.append(read_all(conn))

    threads = [threading.Thread(target=post) for _ in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert server.opened == 100
    assert len(results) == 100 and all(b" 200 OK" in result for result in results)
    for _, body in server.requests:
        if chunked:
            body = body.replace(b"3e8\r\n", b"")
            assert len(body) == 3000 + 3 * 2 + 5
        else:
            assert body == payload


def test_bytes_after_a_body_are_not_part_of_it(make_proxy, serve):
    server = serve(http_ok)
    proxy = make_proxy([f"127.0.0.1:{server.port}"])
    for framing, body in [("Content-Length: 4", b"body"), ("Transfer-Encoding: chunked", b"4\r\nbody\r\n0\r\n\r\n")]:
        smuggled = b"GET /secret HTTP/1.1\r\nHost: evil.test\r\n\r\n"
        proxy.send(
            f"POST http://127.0.0.1:{server.port}/ HTTP/1.1\r\nHost: a\r\n{framing}\r\n\r\n".encode()
            + body + smuggled)
        assert server.requests[-1][1] == body
    proxy.send(
        f"POST http://127.0.0.1:{server.port}/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        "4 \r\nbody\r\n0\r\n\r\n".encode())
    assert proxy.row(count=3)["verdict"] == "malformed"


def test_a_response_of_many_megabytes_comes_through_unchanged(make_proxy, serve):
    body = pattern(18_252_005)

    def big(_, conn):
        read_head(conn)
        conn.sendall(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body))
        conn.sendall(body)

    server = serve(big)
    proxy = make_proxy([f"127.0.0.1:{server.port}"])
    answer = proxy.send(plain(server, "/", "Connection: close"))
    assert answer.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")
    assert answer.endswith(body)


@pytest.mark.parametrize("response", [
    b"", b"garbage\r\n\r\n", b"HTTP/1.1 200 OK\n\n", b"HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n",
    b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nX: " + b"a" * 300000,
])
def test_a_response_that_is_no_response_becomes_502(make_proxy, serve, response):
    def answer(_, conn):
        read_head(conn)
        conn.sendall(response)

    server = serve(answer)
    proxy = make_proxy([f"127.0.0.1:{server.port}"])
    got = proxy.send(f"GET http://127.0.0.1:{server.port}/ HTTP/1.1\r\nHost: a\r\n\r\n".encode())
    assert got.startswith(b"HTTP/1.1 502 ")
    assert proxy.row()["verdict"] == "failed"


# ---- limits ----------------------------------------------------------------------------------


def test_connections_above_the_cap_get_503_and_room_is_made_again(make_proxy, serve):
    server = serve(echo)
    target = f"127.0.0.1:{server.port}"
    proxy = make_proxy(any_tls(target), limits={"connections": 5})
    open_ones = [proxy.tunnel(target) for _ in range(5)]
    assert [status for status, _, _ in open_ones] == [200] * 5
    assert proxy.tunnel(target)[0] == 503
    open_ones[0][1].close()
    wait_for(lambda: proxy.tunnel(target)[0] == 200)


def test_the_bytes_of_a_sandbox_end(make_proxy, serve):
    server = serve(echo)
    target = f"127.0.0.1:{server.port}"
    proxy = make_proxy(any_tls(target), limits={"total_bytes": 100000})
    _, conn, _ = proxy.tunnel(target)
    with contextlib.suppress(ConnectionError):
        for _ in range(20):
            conn.sendall(b"x" * 10000)
            conn.recv(65536)
    assert proxy.row()["verdict"] == "oversize"
    assert proxy.tunnel(target)[0] == 413


def test_an_idle_tunnel_is_closed_and_a_busy_one_is_not(make_proxy, serve):
    server = serve(echo)
    target = f"127.0.0.1:{server.port}"
    proxy = make_proxy(any_tls(target), limits={"idle_ms": 400})
    _, idle, _ = proxy.tunnel(target)
    _, busy, _ = proxy.tunnel(target)
    idle.settimeout(3)
    for _ in range(8):
        time.sleep(0.1)
        busy.sendall(b"x")
        assert busy.recv(1) == b"x"
    assert idle.recv(1) == b""


def test_audit_rows_beyond_the_limit_are_counted(make_proxy):
    proxy = make_proxy([], limits={"audit_rows": 3})
    for _ in range(10):
        assert proxy.tunnel("evil.test:443")[0] == 403
    proxy.stop()
    rows = proxy.rows()
    assert len(rows) == 4 and rows[-1]["verdict"] == "suppressed" and rows[-1]["up"] == 7


def test_a_thousand_idle_tunnels_take_three_mebibytes_at_most(make_proxy, serve):
    server = serve(echo)
    target = f"127.0.0.1:{server.port}"
    proxy = make_proxy(any_tls(target))
    tunnels = [proxy.tunnel(target) for _ in range(1000)]
    assert all(status == 200 for status, _, _ in tunnels)
    with open(f"/proc/{proxy.process.pid}/smaps_rollup") as rollup:
        pss = next(int(line.split()[1]) for line in rollup if line.startswith("Pss:"))
    assert proxy.memory() == 0 or pss <= 3 * 1024, pss
    for _, conn, _ in tunnels:
        conn.close()


def test_aborts_at_random_moments_leave_no_descriptor(make_proxy, serve):
    tunnel, plain = serve(echo), serve(http_ok)
    proxy = make_proxy(
        any_tls(f"127.0.0.1:{tunnel.port}") + [f"127.0.0.1:{plain.port}", f"localhost:{plain.port}"])
    before = proxy.settled_fds()
    random.seed(3)
    connect = f"CONNECT 127.0.0.1:{tunnel.port} HTTP/1.1\r\nHost: a\r\n\r\n".encode() + b"x" * 2000
    post = (f"POST http://127.0.0.1:{plain.port}/ HTTP/1.1\r\nHost: a\r\nContent-Length: 900\r\n\r\n".encode()
            + b"y" * 900)
    named = f"GET http://localhost:{plain.port}/ HTTP/1.1\r\nHost: a\r\n\r\n".encode()
    end = time.time() + (10 if not os.environ.get("PKGD_TEST_LONG") else 60)
    count = 0
    while count < 10000 and time.time() < end:
        count += 1
        data = random.choice((connect, post, named))
        conn = proxy.connect()
        conn.sendall(data[:random.randrange(1, len(data) + 1)])
        if random.random() < 0.3:
            time.sleep(random.random() * 0.002)
        if random.random() < 0.5:
            conn.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        conn.close()
    wait_for(lambda: proxy.fds() <= before + 1, 8)  # + 1: nothing but what a resolver keeps open
    assert len(proxy.rows()) == count + 1
    assert proxy.tunnel(f"127.0.0.1:{tunnel.port}")[0] == 200


# ---- TLS -------------------------------------------------------------------------------------


def hello_result(proxy, authority, data, pause=0.0):
    """What a server behind the tunnel saw, or None when the tunnel was closed instead."""
    status, conn, _ = proxy.tunnel(authority)
    assert status == 200
    step = 1 if pause else len(data)
    with contextlib.suppress(ConnectionError):
        for i in range(0, len(data), step):
            conn.sendall(data[i:i + step])
            if i % 64 == 0:
                time.sleep(pause)
    try:
        got = read_exactly(conn, len(data))
    except ConnectionError:
        got = b""
    conn.close()
    return got


ALERT = bytes([21, 3, 3, 0, 2, 2, 49])


@pytest.fixture
def named(make_proxy, serve):
    server = serve(echo)
    port = server.port
    proxy = make_proxy([f"localhost:{port}", f"127.0.0.1:{port}", f"[::1]:{port}"])
    return proxy, f"localhost:{port}", server


def test_a_hello_that_names_the_host_passes_in_any_pieces(named):
    proxy, target, _ = named
    hello = client_hello("localhost")
    assert hello_result(proxy, target, hello) == hello
    assert hello_result(proxy, target, hello, pause=0.001) == hello
    for size in (1, 2, 3, 50):
        data = split_records(hello, size)
        assert hello_result(proxy, target, data) == data
    upper = client_hello("LocalHost")
    assert hello_result(proxy, target, upper) == upper


def test_a_hello_that_names_another_host_is_refused(named):  # domain fronting
    proxy, target, server = named
    hello = client_hello("evil.test")
    for data in (hello, split_records(hello, 7)):
        assert hello_result(proxy, target, data) == ALERT
    row = proxy.row()
    assert row["verdict"] == "tls-mismatch" and "evil.test" in row["reason"] and row["up"] == 0


def test_a_hello_without_a_name_needs_a_rule_that_says_so(named, make_proxy):
    proxy, target, server = named
    hello = client_hello(None)
    assert hello_result(proxy, target, hello) == ALERT
    assert hello_result(proxy, f"127.0.0.1:{server.port}", hello) == hello
    lax = make_proxy([{"host": f"localhost:{server.port}", "tls": "no-sni"},
                      f"127.0.0.1:{server.port}", f"[::1]:{server.port}"])
    assert hello_result(lax, target, hello) == hello
    assert hello_result(lax, target, client_hello("evil.test")) == ALERT
    assert hello_result(lax, target, b"SSH-2.0-x\r\n") == b""


def test_bytes_that_are_not_tls_are_refused(named):
    proxy, target, _ = named
    assert hello_result(proxy, target, b"GET / HTTP/1.1\r\n\r\n") == b""
    assert proxy.row()["verdict"] == "not-tls"
    assert hello_result(proxy, target, b"\x16\x03\x01\x00\x04\x02\x00\x00\x00") == ALERT


def test_a_client_that_sends_no_hello_is_closed(make_proxy, serve):
    server = serve(echo)
    proxy = make_proxy([f"127.0.0.1:{server.port}"], limits={"hello_ms": 200})
    _, conn, _ = proxy.tunnel(f"127.0.0.1:{server.port}")
    assert conn.recv(1) == b""
    assert proxy.row()["verdict"] == "timeout"


# ---- upstream proxies ------------------------------------------------------------------------


def parent_proxy(answer):
    def handle(server, conn):
        head, rest = read_head(conn)
        server.requests.append((head, rest))
        conn.sendall(answer)
        if b" 200 " in answer and head.startswith(b"CONNECT"):
            echo(server, conn)

    return handle


def test_the_daemons_own_proxy_is_used_with_its_credentials(make_proxy, serve):
    parent = serve(parent_proxy(b"HTTP/1.1 200 OK\r\nX: y\r\n\r\nearly"))
    url = f"http://us%65r:p%40ss@127.0.0.1:{parent.port}/"
    proxy = make_proxy(any_tls("far.test", "near.test:80") + ["far.test:80"],
                       env={"HTTPS_PROXY": url, "http_proxy": url, "NO_PROXY": "near.test"})
    status, conn, early = proxy.tunnel("far.test:443")
    assert status == 200
    assert early + read_exactly(conn, 5 - len(early)) == b"early"
    conn.sendall(b"ping")
    assert read_exactly(conn, 4) == b"ping"
    head = parent.requests[0][0]
    assert head.startswith(b"CONNECT far.test:443 HTTP/1.1\r\nHost: far.test:443\r\n")
    assert b"Proxy-Authorization: Basic dXNlcjpwQHNz\r\n" in head
    answer = proxy.send(b"GET http://far.test/x HTTP/1.1\r\nHost: far.test\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert parent.requests[1][0].startswith(b"GET http://far.test/x HTTP/1.1\r\nHost: far.test\r\n")
    assert proxy.tunnel("other.test:443")[0] == 403
    proxy.tunnel("near.test:80")
    assert len(parent.requests) == 2


def test_a_refusal_of_the_daemons_own_proxy_is_reported(make_proxy, serve):
    parent = serve(parent_proxy(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"))
    proxy = make_proxy(["far.test"], env={"HTTPS_PROXY": f"127.0.0.1:{parent.port}"})
    status, _, body = proxy.tunnel("far.test:443")
    assert status == 502 and b"407" in body


def test_a_proxy_variable_that_cannot_be_followed_stops_it(tmp_path):
    (tmp_path / "rules.json").write_text('{"rules": []}')
    listener = socket.create_server(("127.0.0.1", 0))
    done = subprocess.run(
        [PROXY, "--listen-fd", str(listener.fileno()), "--rules", str(tmp_path / "rules.json"),
         "--audit", str(tmp_path / "audit")],
        pass_fds=[listener.fileno()], capture_output=True, timeout=10,
        env={"HTTPS_PROXY": "socks5://user:secret@127.0.0.1:1"})
    assert done.returncode == 1 and b"https_proxy" in done.stderr and b"secret" not in done.stderr


# ---- the end ---------------------------------------------------------------------------------


def test_open_connections_get_their_row_when_the_sandbox_ends(make_proxy, serve):
    server = serve(echo)
    proxy = make_proxy(any_tls(f"127.0.0.1:{server.port}"))
    _, conn, _ = proxy.tunnel(f"127.0.0.1:{server.port}")
    conn.sendall(b"ping")
    conn.recv(4)
    proxy.stop()
    row = proxy.rows()[0]
    assert row["verdict"] == "allowed" and row["up"] == 4 and "ended" in row["reason"]


def test_sigterm_ends_it_well(make_proxy):
    proxy = make_proxy([])
    proxy.tunnel("evil.test:443")
    proxy.process.send_signal(signal.SIGTERM)
    assert proxy.process.wait(5) == 0


def test_it_keeps_no_privilege_that_it_has_no_use_for(make_proxy, serve):
    server = serve(echo)
    proxy = make_proxy([f"localhost:{server.port}"])
    proxy.tunnel(f"localhost:{server.port}")  # a resolver thread is there now
    for task in os.listdir(f"/proc/{proxy.process.pid}/task"):
        with open(f"/proc/{proxy.process.pid}/task/{task}/status") as status:
            fields = dict(line.split(":\t", 1) for line in status.read().splitlines() if ":\t" in line)
        assert {fields[name] for name in ("CapPrm", "CapEff", "CapInh", "CapAmb")} == {"0" * 16}
        assert fields["NoNewPrivs"] == "1" and fields["Seccomp"] == "2"
    with open(f"/proc/{proxy.process.pid}/limits") as limits:
        assert any(line.startswith("Max core file size        0 ") for line in limits)


def test_it_ends_when_its_parent_dies(tmp_path):
    (tmp_path / "rules.json").write_text('{"rules": []}')
    code = ("import os, socket, subprocess, sys\n"
            "s = socket.create_server(('127.0.0.1', 0)); fd = s.fileno()\n"
            f"p = subprocess.Popen([{PROXY!r}, '--listen-fd', str(fd), '--parent', str(os.getpid()), '--rules', "
            f"{str(tmp_path / 'rules.json')!r}, '--audit', {str(tmp_path / 'audit')!r}], pass_fds=[fd], env={{}})\n"
            "print(p.pid, flush=True); sys.stdin.read()")
    parent = subprocess.Popen(["/usr/bin/python3", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    pid = int(parent.stdout.readline())
    wait_for(lambda: os.path.exists(tmp_path / "audit"))
    parent.kill()
    parent.wait()
    wait_for(lambda: not os.path.exists(f"/proc/{pid}")
             or open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] == "Z")


def test_it_sleeps_while_nothing_happens(make_proxy, serve):
    server = serve(echo)
    proxy = make_proxy(any_tls(f"127.0.0.1:{server.port}"))
    _, conn, _ = proxy.tunnel(f"127.0.0.1:{server.port}")

    def switches():
        with open(f"/proc/{proxy.process.pid}/status") as status:
            return sum(int(line.split()[1]) for line in status if "ctxt_switches" in line)

    time.sleep(0.2)
    before = switches()
    time.sleep(2)
    assert switches() == before
    conn.close()


# ---- the shim --------------------------------------------------------------------------------


def run_shim(arguments, **keywords):
    return subprocess.run([SHIM, *arguments], capture_output=True, timeout=20, **keywords)


def test_the_shim_alone_becomes_its_command():
    done = run_shim(["--", "/bin/sh", "-c", "echo out; echo err >&2; exit 7"])
    assert (done.stdout, done.stderr, done.returncode) == (b"out\n", b"err\n", 7)
    assert run_shim(["--", "/nonexistent"]).returncode == 127
    assert run_shim(["--", "/etc/passwd"]).returncode == 126
    assert run_shim(["--", "true"]).returncode == 127  # a path is wanted: nothing is searched for
    assert run_shim(["--", "/bin/sh", "-c", "kill -9 $$"]).returncode == -signal.SIGKILL
    for bad in ([], ["--"], ["x", "--", "true"], ["--port", "0", "--", "true"], ["-1", "--", "true"]):
        assert run_shim(bad).returncode == 2


def test_a_shim_that_cannot_hand_out_its_listener_runs_nothing():
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.close()
    port = socket.create_server(("127.0.0.1", 0)).getsockname()[1]
    done = run_shim([str(theirs.fileno()), "--port", str(port), "--", "/bin/echo", "ran"],
                    pass_fds=[theirs.fileno()])
    assert done.returncode == 125 and done.stdout == b"" and b"hand the listener" in done.stderr


BWRAP = shutil.which("bwrap")


@pytest.fixture
def sandbox(tmp_path):
    """run(rules, command): in a fresh network namespace, with the way out."""
    processes = []

    def run(rules, *command, limits=None):
        (tmp_path / "rules.json").write_text(json.dumps(
            {"name": "sandbox", "rules": rules, "cure": "", "limits": limits or {}}))
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        read, write = os.pipe()
        processes.append(subprocess.Popen(
            [PROXY, "--shim-fd", str(ours.fileno()), "--control-fd", str(read),
             "--rules", str(tmp_path / "rules.json"), "--audit", str(tmp_path / "audit")],
            pass_fds=[ours.fileno(), read], env={}))
        ours.close()
        os.close(read)
        done = subprocess.run(
            [BWRAP, "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
             "--setenv", "http_proxy", "http://127.0.0.1:3128", "--setenv", "https_proxy",
             "http://127.0.0.1:3128", "--unsetenv", "no_proxy", "--unsetenv", "NO_PROXY",
             SHIM, str(theirs.fileno()), "--", shutil.which(command[0]), *command[1:]],
            pass_fds=[theirs.fileno()], capture_output=True, timeout=60)
        theirs.close()
        os.close(write)
        assert processes[-1].wait(10) == 0
        with contextlib.suppress(FileNotFoundError):
            return done, [json.loads(line) for line in (tmp_path / "audit").read_text().splitlines()]
        return done, []

    if not BWRAP or subprocess.run([BWRAP, "--unshare-all", "--ro-bind", "/", "/", "true"],
                                   capture_output=True).returncode:
        if os.environ.get("CI"):
            pytest.fail("bwrap cannot make namespaces here")
        pytest.skip("bwrap cannot make namespaces here")
    return run


def test_the_shim_is_the_only_way_out_of_a_namespace(sandbox, serve):  # T96
    server = serve(http_ok)
    url = f"http://127.0.0.1:{server.port}/"
    done, rows = sandbox([f"127.0.0.1:{server.port}"], "curl", "-sS", "-m", "10", url)
    assert (done.returncode, done.stdout) == (0, b"hello 0"), done.stderr
    assert rows[-1]["verdict"] == "allowed"
    done, rows = sandbox([], "curl", "-sS", "-m", "10", "-w", "%{http_code}", "-o", "/dev/null", url)
    assert done.stdout == b"403" and rows[-1]["verdict"] == "denied"
    opened = server.opened
    done, _ = sandbox([f"127.0.0.1:{server.port}"], "curl", "-sS", "-m", "5", "--noproxy", "*", url)
    assert done.returncode != 0 and server.opened == opened


def test_the_first_connection_never_fails(sandbox, serve):
    server = serve(http_ok)
    url = f"http://127.0.0.1:{server.port}/"
    for _ in range(10):
        done, _ = sandbox([f"127.0.0.1:{server.port}"], "curl", "-sS", "-m", "10", url)
        assert done.stdout == b"hello 0", done.stderr


def test_nothing_of_the_shim_stays_beside_its_command(sandbox):
    done, _ = sandbox([], "sh", "-c", "ls /proc/self/fd; ls /proc | grep -c '^[0-9]'; exit 9")
    lines = done.stdout.split()
    assert done.returncode == 9
    # 0, 1, 2 and ls's own directory; processes: bwrap's init, sh, ls or grep in a pipe.
    assert lines[:-1] == [b"0", b"1", b"2", b"3"]
    assert int(lines[-1]) <= 4


def test_the_shim_needs_no_library(sandbox):
    with open(SHIM, "rb") as program:
        if b"/ld-linux" in program.read(4096):
            pytest.skip("this build's shim is not linked statically")
    # In a root with nothing but itself it becomes itself, without arguments: usage, status 2.
    done = subprocess.run([BWRAP, "--unshare-all", "--ro-bind", SHIM, "/pkg-shim", "/pkg-shim", "--", "/pkg-shim"],
                          capture_output=True, timeout=20)
    assert done.returncode == 2 and b"usage: pkg-shim" in done.stderr


def test_an_18_mb_file_comes_out_of_a_namespace_with_the_right_hash(sandbox, serve):  # T80
    body = pattern(18_252_005)

    def big(_, conn):
        read_head(conn)
        conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)

    server = serve(big)
    done, rows = sandbox([f"127.0.0.1:{server.port}"], "sh", "-c",
                         f"curl -sS http://127.0.0.1:{server.port}/ | sha256sum")
    assert done.stdout.split()[0].decode() == hashlib.sha256(body).hexdigest(), done.stderr
