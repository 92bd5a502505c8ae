"""Many at once, and what the cache is for. T17, T37, O43 and D4: rows of the list of behaviours that the product
keeps."""
import collections
import contextlib
import json
import os
import signal

import pytest

from conftest import ENDED, PYTHON

MANY = [f"syn-many-{n:02}" for n in range(20)]


@pytest.fixture
def home(make_pkg, serve):
    """A home with a daemon, and a server whose requests nobody else makes."""
    pkg = make_pkg()
    pkg.mirror = serve()
    pkg.configure({"python": {"interpreters": [PYTHON], "index_url": pkg.mirror.simple}})
    pkg.start()
    return pkg


def finish(pkg, jobs):
    """Approve whatever asks, until all have ended."""
    open_jobs, answered = set(jobs), set()
    while open_jobs:
        def moved():
            return [j for j in open_jobs if (row := pkg.get_job(j))["state"] in ENDED or
                    (row["state"] == "pending" and row["card"] not in answered)]

        for job in pkg.wait_until(moved, lambda: f"one of {open_jobs} to go on", timeout=120):
            row = pkg.get_job(job)
            if row["state"] in ENDED:
                open_jobs.discard(job)
            elif row["card"] not in answered:
                answered.add(row["card"])
                pkg.answer(job)
    return {job: pkg.get_job(job) for job in jobs}


def downloads(mirror, pattern="*.whl"):
    """{path: how often it was sent}; a look at an archive's directory, by range, is none."""
    return collections.Counter(r["path"] for r in mirror.requests(pattern) if r.get("method", "GET") == "GET"
                               and r["status"] == 200)


def test_twenty_installs_into_twenty_environments(home):
    """All done, each with its own, each file fetched once."""
    jobs = {home.submit("install", name, "syn-lib", environment=f"e-{name}"): name for name in MANY}
    rows = finish(home, jobs)
    assert {row["state"] for row in rows.values()} == {"done"}, [r["result"] for r in rows.values()]
    for name in MANY:
        found = {key for key, in home.rows("SELECT p.key FROM package p JOIN env e ON e.id = p.env WHERE p.owned"
                                           " AND e.name = ?", f"e-{name}")}
        assert found == {name, "syn-lib"}
    assert home.python("import syn_many_19, syn_lib; print('yes')", "e-syn-many-19") == "yes"
    assert set(downloads(home.mirror).values()) == {1}, downloads(home.mirror)
    assert len(downloads(home.mirror)) == 21
    # Linked, not copied: one file for all.
    info = (home.site_packages("e-syn-many-00") / "syn_lib" / "__init__.py").stat()
    assert info.st_nlink >= 20
    home.assert_clean()


def test_twenty_installs_into_one_environment(home):
    """One after the other, whatever the order of the answers; none is lost."""
    jobs = {home.submit("install", name): name for name in MANY}
    rows = finish(home, jobs)
    assert {row["state"] for row in rows.values()} == {"done"}, [r["result"] for r in rows.values()]
    assert home.packages() == {name: "1.0" for name in MANY}
    ends = sorted((r["result"]["generation"], r["result"]["revision"]) for r in rows.values())
    assert ends == [(1, n) for n in range(20)]
    history = home.json("history")["history"]
    assert [r["result"] for r in history] == ["done"] * 20
    names = ", ".join(n.replace("-", "_") for n in MANY)
    assert home.python(f"import {names}; print('yes')") == "yes"
    home.assert_clean()


def test_jobs_of_one_environment_do_not_overlap(home):
    """T17: from the events' times, no two of them are at work at once."""
    jobs = [home.submit("install", name) for name in MANY[:6]]
    finish(home, jobs)
    spans = []
    for job in jobs:
        begin = None
        for _, row in home.events(job):
            at_work = row["type"] == "state" and row["state"] not in ("queued", "pending")
            if at_work and begin is None:
                begin = row["time"]
            elif begin and (row["type"] == "result" or (row["type"] == "state" and row["state"] == "pending")):
                spans.append((begin, row["time"]))
                begin = None
    spans.sort()
    assert len(spans) >= 12
    assert all(end <= later for (_, end), (later, _) in zip(spans, spans[1:])), spans


def test_a_slow_job_does_not_hold_up_another_environment(home):
    """T17: other environments stay free."""
    home.restart(PKGD_FAULT="verify", PKGD_FAULT_ACTION="stop")
    slow = home.submit("install", "syn-color", environment="slow")
    home.wait_state(slow, "pending")
    home.answer(slow)
    home.wait_state(slow, "verifying")
    made = home.submit("create", environment="quick")
    assert home.wait_state(made)["state"] == "done"
    assert home.get_job(slow)["state"] == "verifying"
    for pid in home.workers():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
    assert home.wait_state(slow)["state"] == "done"


def test_a_second_environment_downloads_nothing(home):
    """T37: and says 'cached'."""
    home.install("syn-app", "syn-big", e="one")
    assert sum(downloads(home.mirror).values()) == 3
    count = len(home.mirror.requests("*.whl"))
    result = home.install("syn-app", "syn-big", e="two")
    assert len(home.mirror.requests("*.whl")) == count
    rows = [r for _, r in home.events(result["job"]) if r["type"] == "progress" and r["done"]]
    assert len(rows) == 3 and all(r["cached"] for r in rows)
    # Also after everything that used it is gone.
    for name in ("one", "two"):
        home.json("env", "remove", name, "--yes")
    home.install("syn-app", "syn-big", e="three")
    assert len(home.mirror.requests("*.whl")) == count


def test_the_same_file_wanted_by_many_at_once_is_fetched_once(home):
    jobs = [home.submit("install", "syn-big", environment=f"e{n}") for n in range(4)]
    for job in jobs:
        home.wait_state(job, "pending", *ENDED)
    rows = finish(home, jobs)
    assert {row["state"] for row in rows.values()} == {"done"}
    assert sum(r["bytes"] for r in home.mirror.requests("*syn_big*.whl") if r["status"] in (200, 206)) < 22 << 20


def cached(pkg, sha256):
    return [p for p in (pkg.home / "cache").rglob(sha256) if p.is_file()]


@pytest.mark.parametrize("how", ["changed", "cut", "empty"])
def test_a_corrupt_file_in_the_cache_is_noticed_and_fetched_again(home, how):
    """A cached file is hashed again before use."""
    sha256 = home.json("plan", "syn-manyfiles")["changes"][0]["sha256"]
    home.install("syn-manyfiles", e="one")
    files = cached(home, sha256)
    assert len(files) == 1
    home.json("env", "remove", "one", "--yes")
    data = files[0].read_bytes()
    files[0].chmod(0o600)
    files[0].write_bytes({"changed": data[:5000] + b"X" + data[5001:], "cut": data[:-1], "empty": b""}[how])
    # What was unpacked from it is asked for anew too.
    home.json("cache", "info")
    result = home.install("syn-manyfiles", e="two", code=(0, 1))
    assert result["status"] == "done", json.dumps(result)
    assert home.python("import syn_manyfiles; print('yes')", "two") == "yes"
    assert cached(home, sha256)[0].read_bytes() == data


def test_an_interrupted_download_goes_on_where_it_stopped(make_pkg, serve):
    """Cancelled half-way; the next one asks for the rest with Range."""
    slow = serve(slow="*syn_big*.whl=40000")
    pkg = make_pkg()
    pkg.configure({"python": {"interpreters": [PYTHON], "index_url": slow.simple}})
    pkg.start()
    job = pkg.submit("install", "syn-big")
    pkg.wait_state(job, "pending", "fetching", *ENDED)
    if pkg.get_job(job)["state"] == "pending":
        pkg.answer(job)

    def half_way():
        rows = [r for _, r in read_events(pkg, job) if r["type"] == "progress" and not r["done"]]
        return rows and rows[-1]["bytes"] > 1 << 20

    if pkg.wait_until(lambda: pkg.get_job(job)["state"] in ENDED or half_way(), "some bytes") and \
            pkg.get_job(job)["state"] in ENDED:
        pytest.fail("the download was not slow")
    pkg.json("jobs", "cancel", job)
    assert pkg.wait_state(job)["state"] == "cancelled"
    result = pkg.install("syn-big")
    assert result["status"] == "done"
    ranges = [r for r in slow.requests("*syn_big*.whl") if r["status"] == 206 and r.get("range")]
    assert ranges, slow.requests("*syn_big*.whl")
    assert pkg.python("import syn_big; print('yes')") == "yes"


def read_events(pkg, job):
    text = (pkg.home / "state" / "jobs" / str(job) / "events.jsonl").read_text().splitlines()
    return [(n, json.loads(line)) for n, line in enumerate(text) if line.endswith("}")]


def test_a_dropped_connection_is_taken_up_again_in_the_same_job(make_pkg, serve):
    mirror = serve(drop="*syn_big*.whl@1")
    pkg = make_pkg()
    pkg.configure({"python": {"interpreters": [PYTHON], "index_url": mirror.simple}})
    pkg.start()
    result = pkg.install("syn-big")
    assert result["status"] == "done"
    requests = mirror.requests("*syn_big*.whl")
    assert len(requests) >= 2
    assert pkg.python("import syn_big; print('yes')") == "yes"


def test_a_server_without_ranges_is_asked_from_the_start(make_pkg, serve):
    mirror = serve(drop="*syn_big*.whl@1", no_ranges=True)
    pkg = make_pkg()
    pkg.configure({"python": {"interpreters": [PYTHON], "index_url": mirror.simple}})
    pkg.start()
    assert pkg.install("syn-big")["status"] == "done"
    assert not [r for r in mirror.requests("*syn_big*.whl") if r["status"] == 206]


def test_pruning_the_cache_keeps_what_environments_use(home):
    home.install("syn-app", e="one")
    home.install("syn-big", e="two")
    home.json("env", "remove", "two", "--yes")
    before = home.json("cache", "info")["bytes"]
    home.json("cache", "prune")
    assert before - home.json("cache", "info")["bytes"] > 15 << 20
    assert home.python("import syn_app; print('yes')", "one") == "yes"
    assert home.install("syn-color", e="one")["status"] == "done"
    assert home.install("syn-big", e="two")["status"] == "done"
