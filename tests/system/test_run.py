"""pkg run: a command inside an environment's kernel profile."""
import contextlib
import fcntl
import json
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import threading
import time
import uuid

import pytest

from conftest import ROOT


@pytest.fixture(scope="module")
def lab(module_pkg):
    """The module's home with an environment that has one package."""
    module_pkg.install("syn-lib==1.0", e="lab")
    return module_pkg


@pytest.fixture
def work(lab):
    """An empty directory, on a file system that a sandbox may be given."""
    path = lab.root / f"work-{uuid.uuid4().hex[:8]}"
    path.mkdir()
    return path


def run(lab, *args, options=(), **keywords):
    return lab.run("run", "-e", "lab", *options, "--", *args, **keywords)


# --- what comes back ---


@pytest.mark.parametrize("script, code", [
    ("exit 0", 0), ("exit 7", 7), ("exit 255", 255), ("kill -TERM $$", 143), ("kill -KILL $$", 137)])
def test_the_exit_status_is_the_commands(lab, script, code):
    run(lab, "/bin/sh", "-c", script, code=code)


def test_streams_pass_through_byte_for_byte(lab):
    data = bytes(range(256)) * 4000
    done = subprocess.run(
        [ROOT / "bin/pkg", "run", "-e", "lab", "--", "/bin/sh", "-c", "cat; echo err >&2"], env=lab.env, input=data,
        capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, data, b"err\n")


def test_a_name_is_found_in_the_environment_first(lab):
    done = run(lab, "python", "-c", "import sys, syn_lib; print(sys.prefix)")
    assert done.stdout.strip() == str(lab.prefix("lab"))
    done = run(lab, "no-such-program", code=4)
    assert "no-such-program" in done.stderr
    run(lab, "./relative", code=2)


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1])
def test_a_signal_reaches_the_command_and_not_the_sandbox(lab, sig):
    code = ("import os, signal, time\nsignal.signal(%d, lambda n, f: (os.write(1, b'got %%d\\n' %% n), os._exit(9)))\n"
            "os.write(1, b'ready\\n')\ntime.sleep(30)" % sig)
    process = lab.popen("run", "-e", "lab", "--", "python", "-c", code)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(sig)
    out, err = process.communicate(timeout=20)
    assert (out, err, process.returncode) == (f"got {int(sig)}\n", "", 9)


def test_the_end_of_pkg_is_the_end_of_all_inside(lab, work):
    code = f"import time\nfor i in range(400):\n open({str(work / 'alive')!r}, 'w').write(str(i)); time.sleep(0.05)"
    process = lab.popen("run", "-e", "lab", "--workspace", work, "--", "python", "-c", code)
    lab.wait_until(lambda: (work / "alive").exists(), "the command to begin")
    process.kill()
    process.wait(), process.stdout.close(), process.stderr.close()
    time.sleep(0.3)
    before = (work / "alive").read_text()
    time.sleep(0.3)
    assert (work / "alive").read_text() == before


# --- at a terminal ---


class Terminal:
    """pkg run at a terminal of its own."""

    def __init__(self, lab, *command):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(ROOT / "bin/pkg", ["pkg", "run", "-e", "lab", "--", *command], lab.env)
        self.seen = ""

    def expect(self, pattern, seconds=20):
        end = time.monotonic() + seconds
        while not re.search(pattern, self.seen):
            assert time.monotonic() < end, f"no {pattern!r} in {self.seen!r}"
            if select.select([self.fd], [], [], 0.1)[0]:
                with contextlib.suppress(OSError):
                    self.seen += os.read(self.fd, 4096).decode(errors="replace")
        self.seen = self.seen[re.search(pattern, self.seen).end():]

    def type(self, text):
        os.write(self.fd, text.encode())

    def end(self):
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.fd)
        return status


def test_a_terminal_is_the_commands_own(lab):
    terminal = Terminal(lab, "/bin/sh", "-c", "test -t 0 && test -t 1 && test -t 2 && echo all; stty size; read x; echo \"<$x>\"")
    terminal.expect("all")
    terminal.expect(r"\d+ \d+")
    terminal.type("hello\n")
    terminal.expect("<hello>")
    assert terminal.end() == 0


def test_the_interrupt_key_reaches_the_command(lab):
    terminal = Terminal(lab, "python", "-c", "import time\nprint('up', flush=True)\ntime.sleep(60)")
    terminal.expect("up")
    terminal.type("\x03")
    terminal.expect("KeyboardInterrupt")
    assert terminal.end() in (1, 130)  # Python ends by the signal itself


def test_a_new_window_size_reaches_the_command(lab):
    terminal = Terminal(lab, "python", "-c", "import os, signal, time\n"
                        "signal.signal(signal.SIGWINCH, lambda *a: os.write(1, b'now %d %d' % os.get_terminal_size()))\n"
                        "os.write(1, b'up')\nfor _ in range(100): time.sleep(0.1)")
    terminal.expect("up")
    fcntl.ioctl(terminal.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 31, 97, 0, 0))
    terminal.expect("now 97 31")
    terminal.type("\x03")
    terminal.end()


def test_what_the_command_types_into_the_terminal_is_refused(lab):
    code = ("import fcntl, termios\ntry:\n    fcntl.ioctl(0, termios.TIOCSTI, b'x')\n    print('TYPED')\n"
            "except OSError as e:\n    print('refused', e.errno)")
    terminal = Terminal(lab, "python", "-c", code)
    terminal.expect("refused 1")
    assert terminal.end() == 0


# --- what it may touch ---


def test_the_workspace_is_the_one_writable_place(lab, work):
    code = f"""
import os, pathlib, sys
for place in ({str(work)!r}, sys.prefix, os.path.dirname(os.__file__), '/etc', '/usr', '/', os.environ['HOME'], '/tmp'):
    try:
        p = pathlib.Path(place) / 'planted'
        p.write_text('x'); p.unlink()
        print('written', place)
    except OSError:
        print('refused', place)
print(os.getcwd())
"""
    done = run(lab, "python", "-c", code, options=("--workspace", work))
    written = {line.split()[1] for line in done.stdout.splitlines() if line.startswith("written")}
    assert written == {str(work), "/tmp", "/tmp/home"}
    assert done.stdout.splitlines()[-1] == str(work)
    (work / "made").write_text("outside")
    assert run(lab, "cat", str(work / "made"), options=("--workspace", work)).stdout == "outside"


def test_the_home_of_the_user_is_not_there(lab):
    (lab.root / "user" / ".netrc").write_text("password")
    done = run(lab, "/bin/sh", "-c", f"cat {lab.root}/user/.netrc; ls {lab.home}/state {lab.home}/run; echo $HOME; ls -A $HOME")
    assert "password" not in done.stdout and "state.db" not in done.stdout
    assert done.stdout.strip() == "/tmp/home"


def test_secrets_of_the_caller_do_not_come_in(lab):
    done = run(lab, "env", env={"AWS_SECRET_ACCESS_KEY": "geheim", "MY_TOKEN": "geheim", "LD_PRELOAD": "",
                                "PYTHONSTARTUP": "/tmp/x", "http_proxy": "http://u:geheim@127.0.0.1:1", "LANG": "C.UTF-8"})
    assert "geheim" not in done.stdout and "PYTHONSTARTUP" not in done.stdout
    assert "PATH=" + str(lab.prefix("lab") / "bin") in done.stdout


@pytest.mark.parametrize("place", ["/", "//", "/usr", "/etc/", "/home", "/proc", "/tmp/..", "HOME", "STATE"])
def test_a_workspace_that_is_too_much_is_refused(lab, place):
    place = {"HOME": str(lab.root / "user"), "STATE": str(lab.home / "run")}.get(place, place)
    done = run(lab, "true", options=("--workspace", place), code=(1, 2))
    assert done.stderr.startswith("pkg: ") and "\n" in done.stderr


def test_a_workspace_with_a_second_name_of_a_secret_is_refused(lab, work):  # T122
    secret = lab.root / "secret"
    secret.write_text("x")
    os.link(secret, work / "innocent")
    done = run(lab, "true", options=("--workspace", work), code=(1, 2))
    assert "innocent" in done.stderr
    (work / "innocent").unlink()
    run(lab, "true", options=("--workspace", work))


# --- the way out ---


@contextlib.contextmanager
def web():
    """A web server; yields its port and the paths it was asked for."""
    import http.server

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Length", "5")
            self.end_headers()
            self.wfile.write(b"hello")

        def log_message(self, *args):
            pass

    asked = []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1], asked
    server.shutdown()
    server.server_close()


FETCH = """
import sys, urllib.request
try:
    print(urllib.request.urlopen(sys.argv[1], timeout=5).read().decode())
except Exception as error:
    print('failed:', getattr(error, 'code', ''), error)
"""


def test_the_network_is_what_the_configuration_allows(house, lab):
    with web() as (port, asked):
        url = f"http://127.0.0.1:{port}/x"
        assert "failed: 403" in run(lab, "python", "-c", FETCH, url).stdout and not asked
        house.adjust(network__hosts=[f"127.0.0.1:{port}"])
        assert run(lab, "python", "-c", FETCH, url).stdout == "hello\n" and asked == ["/x"]
        denied = run(lab, "python", "-c", FETCH, url, options=("--network", "deny")).stdout
        assert "failed" in denied and "403" not in denied and asked == ["/x"]
        around = run(lab, "python", "-c", "import urllib.request as u; u.install_opener(u.build_opener(u.ProxyHandler({})))"
                     + FETCH, url).stdout
        assert "failed" in around and asked == ["/x"]
        house.adjust(network__hosts=[f"127.0.0.1:{port}"], network__mode="deny")
        assert "failed" in run(lab, "python", "-c", FETCH, url).stdout and asked == ["/x"]
    rows = [json.loads(line) for line in lab.run("audit", "--json").stdout.splitlines()]
    seen = [row["data"] for row in rows if row["type"] == "connection" and row["data"].get("port") == port]
    assert {"denied", "allowed"} <= {row["verdict"] for row in seen}


def test_names_are_not_resolved_inside(lab):
    done = run(lab, "python", "-c", "import socket\ntry: print(socket.getaddrinfo('localhost.localdomain.example', 80))\n"
               "except OSError as e: print('none', e.errno)")
    assert done.stdout.startswith("none")


def test_certificates_of_the_caller_are_trusted_beside_the_systems(lab):
    authority = lab.root / "authority.pem"
    authority.write_text("-----BEGIN CERTIFICATE-----\nOURS\n-----END CERTIFICATE-----\n")
    script = ("for f in $SSL_CERT_FILE $REQUESTS_CA_BUNDLE $CURL_CA_BUNDLE $PIP_CERT $GIT_SSL_CAINFO "
              "/etc/ssl/certs/ca-certificates.crt; do grep -c OURS $f; done; wc -c <$SSL_CERT_FILE")
    plain = run(lab, "/bin/sh", "-c", "echo [$SSL_CERT_FILE]")
    assert plain.stdout == "[]\n"
    *found, size = run(lab, "/bin/sh", "-c", script, env={"PIP_CERT": str(authority)}).stdout.split()
    assert found == ["1"] * 6 and int(size) > os.path.getsize("/etc/ssl/certs/ca-certificates.crt")


# --- the generation ---


def test_a_running_command_keeps_its_generation(lab):
    lab.install("syn-lib==1.0", e="moving")
    code = ("import importlib.metadata as m, sys\nfor line in sys.stdin:\n"
            "    print(m.version('syn-lib'), len(open(m.distribution('syn-lib').locate_file('syn_lib/__init__.py')).read()) > 0,"
            " flush=True)")
    process = lab.popen("run", "-e", "moving", "--", "python", "-c", code, stdin=subprocess.PIPE)

    def ask():
        process.stdin.write("?\n")
        process.stdin.flush()
        return process.stdout.readline()

    assert ask() == "1.0 True\n"
    result = lab.install("syn-lib==2.0", e="moving", action="upgrade")
    assert result["generation"] == 2 and result["additive"] is False
    assert ask() == "1.0 True\n"
    kernels = lab.json("kernel", "list")["kernels"]
    mine = [k for k in kernels if k["environment"] == "moving"]
    assert [(k["generation"], k["restart_due"]) for k in mine] == [(1, True)]
    assert lab.run("run", "-e", "moving", "--", "python", "-c", "import importlib.metadata as m; print(m.version('syn-lib'))",
                   ).stdout == "2.0\n"
    process.stdin.close()
    assert process.wait(20) == 0
    process.stdout.close(), process.stderr.close()
    assert not [k for k in lab.json("kernel", "list")["kernels"] if k["environment"] == "moving"]


# --- limits and mistakes ---


@pytest.mark.parametrize("limit, code, words", [
    ("wall_seconds=1", "import time; time.sleep(20)", "time limit"),
    ("memory_bytes=200M", "x = [b'x' * (1 << 20) for _ in range(600)]", None),
    ("memory_bytes=200M", "import os, time\nfor _ in range(6):\n if os.fork() == 0:\n  x = [b'x' * (1 << 20) for _ in range(100)]\n"
     "  time.sleep(9)\n  os._exit(0)\ntime.sleep(9)", "memory"),
    ("processes=20", "import os, time\nfor _ in range(60):\n if os.fork() == 0:\n  time.sleep(9)\n  os._exit(0)\ntime.sleep(9)",
     "processes"),
    ("file_bytes=1M", "open('/tmp/x', 'wb').write(b'x' * (5 << 20))", None),
])
def test_a_limit_ends_the_command(lab, limit, code, words):
    start = time.monotonic()
    done = run(lab, "python", "-c", code, options=("--limit", limit), code=None)
    assert done.returncode != 0 and time.monotonic() - start < 8
    if words:
        assert done.stderr.startswith("pkg: ") and words in done.stderr


def test_mistakes_are_told_apart(lab):
    run(lab, "true", options=("--limit", "colour=3"), code=2)
    run(lab, "true", options=("--limit", "memory_bytes=lots"), code=2)
    run(lab, "true", options=("--network", "maybe"), code=2)
    assert "no-such" in lab.run("run", "-e", "no-such", "--", "true", code=4).stderr
    assert run(lab, "true", options=("--workspace", "/nonexistent"), code=(1, 2, 4)).stderr.startswith("pkg: ")


def test_nothing_is_left_of_a_run(lab, work):
    before = sorted(os.listdir(lab.home / "run"))
    run(lab, "true", options=("--workspace", work))
    assert sorted(os.listdir(lab.home / "run")) == before and os.listdir(work) == []
