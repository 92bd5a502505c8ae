"""Fixtures: a tree of packages (tests/mirror) and servers for it.

    from mirrorfix import mirror_tree, serve      # in conftest.py

    def test_resumes(serve):
        mirror = serve(slow="*syn_big*=8000", https=True)
        ... mirror.simple, mirror.cran, mirror.ca ...
        assert mirror.requests("*syn_big*")[-1]["status"] == 206

The tree is $PKGD_TEST_MIRROR if that is set; else it is built once for each state of tests/mirror
below $XDG_CACHE_HOME/pkgd-tests/mirror, where sessions that run at once share it.
"""
import contextlib
import fcntl
import fnmatch
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import pytest

MIRROR = pathlib.Path(__file__).resolve().parent.parent / "mirror"


def cache_dir():
    """Where trees and downloads are kept between sessions."""
    base = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(base) / "pkgd-tests" / "mirror"


def scripts_digest():
    """A name for the present state of what makes a tree, on this release."""
    digest = hashlib.sha256()
    parts = [MIRROR / n for n in ("build", "synth", "packages.list")]
    parts += sorted(MIRROR.glob("mirrorlib/**/*.py"))
    for path in [pathlib.Path("/etc/os-release"), *parts]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


@contextlib.contextmanager
def flock(path, mode):
    """Hold a lock file."""
    with open(path, "w", encoding="utf-8") as f:
        fcntl.flock(f, mode)
        yield


def build_tree(cache, tree):
    """Make the tree, unless an earlier session did; the caller holds the cache's lock."""
    done = tree / "complete"
    if done.exists():
        return
    cmd = [MIRROR / "build", tree, "--small", "--synth", "--cache", cache / "downloads"]
    result = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode:
        pytest.fail(f"{MIRROR}/build: exit {result.returncode}\n{result.stdout}", pytrace=False)
    done.touch()


def remove_stale_trees(cache, keep):
    """Trees of other states of the scripts that no session uses."""
    for lock in cache.glob("small-*.lock"):
        tree = lock.with_suffix("")
        if tree != keep:
            with contextlib.suppress(BlockingIOError), flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB):
                shutil.rmtree(tree, ignore_errors=True)
                lock.unlink()


@pytest.fixture(scope="session")
def mirror_tree():
    """The folder that build and synth made."""
    given = os.environ.get("PKGD_TEST_MIRROR")
    if given:
        yield pathlib.Path(given)
        return
    cache = cache_dir()
    cache.mkdir(parents=True, exist_ok=True)
    tree = cache / f"small-{scripts_digest()}"
    with contextlib.ExitStack() as stack:
        with flock(cache / "lock", fcntl.LOCK_EX):
            remove_stale_trees(cache, tree)
            # shared, to the end of the session: nobody removes it under us
            stack.enter_context(flock(f"{tree}.lock", fcntl.LOCK_SH))
            build_tree(cache, tree)
        yield tree


class MirrorServer:
    """A running `serve` on a free port of loopback.

    Options are those of `serve`, as keywords with _ for -: True is a bare switch, a list means
    that the option is given often: MirrorServer(tree, status=["*/six/*=503@2"], no_json=True).

    url, simple, private, cran   addresses; private is synth's second index
    ca                           the CA certificate with https=True, else None
    """

    def __init__(self, tree, **options):
        self.tmp = tempfile.mkdtemp(prefix="mirror-server.")
        self.log_path = os.path.join(self.tmp, "requests")
        self.ca = os.path.join(self.tmp, "tls", "ca.pem") if options.get("https") else None
        cmd = [str(MIRROR / "serve"), str(tree), "--port", "0", "--parent", str(os.getpid())]
        cmd += ["--log", self.log_path, "--log-starts"]
        cmd += ["--tls-dir", os.path.dirname(self.ca)] if self.ca else []
        cmd += command_line(options)
        self.process = subprocess.Popen(cmd, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line.startswith("serving on "):
            self.stop()
            raise RuntimeError(f"{cmd} did not start")
        self.url = line.split()[-1].rstrip("/")
        self.port = int(self.url.rpartition(":")[2])
        self.simple = self.url + "/pypi/simple/"
        self.private = self.url + "/private/simple/"
        self.cran = self.url + "/cran"

    def _log(self):
        try:
            with open(self.log_path, encoding="utf-8") as f:
                return [json.loads(line) for line in f if line.endswith("\n")]
        except FileNotFoundError:
            return []

    def requests(self, pattern="*"):
        """The finished requests whose path matches a glob, oldest first."""
        records = [r for r in self._log() if "event" not in r]
        return [r for r in records if fnmatch.fnmatchcase(r["path"], pattern)]

    def wait_for(self, pattern, count=1, timeout=30):
        """Wait until so many requests for matching paths came in (they need not be answered)."""
        end = time.monotonic() + timeout
        while True:
            records = [r for r in self._log() if r.get("event") == "start"]
            found = [r for r in records if fnmatch.fnmatchcase(r["path"], pattern)]
            if len(found) >= count:
                return found
            if time.monotonic() > end:
                raise TimeoutError(f"{len(found)} requests for {pattern} within {timeout} s")
            time.sleep(0.02)

    def stop(self):
        """End the server and remove what it wrote. Once is enough, twice does no harm."""
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()
        shutil.rmtree(self.tmp, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.stop()


def command_line(options):
    """Keyword options as arguments of `serve`."""
    args = []
    for key, value in options.items():
        name = "--" + key.replace("_", "-")
        if value is True:
            args.append(name)
        elif value is not False and value is not None:
            values = value if isinstance(value, (list, tuple)) else [value]
            args += [x for v in values for x in (name, str(v))]
    return args


@pytest.fixture
def serve(mirror_tree):
    """Start servers: serve(tree=FOLDER, **options of `serve`) -> MirrorServer."""
    with contextlib.ExitStack() as stack:
        yield lambda tree=None, **options: stack.enter_context(
            MirrorServer(tree or mirror_tree, **options)
        )
