"""Whatever goes wrong: its own kind, a sentence that says what was measured, a cure where there is one, and nothing
changed. T40, T41, T43, T44: rows of the list of behaviours that the product keeps."""
import contextlib
import json
import os
import pathlib
import signal
import subprocess

import pytest

from conftest import ENDED, PYTHON, descendants, end_all, new_pkg, still_alive


class Case:
    """An environment with something in it, and the promise that a failed install leaves it as it was."""

    def __init__(self, pkg, name):
        self.pkg, self.name = pkg, name
        pkg.install("syn-lib==1.0", e=name)
        self.before = pkg.snapshot(name)
        self.others = {p.name for p in pkg.prefix(name).parent.iterdir()}

    def fails(self, *packages, kind, code=1, status="failed", **options):
        result = self.pkg.install(*packages, e=self.name, code=code, **options)
        kinds = kind if isinstance(kind, tuple) else (kind,)
        assert (result["status"], result["kind"] in kinds) == (status, True), json.dumps(result)
        assert result["message"] and result["changes"] == [] and result["additive"] in (True, None), result
        assert (result["generation"], result["revision"]) == (self.before["generation"], self.before["revision"])
        self.unchanged()
        return result

    def unchanged(self):
        """T41: the same before and after, nothing left. T40: the environment can be used."""
        assert self.pkg.snapshot(self.name) == self.before
        self.pkg.assert_clean(f"after a failure in {self.name}")
        assert {p.name for p in self.pkg.prefix(self.name).parent.iterdir()} == self.others

    def works(self):
        """T40: an install afterwards works."""
        assert self.pkg.install("syn-color", e=self.name)["status"] == "done"
        assert self.pkg.python("import syn_color, syn_lib; print('yes')", self.name) == "yes"


@pytest.fixture
def case(house, env):
    one = Case(house, env)
    yield one
    house.configure(house.standard)
    one.works()


# --- the five causes that pip tells in one and the same sentence ---


def test_no_such_package(case):
    result = case.fails("syn-nowhere", kind="no-such-package")
    assert "syn-nowhere" in result["message"] and result["cure"]


def test_no_wheel(case):
    """T38, O62."""
    result = case.fails("syn-sdist-only", kind="no-wheel")
    assert "syn-sdist-only" in result["message"] and "--source" in result["cure"]


def test_no_wheel_for_this_platform(case):
    """There is no source either: --source would be no cure."""
    result = case.fails("syn-othertags", kind="no-wheel")
    assert "syn-othertags" in result["message"] and "--source" not in (result["cure"] or "")


def test_no_such_version(case):
    result = case.fails("syn-base==99", kind="no-such-version")
    assert "syn-base" in result["message"] and "99" in result["message"]
    # What there is.
    assert "3.0" in (result["message"] + (result["cure"] or ""))


def test_denied_by_egress(case):
    """A file on another host than the index: the host and where to allow it."""
    result = case.fails("syn-offhost", kind="egress-denied")
    assert "127.0.0.1" in result["message"] and "network.hosts" in result["cure"]


def test_index_denied_by_egress(case):
    case.pkg.adjust(network__mode="deny")
    result = case.fails("syn-base", kind="egress-denied")
    assert "network.mode" in result["message"] + (result["cure"] or "")


def test_index_unreachable(case):
    result = case.fails("syn-base", kind="index-unreachable", index="http://127.0.0.1:1/simple/")
    assert "127.0.0.1:1" in result["message"]


def test_the_five_have_five_kinds_and_five_sentences(house, env):
    """What pip says of them is one sentence; what we say is not."""
    said = {}
    for words, options in ((["syn-nowhere"], {}), (["syn-sdist-only"], {}), (["syn-base==99"], {}),
                           (["syn-offhost"], {}), (["syn-base"], {"index": "http://127.0.0.1:1/simple/"})):
        result = house.install(*words, e=env, code=1, **options)
        said[result["kind"]] = (result["message"], result["cure"])
    assert set(said) == {"no-such-package", "no-wheel", "no-such-version", "egress-denied", "index-unreachable"}
    assert len({message for message, _ in said.values()}) == 5
    assert len({cure for _, cure in said.values()}) == 5


# --- what the resolver finds ---


def test_conflicting_requirements(case):
    result = case.fails("syn-needs1", "syn-needs2", kind="conflicting-requirements")
    assert "syn-base" in result["message"]
    case.fails("syn-conflict", kind="conflicting-requirements")


def test_a_dependency_that_is_nowhere(case):
    result = case.fails("syn-missing-dep", kind="no-such-package")
    assert "syn-missing-dep" in result["message"]


def test_requires_python(case):
    result = case.fails("syn-pyfuture", kind="requires-python")
    assert "3.99" in result["message"]


def test_every_version_yanked(case):
    case.fails("syn-yanked-all", kind=("no-such-version", "no-wheel"))


def test_a_build_backend_that_is_nowhere(case):
    case.fails("syn-sdist-nobackend", source=True, kind=("no-such-package", "build-failed"))


# --- the network and the index ---


def test_a_missing_file_is_the_index_to_blame(case):
    result = case.fails("syn-gone", kind="index-error")
    assert "404" in result["message"] and "syn_gone" in result["message"]


def test_a_server_error_that_lasts(case, serve):
    mirror = serve(status="*/syn-color/*=503", retry_after="none")
    case.pkg.adjust(fetch__retries=1)
    result = case.fails("syn-color", index=mirror.simple, kind="index-error")
    assert "503" in result["message"]


def test_a_server_error_that_passes_is_no_failure(house, env, serve):
    mirror = serve(status="*.whl=503@2", retry_after="0")
    assert house.install("syn-many-08", e=env, index=mirror.simple)["status"] == "done"
    assert len([r for r in mirror.requests("*.whl") if r["status"] == 503]) == 2


def test_a_page_that_needs_a_password(case, serve):
    mirror = serve(auth="*=user:secret")
    result = case.fails("syn-color", index=mirror.simple, kind="index-authentication")
    assert "401" in result["message"] or "password" in (result["message"] + (result["cure"] or ""))


def test_an_unknown_certificate(case, serve):
    mirror = serve(https=True)
    result = case.fails("syn-color", index=mirror.simple, kind="tls-failed")
    assert "ca_bundle" in result["cure"]
    # The cure cures.
    case.pkg.adjust(network__ca_bundle=mirror.ca)
    assert case.pkg.json("plan", "-e", case.name, "syn-color", "--index-url", mirror.simple)["changes"]
    assert case.pkg.install("syn-base", e=case.name, index=mirror.simple)["status"] == "done"


def test_a_connection_that_hangs(case, serve):
    mirror = serve(hang="*/simple/*")
    case.pkg.adjust(sandbox__limits__plan__wall_seconds=2, python__engine="pip")
    result = case.fails("syn-color", index=mirror.simple, kind=("timed-out", "index-unreachable"))
    assert "2" in result["message"]


# --- the bytes ---


def test_a_wrong_hash_in_the_index(case):
    result = case.fails("syn-badhash", kind="hash-mismatch")
    assert "syn_badhash" in result["message"]


def test_a_wheel_that_arrives_broken(case, serve):
    """The hash is checked while the bytes come in; nothing of them stays in the cache."""
    mirror = serve(corrupt="*syn_many_07*.whl")
    case.pkg.adjust(fetch__retries=1)
    result = case.fails("syn-many-07", index=mirror.simple, kind=("hash-mismatch", "corrupt-archive"))
    assert "syn_many_07" in result["message"]
    # The next one, from a server that works, is not fooled by leftovers.
    assert case.pkg.install("syn-many-07", e=case.name + "-2")["status"] == "done"


def test_a_wheel_that_is_cut_short(case, serve):
    """Without ranges there is no way to get the rest."""
    mirror = serve(truncate="*syn_many_06*.whl", no_ranges=True)
    case.pkg.adjust(fetch__retries=1)
    result = case.fails("syn-many-06", index=mirror.simple,
                        kind=("hash-mismatch", "index-unreachable", "index-error", "corrupt-archive"))
    assert "syn_many_06" in result["message"]
    assert case.pkg.install("syn-many-06", e=case.name + "-2")["status"] == "done"


def test_a_file_larger_than_allowed(case):
    case.pkg.adjust(fetch__max_bytes=1000000)
    result = case.fails("syn-big", kind="too-large")
    assert "syn_big" in result["message"]


def test_a_size_in_the_index_that_is_wrong_is_not_what_the_card_says(house, env):
    """The hash is right, so the file is the one that was meant; its size is measured."""
    result = house.install("syn-badsize", e=env, code=(0, 1))
    if result["status"] == "done":
        assert house.get_job(result["job"])["plan"]["changes"][0]["size"] != 12345
    else:
        assert result["kind"] in ("hash-mismatch", "corrupt-archive", "index-error", "too-large")


# --- builds ---


def test_a_missing_header_is_named_in_the_last_line(case):
    """T43, O63."""
    result = case.fails("syn-sdist-needs-header", source=True, kind="missing-header")
    assert "foo/bar.h" in result["message"] + result["cure"]
    done = case.pkg.run("install", "-e", case.name, "syn-sdist-needs-header", "--source", "--yes", code=1)
    assert "foo/bar.h" in done.stderr.strip().splitlines()[-1]
    assert "syn-sdist-needs-header" in done.stderr
    # The whole log is kept.
    assert "foo/bar.h" in case.pkg.run("jobs", "show", result["job"], "--log").stdout


def test_a_build_that_fails_shows_its_own_words(case):
    """T44: no diagnosis is invented."""
    result = case.fails("syn-sdist-fail", source=True, kind="build-failed")
    assert "syn-sdist-fail" in result["message"].replace("_", "-")
    assert "on purpose" in case.pkg.run("jobs", "show", result["job"], "--log").stdout


def test_c_code_that_does_not_compile_for_want_of_a_header(case):
    result = case.fails("syn-sdist-cfail", source=True, kind="missing-header")
    assert "syn_no_such_header.h" in result["message"] + result["cure"]


def test_a_build_that_takes_too_long(case):
    case.pkg.adjust(sandbox__limits__build__wall_seconds=2, sandbox__limits__plan__wall_seconds=4)
    result = case.fails("syn-sdist-hang", source=True, kind="timed-out")
    assert "wall_seconds" in (result["cure"] or "") or "2" in result["message"] or "4" in result["message"]


def test_a_build_that_burns_its_processor_time(case):
    case.pkg.adjust(sandbox__limits__build__cpu_seconds=4, sandbox__limits__plan__cpu_seconds=4)
    case.fails("syn-sdist-spin", source=True, kind=("timed-out", "killed", "build-failed"))


def test_a_build_that_takes_too_much_memory(case):
    case.pkg.adjust(sandbox__limits__build__memory_bytes=256 << 20, sandbox__limits__plan__memory_bytes=400 << 20)
    case.fails("syn-sdist-memory", source=True, kind=("out-of-memory", "build-failed", "killed"))


def test_a_build_that_fills_the_disk(case):
    case.pkg.adjust(sandbox__limits__build__disk_bytes=64 << 20, sandbox__limits__build__file_bytes=32 << 20,
                    sandbox__limits__plan__disk_bytes=64 << 20, sandbox__limits__plan__file_bytes=32 << 20)
    case.fails("syn-sdist-disk", source=True, kind=("disk-full", "too-large", "build-failed", "killed"))


def test_a_build_that_forks_without_end(case):
    """It fails or it does not; the machine does not mind either way, and nothing of it is left."""
    case.pkg.adjust(sandbox__limits__build__wall_seconds=5, sandbox__limits__plan__wall_seconds=8)
    job = case.pkg.submit("install", "syn-sdist-forks", environment=case.name + "-2", source=True)
    if case.pkg.wait_state(job, "pending", *ENDED)["state"] == "pending":
        case.pkg.answer(job)
    assert case.pkg.wait_state(job)["state"] in ("done", "failed")
    case.unchanged()


def test_a_build_that_signals_its_parent(case):
    result = case.pkg.install("syn-sdist-kill", e=case.name + "-2", source=True, code=(0, 1))
    assert result["status"] in ("done", "failed")
    case.unchanged()


def test_a_build_that_prints_without_end(case):
    """The kept log has an end, and so has the list of events."""
    case.pkg.adjust(sandbox__limits__build__wall_seconds=5, sandbox__limits__plan__wall_seconds=8)
    result = case.pkg.install("syn-sdist-spam", e=case.name + "-2", source=True, code=(0, 1))
    folder = case.pkg.home / "state" / "jobs" / str(result["job"])
    assert sum(p.stat().st_size for p in folder.iterdir()) < 100 << 20
    case.unchanged()


# --- the machine ---


def command(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def pause_at(pkg, name, *packages, source=True):
    """A job whose build hangs: (job, the processes below its worker)."""
    job = pkg.submit("install", *packages, environment=name, source=source)
    pkg.wait_state(job, "planning", "building", "pending")

    def sleeping():
        if pkg.get_job(job)["state"] == "pending":
            pkg.answer(job)
        below = descendants(*pkg.workers())
        return any(b"in_process" in command(pid) or b"setup.py" in command(pid) for pid, _ in below) and below

    return job, pkg.wait_until(sleeping, "the build to run")


def test_a_sandbox_that_is_killed_from_outside(case):
    job, below = pause_at(case.pkg, case.name, "syn-sdist-hang")
    for pid, _ in below:
        if b"bwrap" in command(pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    row = case.pkg.wait_state(job)
    assert (row["state"], row["result"]["kind"]) == ("failed", "killed"), json.dumps(row["result"])
    case.unchanged()
    assert not still_alive(below)


POINTS = ["plan", "fetch", "apply-dist", "verify", "commit-before", "commit-step:1"]


@pytest.mark.parametrize("point", POINTS)
def test_a_disk_that_is_full_at(case, point):
    """ENOSPC at each place that writes."""
    case.pkg.restart(PKGD_FAULT=point, PKGD_FAULT_ACTION="enospc")
    try:
        result = case.fails("syn-color", kind=("disk-full", "io-error"))
        if point != "plan":
            assert result["kind"] == "disk-full" and "space" in result["message"] + result["cure"]
    finally:
        case.pkg.restart()


def test_a_disk_that_is_full_after_the_decision(house, env):
    """The change is made, only its rows are missing: whoever comes next writes them, and it is never undone."""
    house.install("syn-lib==1.0", e=env)
    house.restart(PKGD_FAULT="commit-rows:1", PKGD_FAULT_ACTION="enospc")
    try:
        job = house.submit("install", "syn-color", environment=env)
        house.answer(job)
        house.wait_until(lambda: house.rows("SELECT job FROM journal") and not house.workers(), "the journal to stay")
    finally:
        house.restart()
    assert house.wait_state(job)["state"] == "done"
    assert house.packages(env) == {"syn-lib": "1.0", "syn-color": "1.0"}
    house.assert_clean()


@contextlib.contextmanager
def mounted(place, *options):
    place.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(["mount", *options, str(place)], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"cannot mount: {done.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_small_disk(mirror, tmp_path):
    """The real thing: nothing half-written, and what fits still goes in."""
    with mounted(tmp_path / "disk", "-t", "tmpfs", "-o", "size=60m", "tmpfs"):
        pkg = new_pkg(tmp_path / "disk")
        try:
            pkg.configure({"python": {"interpreters": [PYTHON], "index_url": mirror.simple}})
            pkg.start()
            pkg.install("syn-lib==1.0")
            before = pkg.snapshot()
            result = pkg.install("syn-huge", code=1)
            assert result["kind"] == "disk-full", result
            assert pkg.snapshot() == before
            pkg.assert_clean()
            assert pkg.install("syn-color")["status"] == "done"
            assert pkg.python("import syn_color, syn_lib; print('yes')") == "yes"
        finally:
            end_all([pkg])


def test_a_place_that_may_not_be_written(make_pkg, mirror, tmp_path):
    pkg = make_pkg()
    pkg.configure({"python": {"interpreters": [PYTHON], "index_url": mirror.simple}})
    pkg.start()
    pkg.install("syn-lib==1.0")
    before = pkg.snapshot()
    staging = pkg.home / "data" / "staging"
    with mounted(staging, "-t", "tmpfs", "-o", "ro", "tmpfs"):
        result = pkg.install("syn-color", code=1)
        assert (result["status"], result["kind"]) == ("failed", "permission-denied"), result
        assert "staging" in result["message"]
    assert pkg.snapshot() == before
    assert pkg.install("syn-color")["status"] == "done"


def test_a_configuration_with_a_fault_names_file_line_and_nearest_key(house, env):
    (house.home / "config" / "pkgd.json").write_text('{\n  "python": {\n    "interpreter": ["/usr/bin/python3"]\n  }\n}')
    try:
        done = house.run("config", "validate", code=2)
        assert "pkgd.json" in done.stderr and "3" in done.stderr and "interpreters" in done.stderr
        result = house.install("syn-color", e=env, code=2)
        assert result["kind"] == "invalid-configuration"
    finally:
        house.configure(house.standard)
    assert house.install("syn-color", e=env)["status"] == "done"
