"""Kills at every step of every kind of change: what is found afterwards is exactly what was there before, or exactly
what was asked for, and the job says which.

One home is prepared once, with a job whose plan is approved and that nobody has begun to apply. A case puts state and
data back from a copy (the cache stays: it is only added to), and lets the worker run into one fault point. T70, T74,
T75: rows of the list of behaviours that the product keeps."""
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import time

import pytest

from conftest import ENDED, PYTHON, ROOT, Failed, descendants, new_pkg, end_all, remove_tree, still_alive

SCENARIOS = ["first", "additive", "upgrade", "remove", "rollback", "delete"]
LIBEXEC = ROOT / "libexec" / "pkgd"
# Points of the run that applies, each hit until no more is reached. Those of the store come with every transaction: one
# of the two ways to crash is enough for each.
JOURNAL = ["commit-before", "commit-journalled", "commit-step", "commit-stepped", "commit-rows"]
WORK = ["fetch", "store-publish", "apply-dist", "verify"]
STORE = {"daemon lives": ["store-committed"], "daemon dies too": ["store-commit"]}
# A worker that takes its fault from a file, once; so the daemon's other workers go on.
WORKER = f"""#!/bin/sh
name=fault-job
case $1 in --reconcile) name=fault-reconcile ;; -*) name=none ;; esac
if mv "$PKGD_HOME/$name" "$PKGD_HOME/$name.$$" 2>/dev/null; then
    PKGD_FAULT=$(cat "$PKGD_HOME/$name.$$") "$0.real" "$@"
    echo $? >"$PKGD_HOME/ended.$$"
    mv "$PKGD_HOME/ended.$$" "$PKGD_HOME/$name.ended"
    exit 0
fi
exec "$0.real" "$@"
"""
IDLE = "#!/bin/sh\ncase $1 in -*) exec \"$0.real\" \"$@\" ;; esac\nexec sleep 1000\n"


class Stage:
    """The home, its copies, and a scenario's before and after."""

    def __init__(self, pkg):
        self.pkg = pkg
        self.copies = pkg.root / "copies"
        self.copies.mkdir()
        self.libexec = pkg.root / "libexec"
        shutil.copytree(LIBEXEC, self.libexec)
        os.rename(self.libexec / "pkg-worker", self.libexec / "pkg-worker.real")
        self.set_worker(WORKER)
        pkg.env["PKGD_LIBEXEC"] = str(self.libexec)
        self.ready = {}

    def set_worker(self, text):
        path = self.libexec / "pkg-worker"
        path.with_suffix(".new").write_text(text)
        path.with_suffix(".new").chmod(0o755)
        os.rename(path.with_suffix(".new"), path)

    # --- copies ---

    def save(self, name):
        assert self.pkg.daemon_process is None
        subprocess.run(["cp", "-a", self.pkg.home / "state", self.pkg.home / "data", self.copies / name], check=True)

    def restore(self, name):
        assert self.pkg.daemon_process is None
        self.pkg.wait_until(lambda: not self.pkg.busy(), "the daemon's last worker to end")
        for part in ("state", "data"):
            if (self.pkg.home / part).exists():
                remove_tree(self.pkg.home / part)
        for left in self.pkg.home.glob("fault-*"):
            left.unlink()
        subprocess.run(["cp", "-a", self.copies / name / "state", self.copies / name / "data", self.pkg.home],
                       check=True)

    def copy(self, name):
        (self.copies / name).mkdir()
        self.save(name)

    # --- preparation ---

    def prepare(self):
        """syn-lib 1.0, syn-color, then syn-lib 2.0: something to go back to and something to take away."""
        pkg = self.pkg
        pkg.start()
        # Hermetic: what the machine has may change while we run.
        pkg.install_by_api("syn-lib==1.0", "syn-color", hermetic=True)
        pkg.install_by_api("syn-base==1.0")
        pkg.install_by_api("syn-base==2.0")
        pkg.assert_clean()
        pkg.stop()
        self.copy("base")

    def request(self, scenario):
        return {
            "first": ("install", ["syn-app", "syn-py3"], {"environment": "fresh", "hermetic": True}),
            "additive": ("install", ["syn-many-00", "syn-py3"], {}),
            "upgrade": ("install", ["syn-lib==2.0", "syn-base==3.0"], {}),
            "remove": ("remove", ["syn-lib"], {}),
            "rollback": ("rollback", [], {"generation": 1}),
            "delete": ("delete", [], {}),
        }[scenario]

    def environment(self, scenario):
        return "fresh" if scenario == "first" else "python"

    def ready_for(self, scenario):
        """(job, snapshot before, snapshot after): the copy holds an approved job that no worker has begun."""
        if scenario in self.ready:
            return self.ready[scenario]
        pkg = self.pkg
        self.restore("base")
        before = pkg.snapshot(self.environment(scenario))
        pkg.start()
        action, requirements, fields = self.request(scenario)
        job = pkg.submit(action, *requirements, **fields)
        pkg.wait_state(job, "pending")
        pkg.wait_until(lambda: not pkg.busy(), "the plan's worker to end")
        self.set_worker(IDLE)
        pkg.answer(job)
        idle = pkg.wait_until(lambda: [p for p, line in pkg.processes().items() if "sleep 1000" in line],
                              "the worker that idles")
        pkg.stop(signal.SIGKILL)
        for pid in idle:
            os.kill(pid, signal.SIGKILL)
        self.set_worker(WORKER)
        pkg.wait_until(lambda: not pkg.busy(), "quiet")
        self.copy(scenario)
        # Without a fault.
        pkg.start()
        assert pkg.wait_state(job)["state"] == "done", pkg.get_job(job)
        pkg.assert_clean()
        pkg.stop()
        after = pkg.snapshot(self.environment(scenario))
        assert comparable(before) != comparable(after)
        self.ready[scenario] = job, before, after
        return self.ready[scenario]

    # --- one case ---

    def worker(self, *args, fault=None):
        """The real worker, without a daemon."""
        env = {**self.pkg.env, **({"PKGD_FAULT": fault} if fault else {})}
        return subprocess.Popen([self.libexec / "pkg-worker.real", *map(str, args)], env=env, start_new_session=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def crash(self, job, fault, daemon):
        """True when the worker was killed at the fault point."""
        if daemon:
            (self.pkg.home / "fault-job").write_text(fault)
            self.pkg.start()
            ended = self.pkg.home / "fault-job.ended"
            self.pkg.wait_until(ended.exists, f"the worker to end at {fault}")
            return ended.read_text().strip() == "137"
        return self.worker(job, fault=fault).wait(60) == -signal.SIGKILL

    def check(self, scenario, what):
        """Before or after, and everything that speaks of it agrees."""
        pkg = self.pkg
        job, before, after = self.ready_for(scenario)
        if pkg.daemon_process is None:
            pkg.start()
        try:
            row = pkg.wait_state(job)
        except Failed as error:
            raise Failed(f"{what}: {error}") from None
        pkg.assert_clean(what)
        now = comparable(pkg.snapshot(self.environment(scenario)))
        expected = comparable(after if row["state"] == "done" else before)
        assert now == expected, f"{what}: {row['state']}, but {difference(expected, now)}"
        assert row["state"] in ("done", "interrupted"), f"{what}: {row['state']} {row['result']}"
        assert row["result"]["status"] == row["state"], what
        if row["state"] == "interrupted":
            assert row["result"]["kind"] == "interrupted" and row["result"]["changes"] == [], what
        results = [r for _, r in pkg.events(job) if r["type"] == "result"]
        assert [r["status"] for r in results] == [row["state"]], f"{what}: {results}"
        rows = pkg.rows("SELECT result FROM history WHERE job = ?", job)
        if row["state"] == "done":
            assert rows == [("done",)], f"{what}: {rows}"
        else:
            assert rows in ([("interrupted",)], []), f"{what}: {rows}"
        # T74: what was reported once is not reported again.
        assert pkg.api("POST", "/v1/reconcile", control=True)["claims"] == [], what
        return row["state"]

    def use(self, scenario, what):
        """The next one works; at once when there is nothing to do."""
        pkg = self.pkg
        name = self.environment(scenario)
        if not pkg.snapshot(name):
            return
        have = pkg.rows("SELECT p.name FROM package p JOIN env e ON e.id = p.env AND e.generation = p.generation"
                        " WHERE p.owned AND e.name = ?", name)[0][0]
        job = pkg.submit("install", have, environment=name)
        assert pkg.wait_state(job)["state"] == "done", f"{what}: {pkg.get_job(job)['result']}"
        assert pkg.python(f"import {have.replace('-', '_')}; print('yes')", name) == "yes", what

    def use_in_full(self, scenario):
        result = self.pkg.install_by_api("syn-many-01", environment=self.environment(scenario))
        assert result["status"] == "done"
        self.pkg.assert_clean()


def comparable(snapshot):
    """Without what is not told apart by names, contents and rows."""
    if snapshot is None:
        return None
    return {k: v for k, v in snapshot.items() if k != "facts"}


def difference(expected, now):
    if expected is None or now is None:
        return f"expected {'something' if expected else 'nothing'}, found {'something' if now else 'nothing'}"
    out = {k: (expected[k], now[k]) for k in expected if k not in ("files", "packages") and expected[k] != now[k]}
    out["packages"] = set(expected["packages"]) ^ set(now["packages"])
    names = {n: (expected["files"].get(n), now["files"].get(n)) for n in {**expected["files"], **now["files"]}}
    out["files"] = {n: v for n, v in names.items() if v[0] != v[1]}
    return out


def install_by_api(pkg, *requirements, **fields):
    job = pkg.submit("install", *requirements, **fields)
    row = pkg.wait_state(job, "pending", *ENDED)
    if row["state"] == "pending":
        pkg.answer(job)
        row = pkg.wait_state(job)
    return row["result"]


@pytest.fixture(scope="module")
def stage(mirror):
    pkg = new_pkg()
    pkg.install_by_api = lambda *args, **fields: install_by_api(pkg, *args, **fields)
    pkg.configure({"python": {"interpreters": [PYTHON], "index_url": mirror.simple},
                   "retention": {"generations": 1}})
    one = Stage(pkg)
    one.prepare()
    yield one
    end_all([pkg])


@pytest.fixture
def home(stage):
    yield stage
    stage.pkg.stop(signal.SIGKILL)
    stage.pkg.wait_until(lambda: not stage.pkg.busy(), "workers to end")


@pytest.mark.parametrize("way", ["daemon lives", "daemon dies too"])
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_kill_at_every_point_leaves_before_or_after(home, scenario, way):
    job, _, _ = home.ready_for(scenario)
    seen = {}
    for point in WORK + JOURNAL + STORE[way]:
        for hit in range(1, 100):
            fault = f"{point}:{hit}"
            home.restore(scenario)
            fired = home.crash(job, fault, way == "daemon lives")
            end = home.check(scenario, f"{scenario}, {way}, {fault}")
            if not fired:
                assert end == "done", fault
                break
            home.use(scenario, fault)
            home.pkg.stop()
            seen[fault] = end
        home.pkg.stop()
    # The journal decides: before it is written nothing has happened, from then on everything will.
    assert seen["commit-before:1"] == "interrupted"
    assert seen["commit-journalled:1"] == seen["commit-stepped:1"] == seen["commit-rows:1"] == "done"
    assert all(end == "done" for fault, end in seen.items() if fault.startswith("commit-step:"))
    assert len([f for f in seen if f.startswith("commit-step:")]) >= (1 if scenario == "rollback" else 2)
    home.pkg.start()
    home.use_in_full(scenario)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_kill_in_the_middle_of_the_recovery_is_recovered_from(home, scenario):
    job, _, _ = home.ready_for(scenario)
    for first in ("commit-journalled", "commit-stepped"):
        for point in ("commit-step", "commit-stepped", "commit-rows", "store-commit", "store-committed"):
            for hit in range(1, 20):
                home.restore(scenario)
                assert home.crash(job, first, False)
                if home.worker("--reconcile", fault=f"{point}:{hit}").wait(60) == 0:
                    break
                # A third one dies as well, at the same place.
                home.worker("--reconcile", fault=f"{point}:{hit}").wait(60)
                what = f"{scenario}, {first}, then {point}:{hit} in the recovery"
                assert home.check(scenario, what) == "done", what
                home.pkg.stop()
    home.pkg.stop()
    home.restore(scenario)
    home.pkg.start()
    home.check(scenario, "the last")


@pytest.mark.parametrize("scenario", ["additive", "upgrade"])
def test_kills_at_any_moment(home, scenario):
    """T75. Not only where we thought of: ten rounds each, at moments of the clock."""
    job, _, _ = home.ready_for(scenario)
    home.restore(scenario)
    begin = time.monotonic()
    assert home.worker(job).wait(60) == 0
    length = time.monotonic() - begin
    rng = random.Random(f"pkgd {scenario}")
    ends = []
    for round_ in range(10):
        home.restore(scenario)
        worker = home.worker(job)
        try:
            worker.wait(rng.uniform(0, length * 1.1))
        except subprocess.TimeoutExpired:
            below = descendants(worker.pid)
            worker.kill()
            worker.wait()
            home.pkg.wait_until(lambda: not still_alive(below), "the worker's sandbox to end with it")
        ends.append(home.check(scenario, f"{scenario}, round {round_}"))
        home.use(scenario, f"round {round_}")
        home.pkg.stop()
    assert set(ends) <= {"done", "interrupted"}


@pytest.mark.parametrize("fault", ["plan", "store-commit:1", "store-commit:2", "store-commit:3", "store-committed:1",
                                   "store-committed:2", "store-committed:3", "store-committed:4", "store-commit:4"])
def test_a_kill_while_planning_changes_nothing_and_can_be_asked_again(home, fault):
    home.restore("base")
    pkg = home.pkg
    before = pkg.snapshot()
    (pkg.home / "fault-job").write_text(fault)
    pkg.start()
    job = pkg.submit("install", "syn-many-00")
    pkg.wait_until((pkg.home / "fault-job.ended").exists, "the worker to end")
    row = pkg.wait_state(job, "pending", *ENDED)
    assert row["state"] in ("interrupted", "pending"), row
    assert pkg.snapshot() == before
    if row["state"] == "pending":
        pkg.answer(job)
        assert pkg.wait_state(job)["state"] == "done"
    pkg.assert_clean()
    assert pkg.install_by_api("syn-many-00")["status"] == "done"


def test_a_kill_of_the_daemon_between_its_own_transactions_loses_no_request(home):
    """The daemon itself dies while it stores a request: the job is there and runs, or it is not there at all."""
    home.restore("base")
    pkg = home.pkg
    for hit in range(1, 30):
        point = "store-committed" if hit % 2 else "store-commit"
        pkg.start(PKGD_FAULT=f"{point}:{hit // 2 + 1}", PKGD_FAULT_ACTION="kill")
        known = {j for j, in pkg.rows("SELECT id FROM job")}
        try:
            pkg.submit("install", "syn-color")
        except (OSError, Failed, json.JSONDecodeError):
            pass
        except Exception as error:  # http.client's own kinds of a cut answer
            assert "Remote" in type(error).__name__ or "Incomplete" in type(error).__name__ or "Bad" in str(error)
        dead = pkg.daemon_process.poll() is not None
        pkg.stop(signal.SIGKILL)
        pkg.wait_until(lambda: not pkg.busy(), "workers to end")
        pkg.start()
        for job in {j for j, in pkg.rows("SELECT id FROM job")} - known:
            assert pkg.wait_state(job)["state"] in ("done", "interrupted")
        pkg.assert_clean()
        pkg.stop()
        if not dead and hit > 8:
            break


def test_reconcile_never_touches_a_worker_that_lives(home):
    """T21: the lock of the environment is held, so it is in the middle of its commit."""
    job, _, _ = home.ready_for("upgrade")
    home.restore("upgrade")
    env = {**home.pkg.env, "PKGD_FAULT": "commit-stepped", "PKGD_FAULT_ACTION": "stop"}
    worker = subprocess.Popen([home.libexec / "pkg-worker.real", str(job)], env=env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    stat = pathlib.Path(f"/proc/{worker.pid}/stat")
    home.pkg.wait_until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "T", "the worker to stop")
    for _ in range(2):
        out = subprocess.run([home.libexec / "pkg-worker.real", "--reconcile"], env=home.pkg.env, check=True,
                             capture_output=True, text=True).stdout
        assert [c["outcome"] for c in json.loads(out)["claims"]] in (["running"], [])
        assert home.pkg.rows("SELECT job FROM journal") == [(job,)]
    worker.send_signal(signal.SIGCONT)
    assert worker.wait(60) == 0
    assert home.check("upgrade", "after the stop") == "done"
