"""Hostile programs, one per attempt (escape/*.py), in sandboxes of every purpose.

An attempt shows something only if the same program works where nothing confines it: each is run outside first, at a
stage that has what it is after, and must get through. Then it must be held in every purpose that its "# where:" line
names. What an attempt ends in: 0 it came to its end, so it escaped; 7 it was stopped by a refusal.
"""
import concurrent.futures
import contextlib
import ctypes
import json
import os
import pathlib
import pwd
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

import pytest

from conftest import BUILD, PYTHON, ROOT

HERE = pathlib.Path(__file__).resolve().parent / "escape"
BOXED = BUILD / "tests" / "system" / "boxed"
SECRET = "the-secret-of-the-stage"
PURPOSES = ("probe", "plan", "build", "apply", "verify", "kernel")
WRITABLE = ("plan", "build", "apply", "kernel")
WHERE = {
    "all": PURPOSES,
    "writable": WRITABLE,
    "foreign": ("probe", "plan", "build", "verify", "kernel"),  # apply runs programs of ours alone
    "network": ("plan", "build", "kernel"),
    "limits": ("probe", "build", "kernel"),
    "disk": ("build", "kernel"),
    "outlive": ("build", "kernel"),
    "pipes": ("build", "kernel"),
}
HELD = 7
ATTEMPTS = sorted(path.stem for path in HERE.glob("*.py") if path.stem != "prelude")


def source(name, told):
    """The program that is run: the prelude, what it is told, the attempt."""
    return "\n".join([
        (HERE / "prelude.py").read_text(),
        f"C = {told!r}",
        "try:",
        f"    exec(compile({(HERE / (name + '.py')).read_text()!r}, {name!r}, 'exec'))",
        "except (Held, OSError, MemoryError, ValueError) as error:",
        "    print('held:', error, flush=True)",
        f"    os._exit({HELD})",
    ])


def marks(name):
    """The "# key: value" lines of an attempt."""
    return dict(re.findall(r"^# (\w+): (\S+)$", (HERE / f"{name}.py").read_text(), re.M))


def serve(sock, speak):
    """Accept for ever; speak(connection) in a thread each."""
    def one(conn):
        with contextlib.suppress(OSError), conn:
            conn.settimeout(20)
            speak(conn)

    def loop():
        with contextlib.suppress(OSError):
            while True:
                conn, _ = sock.accept()
                threading.Thread(target=one, args=(conn,), daemon=True).start()

    threading.Thread(target=loop, daemon=True).start()
    return sock


def hear(sock):
    """Answer datagrams."""
    def loop():
        with contextlib.suppress(OSError):
            while True:
                _, who = sock.recvfrom(2000)
                sock.sendto(b"seen", who)

    threading.Thread(target=loop, daemon=True).start()
    return sock


def http(conn):
    """A server that answers every request with 200."""
    data = b""
    while more := conn.recv(65536):
        data += more
        while b"\r\n\r\n" in data:
            _, _, data = data.partition(b"\r\n\r\n")
            conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")


def careless(conn):
    """A proxy that checks nothing and finds everything, the control of the attempts on the real one."""
    data = b""
    while more := conn.recv(65536):
        data += more
        if data.startswith(b"CONNECT"):
            if b"\r\n\r\n" in data:
                conn.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                while conn.recv(65536):
                    conn.sendall(b"\x16whatever")
            continue
        while b"\r\n\r\n" in data:
            _, _, data = data.partition(b"\r\n\r\n")
            conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")


def echo(conn):
    while more := conn.recv(65536):
        conn.sendall(b"\x16" + more)


def file_handle(path):
    """What name_to_handle_at(2) says, as hex."""
    libc = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer((128).to_bytes(4, sys.byteorder) + bytes(132), 136)
    mount = ctypes.c_int()
    if libc.name_to_handle_at(-100, str(path).encode(), buffer, ctypes.byref(mount), 0):
        return "00" * 8
    return buffer.raw[:8 + int.from_bytes(buffer.raw[:4], sys.byteorder)].hex()


class Stage:
    """Everything that the attempts are after."""

    def __init__(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="pkgd-esc.", dir="/var/tmp"))
        self.pkgd = self.root / "pkgd"
        self.user = self.root / "user"
        self.sockets, self.serial = [], 0
        self.lock = threading.Lock()
        for folder in ("outside", "granted/readable", "user/.ssh", "mnt", "pkgd/data/generations/7/1/bin",
                       "pkgd/cache/files", "pkgd/cache/wheels", "pkgd/state", "pkgd/config", "pkgd/run"):
            (self.root / folder).mkdir(parents=True)
        for folder in ("pkgd", "pkgd/data", "pkgd/cache", "pkgd/state", "pkgd/config", "pkgd/run"):
            (self.root / folder).chmod(0o700)
        self.outside = self.root / "outside"
        self.readable = self.root / "granted" / "readable"
        for path in (self.outside / "canary", self.readable / "masked"):
            path.write_text(SECRET)
        (self.readable / "link").symlink_to(self.outside / "canary")
        (self.user / ".ssh" / "id_ed25519").write_text("PRIVATE KEY")
        (self.user / ".netrc").write_text("machine index login me password geheim")
        (self.pkgd / "data/generations/7/1/bin/tool").write_text("#!/bin/sh\n")
        (self.pkgd / "cache/files/ab").write_text("cached")
        (self.pkgd / "state/state.db").write_text("SQLite")
        (self.pkgd / "config/pkgd.json").write_text("{}")
        self.leaked = os.open(self.outside / "canary", os.O_RDONLY)
        self.pty = os.openpty()
        self.victim = subprocess.Popen(["/bin/sleep", "1000"], cwd="/", env={"VICTIM_TOKEN": "x"},
                                       stdin=subprocess.DEVNULL, executable="/bin/sleep")
        self.named = subprocess.Popen([PYTHON, "-c", "import time; time.sleep(1000)", "escape-victim"])
        self.listen()
        (self.pkgd / "rules.json").write_text(json.dumps({"name": "escape", "rules": [
            f"127.0.0.1:{self.http}", f"localhost:{self.tls}", f"127.0.0.1:{self.tls}", f"localhost:{self.tcp}"]}))
        self.proxy = subprocess.Popen(
            [ROOT / "libexec/pkgd/pkg-proxy", "--listen-fd", str(self.spare.fileno()), "--rules",
             self.pkgd / "rules.json", "--audit", self.root / "audit"], pass_fds=[self.spare.fileno()], env={})

    def inet(self, speak, family=socket.AF_INET, host="0.0.0.0"):
        """The port of a new server; 1 where there is no such family."""
        try:
            sock = socket.socket(family)
            sock.bind((host, 0))
            sock.listen(64)
        except OSError:
            return 1
        self.sockets.append(serve(sock, speak))
        return sock.getsockname()[1]

    def datagrams(self, family, host):
        try:
            sock = socket.socket(family, socket.SOCK_DGRAM)
            sock.bind((host, 0))
        except OSError:
            return 1
        self.sockets.append(hear(sock))
        return sock.getsockname()[1]

    def unix(self, address):
        with contextlib.suppress(OSError):
            sock = socket.socket(socket.AF_UNIX)
            sock.bind(address)
            sock.listen(8)
            self.sockets.append(serve(sock, echo))

    def listen(self):
        self.tcp, self.http, self.tls = self.inet(echo), self.inet(http), self.inet(echo)
        self.careless = self.inet(careless)
        self.tcp6 = self.inet(echo, socket.AF_INET6, "::")
        self.udp = self.datagrams(socket.AF_INET, "0.0.0.0")
        self.udp6 = self.datagrams(socket.AF_INET6, "::")
        self.spare = socket.create_server(("127.0.0.1", 0))
        self.run_socket = f"/run/pkgd-escape-{os.getpid()}.sock"
        self.unix(str(self.outside / "host.sock"))
        self.unix(str(self.pkgd / "run" / "control.sock"))
        self.unix(self.run_socket)
        self.unix(f"\0pkgd-escape-{os.getpid()}")

    def workspace(self):
        with self.lock:
            self.serial += 1
            path = self.root / f"work{self.serial}"
        path.mkdir()
        self.unix(str(path / "host.sock"))
        return path

    def told(self, inside, work):
        """What an attempt needs to know."""
        address = "127.0.0.1"
        with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            sock.connect(("198.51.100.1", 9))
            address = sock.getsockname()[0]
        return {
            "inside": inside, "secret": SECRET, "canary": str(self.outside / "canary"), "outside": str(self.outside),
            "readable": str(self.readable), "home": str(self.user), "pkgd": str(self.pkgd), "work": work,
            "mountpoint": "/tmp" if inside else str(self.root / "mnt"), "victim": self.victim.pid,
            "terminal": os.ttyname(self.pty[1]), "leaked": self.leaked, "user": pwd.getpwuid(os.getuid()).pw_name,
            "handle": file_handle(self.outside / "canary"), "tcp": self.tcp, "tcp6": self.tcp6, "udp": self.udp,
            "udp6": self.udp6, "http": self.http, "tls": self.tls, "other_port": self.tcp, "address": address,
            "metadata": "169.254.169.254" if inside else address, "name": socket.gethostname(),
            "socket": str(self.outside / "host.sock"), "run_socket": self.run_socket,
            "abstract": f"pkgd-escape-{os.getpid()}", "proxy": 3128 if inside else self.careless,
            "denied": "denied.test:443", "front": "localhost", "rebound": "localhost", "flood": 1 << 20,
            "many": 200, "many_files": 500, "megabytes": 512 if inside else 8, "hold_s": 30 if inside else 3,
        }

    def environment(self):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("PKGD_", "PYTHON", "ASAN"))}
        return {**env, "PKGD_HOME": str(self.pkgd), "PKGD_LIBEXEC": str(ROOT / "libexec/pkgd"), "HOME": str(self.user),
                "PKGD_DATADIR": str(ROOT / "share/pkgd"), "MY_TOKEN": "ESCAPE_SECRET", "LD_LIBRARY_PATH": "/nonexistent"}

    def start(self, command, timeout=60):
        started = time.monotonic()
        done = subprocess.run([str(c) for c in command], input=SECRET, env=self.environment(), pass_fds=[self.leaked],
                              capture_output=True, text=True, timeout=timeout, cwd="/")
        return done, time.monotonic() - started

    def control(self, name):
        """The attempt where nothing confines it."""
        work = self.workspace()
        done, took = self.start([PYTHON, "-I", "-c", source(name, self.told(False, str(work)))])
        return done, took, work

    def confined(self, name, purpose):
        work = self.workspace()
        where = "/tmp" if purpose not in WRITABLE else str(work)
        found = marks(name)
        command = [BOXED, purpose, "--ro", self.readable, "--mask", self.readable / "masked"]
        command += ["--rw", work] if purpose in WRITABLE else []
        command += ["--limit", found["limit"]] if "limit" in found else []
        if found.get("where") == "network":
            command += ["--network", self.pkgd / "rules.json", self.root / "audit"]
        command += ["--", "/usr/bin/python3", "-I", "-c", source(name, self.told(True, where))]
        done, took = self.start(command)
        return done, took, work

    def close(self):
        for process in (self.victim, self.named, self.proxy):
            process.kill()
            process.wait()
        for sock in [*self.sockets, self.spare]:
            sock.close()
        for fd in (self.leaked, *self.pty):
            os.close(fd)
        with contextlib.suppress(OSError):
            os.unlink(self.run_socket)
        shutil.rmtree(self.root, ignore_errors=True)


@pytest.fixture(scope="module")
def stage():
    if not BOXED.exists():
        subprocess.run(["make", "-s", "-C", BUILD, "tests/system/boxed"], check=True, capture_output=True)
    one = Stage()
    done, _ = one.start([BOXED, "kernel", "--", "/usr/bin/true"])
    if done.returncode:
        one.close()
        if os.environ.get("CI"):
            pytest.fail(done.stderr)
        pytest.skip(f"no sandbox here: {done.stderr}")
    yield one
    one.close()


def stands_still(path):
    first = path.read_text()
    time.sleep(0.3)
    return path.read_text() == first


def judge(name, purpose, stage):
    """None, or what went wrong."""
    before = sorted(os.listdir(stage.outside))
    done, took, work = stage.confined(name, purpose)
    said = f"{purpose}: exit {done.returncode} after {took:.1f} s: {done.stdout[-300:]} {done.stderr[-600:]}"
    where = marks(name).get("where")
    if sorted(os.listdir(stage.outside)) != before:
        return f"something was left outside: {said}"
    if where == "outlive":
        return None if stands_still(work / "alive") else f"it lives on: {said}"
    if where == "pipes":
        return None if took < 5 else f"it held up the job: {said}"
    stopped = done.returncode == 99 and re.search(r"boxed: (timed-out|out-of-memory|disk-full|too-large)", done.stderr)
    if "limit" in marks(name) and (stopped or done.returncode in (HELD, 137)):
        return None
    return None if done.returncode == HELD else said


@pytest.mark.parametrize("name", ATTEMPTS)
def test_is_held(stage, name):
    done, took, work = stage.control(name)
    where = marks(name).get("where", "all")
    if where == "outlive":
        assert not stands_still(work / "alive"), "the control ended with its parent"
    elif where == "pipes":
        assert took > 2, "the control held nobody up"
    elif done.returncode != 0:
        assert done.returncode == HELD, f"the attempt itself is broken: {done.stderr[-2000:]}"
        why = f"the same does not work outside either: {done.stdout.strip()}"
        # ENOENT, ENOSYS, EAFNOSUPPORT: this kernel has none of it.
        if os.environ.get("CI") and not re.search(r"\[Errno (2|38|97)\]", done.stdout):
            pytest.fail(why)
        pytest.skip(why)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        wrong = [w for w in pool.map(lambda p: judge(name, p, stage), WHERE[where]) if w]
    assert not wrong, "\n".join(wrong)


def test_a_flood_of_output_is_cut(stage):
    done, took = stage.start([BOXED, "build", "--limit", "output=100000", "--", PYTHON, "-c",
                              "import sys\nfor _ in range(200): sys.stdout.write('x' * (1 << 20))"])
    assert done.returncode == 0 and took < 30  # drained, so that the command ends; what is kept is bounded (unit test)


def test_a_cancelled_command_that_ignores_it_is_gone_at_once(stage):
    work = stage.workspace()
    code = ("import os, signal, time\nfor s in (1, 2, 15): signal.signal(s, signal.SIG_IGN)\n"
            f"for i in range(200):\n    open({str(work / 'alive')!r}, 'w').write(str(i)); time.sleep(0.05)")
    done, took = stage.start([BOXED, "kernel", "--rw", work, "--cancel", "1000", "--", PYTHON, "-c", code])
    assert done.returncode == 99 and "cancelled" in done.stderr and took < 4
    assert stands_still(work / "alive")


def test_every_claim_of_the_documentation_names_tests_that_exist():
    """docs/security.md, and that no attempt is without a claim."""
    here = pathlib.Path(__file__).resolve().parent
    text = (here.parent.parent / "docs" / "security.md").read_text()
    table = [line.split("|")[2] for line in text.splitlines() if line.startswith("| ") and ("escape/" in line or "test_" in line)]
    named = set()
    for cell in table:
        in_escape = False
        for word in re.findall(r"`([^`]+)`", cell):
            in_escape = word.startswith("escape/") or in_escape and "::" not in word and not word.startswith(("test_", "tests/"))
            if in_escape:
                found = {p.stem for p in HERE.glob(word.removeprefix("escape/") + ".py")} - {"prelude"}
                assert found, f"no attempt {word}"
                named |= found
            elif "::" in word:
                file, _, test = word.partition("::")
                assert f"def {test}(" in (here / file).read_text(), word
    assert set(ATTEMPTS) - named == set()
