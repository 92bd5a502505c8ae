"""Fixtures of the system tests: the real programs.

    def test_installs(pkg, serve):                        # a home and a daemon of its own
        mirror = serve()
        result = pkg.install("six", index=mirror.simple)
        assert result["status"] == "done"

    def test_lists(house, env):                           # the module's home, an environment of its own
        house.install("syn-color", e=env)

Nothing outlives a test: whatever process still names the test's home in its environment is ended, and that there
was one is an error of the test.
"""
import hashlib
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import tempfile
import time

import pytest

from mirrorfix import MirrorServer, mirror_tree, serve  # noqa: F401  (fixtures)

BUILD = pathlib.Path(os.environ.get("PKGD_TEST_BUILD", "build/test")).resolve()
ROOT = BUILD / "root" / "usr" / "local"
PYTHON = os.environ.get("PKGD_TEST_PYTHON", "/usr/bin/python3")
ENDED = ("done", "denied", "failed", "cancelled", "interrupted")
# What a developer's or a CI machine sets and no test may depend on.
UNWANTED = ("PIP_", "PYTHON", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT", "PKGD_", "HTTP_PROXY", "HTTPS_PROXY",
            "http_proxy", "https_proxy", "NO_PROXY", "no_proxy", "VIRTUAL_ENV", "CONDA", "NODE_EXTRA", "XDG_")


def clean_environment(home):
    """The environment that a newcomer's shell would have, with everything of pkgd below home."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(UNWANTED)}
    env.update(
        PKGD_HOME=str(home / "pkgd"),
        PKGD_LIBEXEC=str(ROOT / "libexec" / "pkgd"),
        PKGD_DATADIR=str(ROOT / "share" / "pkgd"),
        PATH=f"{ROOT / 'bin'}:{env.get('PATH', '/usr/bin:/bin')}",
        HOME=str(home / "user"),
        LC_ALL="C.UTF-8",
    )
    return env


class Failed(AssertionError):
    """Something did not end as the test said it would."""


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path, timeout=60):
        super().__init__("localhost", timeout=timeout)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


# --- processes ---


def proc_stat(pid):
    """(parent, start time, state) of a process, None when there is none."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return int(fields[1]), int(fields[19]), fields[0]


def descendants(*pids):
    """{(pid, start time)} of everything below these processes, themselves not included."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (found := proc_stat(entry)):
            parents.setdefault(found[0], []).append((int(entry), found[1]))
    out, todo = set(), list(pids)
    while todo:
        for child in parents.get(todo.pop(), []):
            out.add(child)
            todo.append(child[0])
    return out


def still_alive(processes):
    """Those of {(pid, start time)} that run; a zombie does not."""
    return {(pid, start) for pid, start in processes
            if (found := proc_stat(pid)) and found[1] == start and found[2] != "Z"}


# --- trees ---


def describe_tree(root):
    """{path: what is there} of a whole directory."""
    out = {}
    for folder, names, files in os.walk(root):
        for name in names + files:
            path = os.path.join(folder, name)
            info = os.lstat(path)
            if stat.S_ISLNK(info.st_mode):
                what = "-> " + os.readlink(path)
            elif stat.S_ISDIR(info.st_mode):
                what = "directory"
            elif stat.S_ISREG(info.st_mode):
                with open(path, "rb") as f:
                    what = f"{stat.S_IMODE(info.st_mode):o} {hashlib.sha256(f.read()).hexdigest()[:16]}"
            else:
                what = f"{info.st_mode:o}"
            out[os.path.relpath(path, root)] = what
    return out


def remove_tree(path):
    """Trees of the store are read-only."""
    for folder, _, _ in os.walk(path):
        os.chmod(folder, 0o700)
    shutil.rmtree(path)


class Pkg:
    """The `pkg` of one home, and its daemon."""

    def __init__(self, home):
        self.root = home
        self.home = home / "pkgd"
        self.env = clean_environment(home)
        self.daemon_process = None
        (home / "user").mkdir()
        (self.home / "config").mkdir(parents=True)
        self.configure({"python": {"interpreters": [PYTHON]}})

    # --- configuration and daemon ---

    def configure(self, config):
        """Write pkgd.json."""
        self.config = config
        (self.home / "config" / "pkgd.json").write_text(json.dumps(config))

    def adjust(self, **keys):
        """Change keys of pkgd.json: adjust(fetch__retries=0), __ for a dot. Workers read it anew for each job."""
        config = json.loads(json.dumps(self.config))
        for key, value in keys.items():
            *parts, last = key.split("__")
            place = config
            for part in parts:
                place = place.setdefault(part, {})
            place[last] = value
        self.configure(config)

    def start(self, **env):
        """Start pkgd and wait until it serves."""
        with open(self.root / "pkgd.log", "ab") as log:
            self.daemon_process = subprocess.Popen(
                [ROOT / "bin" / "pkgd"], env={**self.env, **env}, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True
            )
        self.wait_until(self.is_serving, "the daemon to serve")

    def socket(self, control=False):
        return self.home / "run" / ("control.sock" if control else "pkgd.sock")

    def is_serving(self):
        if self.daemon_process and self.daemon_process.poll() is not None:
            raise Failed(f"pkgd ended with {self.daemon_process.returncode}\n{self.log()}")
        path = self.socket(control=True)
        try:
            # through a descriptor: a home may be deeper than a socket's address is long
            run = os.open(path.parent, os.O_PATH)
        except OSError:
            return False
        with socket.socket(socket.AF_UNIX) as sock:
            try:
                sock.connect(f"/proc/self/fd/{run}/{path.name}")
                return True
            except OSError:
                return False
            finally:
                os.close(run)

    def stop(self, sig=signal.SIGTERM):
        """End the daemon that start() started."""
        if self.daemon_process:
            self.daemon_process.send_signal(sig)
            self.daemon_process.wait(20)
            self.daemon_process = None

    def restart(self, sig=signal.SIGTERM, **env):
        self.stop(sig)
        self.start(**env)

    # --- commands ---

    def run(self, *args, code=0, input=None, timeout=60, env=None, cwd=None):
        """Run pkg; exit status must be code (None: any, a tuple: one of them)."""
        done = subprocess.run(
            [ROOT / "bin" / "pkg", *map(str, args)],
            env={**self.env, **(env or {})},
            cwd=cwd,
            input=input,
            stdin=None if input is not None else subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
        codes = code if isinstance(code, tuple) else (code,)
        if code is not None and done.returncode not in codes:
            raise Failed(
                f"pkg {' '.join(map(str, args))}: exit {done.returncode}, not {code}\n"
                f"--- stdout\n{done.stdout}\n--- stderr\n{done.stderr}\n--- pkgd.log\n{self.log()[-6000:]}"
            )
        return done

    def popen(self, *args, env=None, **options):
        """Start pkg without waiting."""
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True,
                   **options}
        return subprocess.Popen([ROOT / "bin" / "pkg", *map(str, args)], env={**self.env, **(env or {})}, **options)

    def json(self, *args, code=0, **options):
        """The last line of JSON that `pkg ARGS --json` prints."""
        return self.lines(*args, code=code, **options)[-1]

    def lines(self, *args, code=0, **options):
        """Every line of JSON that `pkg ARGS --json` prints."""
        done = self.run(*args, "--json", code=code, **options)
        return [json.loads(line) for line in done.stdout.splitlines() if line.strip()]

    def install(self, *packages, index=None, code=0, yes=True, action="install", e=None, **options):
        """`pkg install` with --yes: the final line."""
        args = [action]
        args += ["-e", e] if e else []
        args += ["--index-url", index] if index else []
        args += ["--yes"] if yes else []
        for key, value in options.items():
            name = "--" + key.replace("_", "-")
            for one in value if isinstance(value, list) else [value]:
                args += [name] if one is True else [name, one]
        return self.json(*args, *packages, code=code)

    def log(self):
        parts = [self.root / "pkgd.log", self.home / "state" / "pkgd.log",
                 *sorted(self.home.glob("state/jobs/*/worker.log"))]
        return "\n".join(f"[{p.name}] {p.read_text(errors='replace')}" for p in parts
                         if p.exists() and p.stat().st_size)

    # --- the API ---

    def request(self, method, path, body=None, control=False, headers=None):
        """(HTTP status, envelope)."""
        connection = UnixConnection(self.socket(control))
        data = body if body is None or isinstance(body, (bytes, str)) else json.dumps(body)
        try:
            connection.request(method, path, data, {"Content-Type": "application/json", **(headers or {})})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def api(self, method, path, body=None, control=False, headers=None):
        """The envelope's result; anything but success is an error."""
        status, envelope = self.request(method, path, body, control, headers)
        if status not in (200, 202):
            raise Failed(f"{method} {path}: {status} {envelope}")
        return envelope["result"]

    def submit(self, action, *requirements, **fields):
        """POST /v1/jobs: the job's number."""
        body = {"action": action, **fields}
        if requirements:
            body["requirements"] = list(requirements)
        return self.api("POST", "/v1/jobs", body)["job"]

    def answer(self, job, answer="approve", **fields):
        """Answer the pending card of a job."""
        card = self.wait_until(lambda: self.get_job(job)["card"], f"the card of job {job}")
        return self.api("POST", f"/v1/cards/{card}", {"answer": answer, **fields}, control=True)

    def events(self, job, after=None, header=True, limit=None):
        """[(id, row)] of a job's event stream, to its end (or the first `limit` of them)."""
        connection = UnixConnection(self.socket())
        headers = {"Last-Event-ID": str(after)} if after is not None and header else {}
        query = f"?after={after}" if after is not None and not header else ""
        out, event, ident = [], None, None
        try:
            connection.request("GET", f"/v1/jobs/{job}/events{query}", headers=headers)
            answer = connection.getresponse()
            assert (answer.status, answer.headers["Content-Type"]) == (200, "text/event-stream")
            for line in answer:
                line = line.decode().rstrip("\n")
                if line.startswith("id: "):
                    ident = int(line[4:])
                elif line.startswith("data: "):
                    event = json.loads(line[6:])
                elif not line and event is not None:
                    out.append((ident, event))
                    event = None
                    if limit and len(out) == limit:
                        break
        finally:
            connection.close()
        return out

    def get_job(self, job):
        return self.api("GET", f"/v1/jobs/{job}")

    # --- the database ---

    def rows(self, sql, *values):
        """Rows of the state database, as the daemon left them."""
        connection = sqlite3.connect(f"file:{self.home / 'state' / 'state.db'}?mode=ro", uri=True, timeout=20)
        try:
            return connection.execute(sql, values).fetchall()
        finally:
            connection.close()

    def execute(self, sql, *values):
        """Change the database behind the daemon's back."""
        connection = sqlite3.connect(self.home / "state" / "state.db", timeout=20)
        try:
            with connection:
                connection.execute(sql, values)
        finally:
            connection.close()

    # --- environments ---

    def prefix(self, name="python", language="python", project="default"):
        return self.home / "data" / "envs" / project / language / name

    def site_packages(self, name="python"):
        return next(self.prefix(name).glob("lib/python3*/site-packages"))

    def python(self, code, name="python", code_expected=0):
        """Run code with an environment's own interpreter, outside any sandbox: what a user would."""
        done = subprocess.run(
            [self.prefix(name) / "bin" / "python", "-c", code], env={**self.env, "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True, text=True, timeout=60,
        )
        assert done.returncode == code_expected, done.stderr
        return done.stdout.strip()

    def packages(self, environment="default"):
        """{name: version} of what the environment owns."""
        rows = self.json("list", "-e", environment)["packages"]
        return {row["name"]: row["version"] for row in rows if row["owned"]}

    def snapshot(self, name="python", language="python", project="default"):
        """Everything about an environment that must not change by halves: where it points, its files, its rows.
        None when nothing is there, neither on disk nor in the database."""
        link = self.prefix(name, language, project)
        found = self.rows("SELECT id, generation, revision, hermetic, facts FROM env"
                          " WHERE project = ? AND language = ? AND name = ?", project, language, name)
        if not found and not os.path.lexists(link):
            return None
        assert found and link.is_symlink(), f"link and row do not agree: {found} {os.path.lexists(link)}"
        ident, generation, revision, hermetic, facts = found[0]
        trees = sorted(p.name for p in (self.home / "data" / "generations" / str(ident)).iterdir())
        return {
            "target": os.readlink(link), "generation": generation, "revision": revision, "hermetic": hermetic,
            "facts": facts, "trees": trees, "files": describe_tree(link.resolve()),
            "generations": self.rows("SELECT number, revision, retired FROM generation WHERE env = ?"
                                     " ORDER BY number", ident),
            "packages": self.rows("SELECT generation, key, version, requirement, owned, sha256 FROM package"
                                  " WHERE env = ? ORDER BY generation, key", ident),
        }

    def leftovers(self):
        """What no job that ended may leave behind. Deleting is done in the background: wait for this to be empty."""
        found = []
        for place in self.home.glob("data/staging/*"):
            state = self.rows("SELECT state FROM job WHERE id = ?", place.name)
            if not state or state[0][0] in ENDED:
                found.append(str(place))
        found += [str(p) for p in self.home.glob("data/trash/*")]
        found += [str(p) for p in self.home.glob("data/envs/**/.*.new")]
        found += [f"journal {row}" for row in self.rows("SELECT env, job, kind FROM journal")]
        found += [f"claim {row}" for row in self.rows("SELECT id, job, phase FROM claim WHERE ended_ms = 0")]
        return found

    def assert_clean(self, what=""):
        """Nothing is left of jobs that ended: no files, no rows, no process."""
        self.wait_until(lambda: not self.leftovers() and not self.busy(),
                        lambda: f"nothing to be left {what}: {self.leftovers()} {self.busy()}")

    # --- waiting and ending ---

    def wait_until(self, condition, what, timeout=30):
        end = time.monotonic() + timeout
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > end:
                raise Failed(f"waited {timeout} s for {what() if callable(what) else what}\n{self.log()[-6000:]}")
            time.sleep(0.01)

    def job(self, job):
        return self.json("jobs", "show", job)

    def wait_state(self, job, *states, timeout=60):
        """Wait until a job is in one of these states (default: ended); its row."""
        states = states or ENDED
        return self.wait_until(lambda: (row := self.get_job(job))["state"] in states and row,
                               lambda: f"job {job} to be {states}: {self.get_job(job)}", timeout)

    def processes(self):
        """Processes that name this home in their environment, this test's own commands excluded."""
        found = {}
        for proc in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if f"PKGD_HOME={self.home}".encode() in (proc / "environ").read_bytes().split(b"\0"):
                    found[int(proc.name)] = (proc / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
        return found

    def workers(self):
        return {pid: line for pid, line in self.processes().items() if "pkg-worker" in line}

    def daemons(self):
        return {pid: line for pid, line in self.processes().items() if line.split(" ")[0].endswith("/pkgd")}

    def busy(self):
        """Processes of this home that are no daemon: workers, and whatever is below those."""
        workers = self.workers()
        return {**workers, **{pid: "below a worker" for pid, _ in descendants(*workers)}}

    def close(self):
        """End everything; what had to be killed."""
        if self.daemon_process and self.daemon_process.poll() is None:
            self.stop()
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGTERM)
            except ProcessLookupError:
                pass
        end = time.monotonic() + 10
        while self.processes() and time.monotonic() < end:
            time.sleep(0.02)
        left = self.processes()
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        return left


def new_pkg(base=None):
    return Pkg(pathlib.Path(tempfile.mkdtemp(prefix="pkgd-test.", dir=base)))


def end_all(made):
    left = [line for one in made for line in one.close().values()]
    for one in made:
        if not os.environ.get("PKGD_TEST_KEEP"):
            remove_tree(one.root)
    assert not left, f"processes that did not end: {left}"


@pytest.fixture
def make_pkg():
    """Make homes: make_pkg() -> Pkg; where=DIR makes it there."""
    made = []

    def make(where=None):
        made.append(new_pkg(where))
        return made[-1]

    yield make
    end_all(made)


@pytest.fixture
def pkg(make_pkg):
    """A home with a running daemon."""
    one = make_pkg()
    one.start()
    return one


# --- one home for all tests of a module: where each names an environment of its own, they do not meet ---


@pytest.fixture(scope="module")
def mirror(mirror_tree):  # noqa: F811
    """A server that works."""
    with MirrorServer(mirror_tree) as server:
        yield server


@pytest.fixture(scope="module")
def module_pkg(mirror):
    """The module's home; its index is the mirror."""
    one = new_pkg()
    one.configure({"python": {"interpreters": [PYTHON], "index_url": mirror.simple}})
    one.standard = one.config
    one.start()
    yield one
    end_all([one])


@pytest.fixture
def house(module_pkg):
    """The module's home, its configuration as it was at first."""
    yield module_pkg
    if module_pkg.config != module_pkg.standard:
        module_pkg.configure(module_pkg.standard)
    # A test that failed must not make those after it fail.
    open_jobs = [job for job, in module_pkg.rows("SELECT id FROM job WHERE ended_ms = 0")] \
        if (module_pkg.home / "state" / "state.db").exists() else []
    for job in open_jobs:
        module_pkg.api("DELETE", f"/v1/jobs/{job}", control=True)


@pytest.fixture
def env(request):
    """The name of an environment that no other test has."""
    return re.sub("[^A-Za-z0-9]+", "-", request.node.name)[-60:].strip("-")
