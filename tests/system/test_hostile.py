"""Packages that mean harm: refused with a sentence, or run where there is nothing to reach. T22, T42, T110 and others:
rows of the list of behaviours that the product keeps."""
import json
import os
import socket
import subprocess
import threading

import pytest

from conftest import PYTHON
from mirrorfix import MIRROR, MirrorServer

INDEX_FAULT = ("no-such-package", "no-wheel", "resolution-failed", "no-such-version", "index-error")
ARCHIVE = ("corrupt-archive",)

# package, the kinds that say what is wrong, words of the message
REJECTED = [
    ("syn-badrecord", ARCHIVE + ("hash-mismatch",), ""),
    ("syn-norecord", ARCHIVE, "RECORD"),
    ("syn-unlisted", ARCHIVE, "RECORD"),
    ("syn-mismatch", ARCHIVE, ""),
    ("syn-mismatch-version", ARCHIVE, ""),
    ("syn-nometadata", ARCHIVE, ""),
    ("syn-notazip", ARCHIVE, ""),
    ("syn-traversal", ARCHIVE, ""),
    ("syn-symlink", ARCHIVE, ""),
    ("syn-duplicate", ARCHIVE, ""),
    ("syn-bomb-lie", ARCHIVE + ("too-large",), ""),
    ("syn-bomb", ARCHIVE + ("too-large", "disk-full"), ""),
    ("syn-ep-evil", ARCHIVE + ("path-conflict",), ""),
    ("syn-data-python", ARCHIVE + ("path-conflict",), ""),
    ("syn-badhash", ("hash-mismatch",), ""),
    pytest.param("syn-metalie", ARCHIVE + ("hash-mismatch", "verify-failed"), "", marks=pytest.mark.xfail(
        reason="the METADATA in the wheel is not compared with the index's .metadata", strict=True)),
    ("syn-metabad", ARCHIVE + ("hash-mismatch", "resolution-failed", "index-error"), ""),
    ("syn-gone", ("index-error",), "404"),
    ("syn-fileurl", INDEX_FAULT + ("egress-denied", "invalid-request"), ""),
    ("syn-htmlname", INDEX_FAULT + ("invalid-request",) + ARCHIVE, ""),
]


def outside(pkg):
    """Everything of the home but what jobs keep of themselves; a traversal would show here or in the root."""
    found = set()
    for place in ("data/envs", "data/generations", "config"):
        found |= {str(p) for p in (pkg.home / place).rglob("*")}
    found |= {str(p) for p in (pkg.root / "user").rglob("*")}
    found |= {str(p) for p in pkg.root.iterdir()} | {str(p) for p in pkg.home.iterdir()}
    return found | {f"/{n}" for n in os.listdir("/")} | {f"/tmp/{n}" for n in os.listdir("/tmp") if "syn" in n}


@pytest.fixture(scope="module")
def made(module_pkg):
    module_pkg.install("syn-lib==1.0", "syn-color", e="victim")


@pytest.fixture
def victim(made, house):
    """An environment that nothing may change."""
    return house.snapshot("victim")


@pytest.mark.parametrize("package, kinds, words", REJECTED, ids=lambda v: v if str(v).startswith("syn-") else "")
def test_is_refused_and_nothing_is_written(house, victim, package, kinds, words):
    before = outside(house)
    result = house.install(package, e="victim", code=(1, 2))
    assert result["kind"] in kinds, result
    assert package.replace("-", "_") in result["message"].replace("-", "_") or words, result
    assert words in result["message"], result
    assert house.snapshot("victim") == victim
    house.assert_clean()
    assert outside(house) == before


@pytest.mark.parametrize("package", ["syn-setuid", "syn-casefold", "syn-import-evil", "syn-nohash", "syn-notime"])
def test_is_installed_without_what_is_wrong_with_it_or_refused(house, env, package):
    result = house.install(package, e=env, code=(0, 1))
    if result["status"] != "done":
        assert result["message"] and result["kind"] != "internal-error"
        assert house.snapshot(env) is None
        return
    for path in house.prefix(env).resolve().rglob("*"):
        mode = path.lstat().st_mode
        assert not mode & 0o6000, f"{path} is set-id"
        assert path.is_symlink() or not mode & 0o002, f"{path} may be written by everybody"


def test_a_wheel_that_lies_over_others_is_not_laid_over_them(house, env):
    house.install("syn-color", e=env)
    before = house.snapshot(env)
    result = house.install("syn-clobber", e=env, code=(0, 1))
    if result["status"] == "done":
        # Over inherited ones it shadows, which is told; a startup file too.
        assert result["additive"] is False
        assert {"shadows-inherited", "startup-file"} & {r["reason"] for r in result["reasons"]}
    else:
        assert house.snapshot(env) == before
    assert house.install("syn-lib", e=env)["status"] == "done"


def test_an_sdist_that_climbs_out_is_refused(house, victim):
    before = outside(house)
    result = house.install("syn-sdist-traversal", e="victim", source=True, code=1)
    assert result["kind"] in ("corrupt-archive", "build-failed", "resolution-failed"), result
    result = house.install("syn-sdist-mismatch", e="victim", source=True, code=1)
    assert result["kind"] in ("corrupt-archive", "build-failed", "verify-failed", "resolution-failed"), result
    assert house.snapshot("victim") == victim and outside(house) == before


def test_an_sdist_that_unpacks_to_a_gibibyte_is_stopped(house, victim):
    house.adjust(sandbox__limits__build__disk_bytes=100 << 20, sandbox__limits__plan__disk_bytes=100 << 20,
                 sandbox__limits__plan__file_bytes=100 << 20, sandbox__limits__build__file_bytes=100 << 20)
    result = house.install("syn-sdist-bomb", e="victim", source=True, code=(0, 1))
    assert result["status"] == "failed", result
    assert house.snapshot("victim") == victim
    house.assert_clean()


# --- code that looks around ---


class Bait:
    """Something to reach for on each way out."""

    def __init__(self, base):
        self.base = base
        self.touched = []
        (base / "secret").write_text("secret")
        (base / "writable").mkdir()
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.unix = socket.socket(socket.AF_UNIX)
        self.unix.bind(str(base / "sock"))
        self.unix.listen()
        for listener, name in ((self.tcp, "tcp"), (self.unix, "unix")):
            threading.Thread(target=self.accept, args=(listener, name), daemon=True).start()

    def accept(self, listener, name):
        while True:
            try:
                listener.accept()[0].close()
            except OSError:
                return
            self.touched.append(name)

    def options(self):
        return ["--probe-tcp", f"127.0.0.1:{self.tcp.getsockname()[1]}", "--probe-unix", self.base / "sock",
                "--probe-file", self.base / "secret", "--probe-write", self.base / "writable",
                "--probe-env", "PKGD_TEST_SECRET"]

    def close(self):
        self.tcp.close()
        self.unix.close()


@pytest.fixture(scope="module")
def bait(tmp_path_factory):
    one = Bait(tmp_path_factory.mktemp("bait"))
    yield one
    one.close()


@pytest.fixture(scope="module")
def evil(bait, tmp_path_factory, mirror_tree):
    """A server of evil packages that know what to try here; setuptools and wheel for their builds come with it."""
    tree = tmp_path_factory.mktemp("evil") / "tree"
    subprocess.run([MIRROR / "synth", *map(str, bait.options()), tree], check=True, capture_output=True)
    with MirrorServer(tree) as server:
        yield server


def probes(text):
    return [json.loads(line.partition("SYN-PROBE")[2]) for line in text.splitlines() if "SYN-PROBE" in line]


REACHED = ("LISTED", "OPENED", "CONNECTED", "WRITABLE", "WROTE", "SET")


def reached(probe):
    """What a probe could reach."""
    return {k: v for k, v in probe.items()
            if isinstance(v, str) and v.startswith(REACHED)}


def test_build_code_reaches_nothing(make_pkg, evil, bait, mirror):
    """T42, T110, T114, T118, D2, D4, D6: no home, no sockets, no host network, no environment, nothing to write to."""
    pkg = make_pkg()
    pkg.configure({"python": {"interpreters": [PYTHON], "index_url": evil.simple,
                              "extra_index_urls": [mirror.simple]}})
    (pkg.root / "user" / ".ssh").mkdir()
    (pkg.root / "user" / ".ssh" / "id_rsa").write_text("secret")
    pkg.start(PKGD_TEST_SECRET="hunter2", MY_API_KEY="hunter2")
    result = pkg.install("syn-evil-sdist", source=True, code=(0, 1))
    log = pkg.run("jobs", "show", result["job"], "--log").stdout
    found = probes(log)
    if result["status"] == "done":
        text = pkg.python("import json, syn_evil_sdist.result as r; print(json.dumps(r.RESULT, default=str))")
        found.append(json.loads(text))
    assert found, log
    assert "hunter2" not in log and "hunter2" not in json.dumps(found)
    for probe in found:
        seen = set(reached(probe))
        # Its home is the sandbox's own, and its own first process is not the machine's.
        seen -= {k for k in seen if k == "writable:/tmp/home" or k == "read:/proc/1/environ"}
        assert not seen, {k: probe[k] for k in seen}
        assert probe["net:interfaces"] == ["lo"] and probe["proc:count"] < 40
        assert probe["env:suspicious"] == [] and int(probe["caps"], 16) == 0
        assert probe["nonewprivs"] == "1" and probe["seccomp"] == "2"
    assert bait.touched == []
    assert list((bait.base / "writable").iterdir()) == []
    # The control: the same baits can be reached from here.
    socket.create_connection(bait.tcp.getsockname()).close()
    assert (bait.base / "secret").read_text() == "secret"


def test_listing_and_installing_beside_a_startup_file_runs_none_of_it_outside(make_pkg, mirror):
    """T22, T42, O54: .pth and sitecustomize run at every start of the interpreter, so only in the sandbox."""
    pkg = make_pkg()
    pkg.configure({"python": {"interpreters": [PYTHON], "index_url": mirror.simple}})
    pkg.start()
    pkg.install("syn-color")
    mark = pkg.root / "ran-outside"
    code = f"import os, pathlib; pathlib.Path({str(mark)!r}).write_text(str(os.getpid()))"
    (pkg.site_packages() / "evil.pth").write_text(code + "\n")
    (pkg.site_packages() / "sitecustomize.py").write_text(code + "\n")
    assert pkg.python("print('control')") == "control" and mark.exists()
    mark.unlink()
    pkg.json("list")
    pkg.json("env", "show")
    pkg.run("doctor", code=None)
    pkg.json("plan", "syn-lib")
    assert pkg.install("syn-lib")["status"] == "done"
    pkg.install("syn-lib", action="remove")
    pkg.json("reconcile")
    assert not mark.exists()


def test_a_package_with_a_startup_file_does_not_run_it_outside(house, env):
    result = house.install("syn-pth", e=env)
    assert result["status"] == "done"
    house.json("list", "-e", env)
    assert not [n for n in os.listdir("/tmp") if "syn_pth" in n or "syn-pth" in n]


def test_nothing_of_a_package_is_executed_to_plan_or_install_a_wheel(make_pkg, evil, bait):
    """Harmless to install; its probes run on import only."""
    pkg = make_pkg()
    pkg.configure({"python": {"interpreters": [PYTHON], "index_url": evil.simple}})
    pkg.start()
    before = list(bait.touched)
    result = pkg.install("syn-import-evil")
    assert result["status"] == "done"
    assert "SYN-PROBE" not in pkg.run("jobs", "show", result["job"], "--log").stdout
    assert bait.touched == before


# --- text ---

CONTROLS = [chr(n) for n in range(32) if n != 10] + ["\x7f", "\x9b", "\x85", "\u202e", "\u2066"]


def plain(text):
    return not [c for c in CONTROLS if c in text.replace("\t", "")]


def test_what_a_builder_prints_reaches_no_terminal_as_it_is(house, env):
    """Escape sequences, NUL, a bare CR, bytes that are not UTF-8."""
    done = house.run("install", "-e", env, "syn-sdist-ansi", "--source", "--yes", "-v", code=(0, 1))
    assert plain(done.stdout) and plain(done.stderr)
    job = house.rows("SELECT max(id) FROM job")[0][0]
    assert plain(house.run("jobs", "show", job, "--log").stdout)
    for _, row in house.events(job):
        assert plain(row.get("text") or "")


def test_labels_reasons_and_names_are_cleaned_and_cut(house, env):
    """A card shows what an agent says of itself; it may not draw over the card."""
    job = house.submit("install", "syn-color", environment=env, label="\x1b[2J" + "l" * 5000,
                       reason="\x1b]0;title\x07approve\r" + "r" * 100000)
    house.wait_state(job, "pending")
    card = house.api("GET", f"/v1/cards/{house.get_job(job)['card']}")
    assert plain(card["text"]) and len(card["text"]) < 5000
    assert len(card["requester"]["label"]) <= 64 and len(card["requester"]["reason"]) <= 500
    shown = house.run("cards", "show", card["id"]).stdout
    assert plain(shown)
    house.answer(job, "deny", message="\x1b[31mno\x1b[0m")
    result = house.wait_state(job)["result"]
    assert plain(result["message"]) and "no" in result["message"]


@pytest.mark.parametrize("name", ["a" * 100000, "a" * 2000 + "==1.0", "rеquests", "a\x1b[31m", "a\u202eb"], ids=len)
def test_a_monstrous_name_is_refused_in_few_words(house, name):
    status, envelope = house.request("POST", "/v1/jobs", {"action": "install", "requirements": [name]})
    if status == 202:
        result = house.wait_state(envelope["job"])["result"]
        assert result["status"] == "failed"
        envelope = {"result": result}
    else:
        assert status in (400, 413)
    assert len(envelope["result"]["message"]) < 3000 and plain(envelope["result"]["message"])


def test_a_request_too_large_is_refused(house):
    status, _ = house.request("POST", "/v1/jobs", b'{"action":"install","requirements":["' + b"a" * (32 << 20) + b'"]}')
    assert status in (400, 413)
    assert house.api("GET", "/v1/system")["version"]


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"null", b"\xff\xfe", b'{"action":"install"}',
                                  b'{"action":"install","requirements":"x"}', b'{"action":5}',
                                  b'{"action":"install","requirements":[5]}', b"[" * 100000], ids=lambda b: repr(b[:20]))
def test_a_request_that_is_no_request(house, body):
    status, envelope = house.request("POST", "/v1/jobs", body)
    assert (status, envelope["type"]) == (400, "error") and envelope["result"]["message"]
