"""The daemon's life: who starts it, what outlives it, who may do what on which socket. Tnn: rows of the list of
behaviours that the product keeps."""
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
import time

import pytest

from conftest import ENDED, PYTHON, ROOT, descendants, proc_stat, still_alive


def configured(pkg, mirror, **more):
    pkg.configure({"python": {"interpreters": [PYTHON], "index_url": mirror.simple}, **more})
    return pkg


@pytest.fixture
def home(make_pkg, mirror):
    """A home whose daemon the test starts."""
    return configured(make_pkg(), mirror)


def worker_pid(pkg, job):
    return pkg.rows("SELECT pid FROM claim WHERE job = ? AND ended_ms = 0", job)[0][0]


def stopped_worker(pkg, job):
    """The pid of the job's worker once a fault point has stopped it."""
    def look():
        for pid in pkg.workers():
            if (found := proc_stat(pid)) and found[2] == "T":
                return pid
        return None

    return pkg.wait_until(look, f"the worker of job {job} to stop")


def approve_when_asked(pkg, job):
    if pkg.wait_state(job, "pending", *ENDED)["state"] == "pending":
        pkg.answer(job)


# --- starting ---


def test_twenty_first_commands_start_one_daemon(home):
    commands = [home.popen("env", "list", "--json") for _ in range(20)]
    for one in commands:
        out, err = one.communicate(timeout=60)
        assert one.returncode == 0, err
        assert json.loads(out) == {"environments": []}
    assert len(home.daemons()) == 1
    log = (home.home / "state" / "pkgd.log").read_text()
    assert log.count("serving") == 1


def test_three_daemons_at_once_on_one_home_are_one(make_pkg, mirror):
    """T78, A25: first open of the database included."""
    for _ in range(3):
        pkg = configured(make_pkg(), mirror)
        started = [subprocess.Popen([ROOT / "bin" / "pkgd"], env=pkg.env, stdin=subprocess.DEVNULL,
                                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                    start_new_session=True) for _ in range(3)]
        pkg.wait_until(lambda: pkg.is_serving() and sum(p.poll() is None for p in started) == 1, "one to be left")
        assert pkg.api("GET", "/v1/system")["pid"] == next(p.pid for p in started if p.poll() is None)
        for one in started:
            if one.poll() is not None:
                assert "database" not in one.stderr.read()
        assert pkg.json("env", "list")["environments"] == []
        for one in started:
            one.terminate()
            one.wait(20)
            one.stderr.close()


def test_many_processes_open_a_new_database_at_once(home):
    """T78: nobody is told 'database is locked'."""
    for round_ in range(3):
        commands = [subprocess.Popen([ROOT / "libexec" / "pkgd" / "pkg-worker", "--reconcile"], env=home.env,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)]
        for one in commands:
            out, err = one.communicate(timeout=60)
            assert one.returncode == 0 and json.loads(out)["claims"] == [], err
        shutil.rmtree(home.home / "state")


def test_a_dead_daemons_socket_is_no_obstacle(home):
    home.start()
    home.stop(signal.SIGKILL)
    assert home.socket().exists()
    assert home.json("env", "list")["environments"] == []


def test_two_homes_do_not_know_each_other(make_pkg, mirror):
    one, two = configured(make_pkg(), mirror), configured(make_pkg(), mirror)
    one.start()
    two.start()
    one.json("env", "create", "mine")
    assert two.json("env", "list")["environments"] == []
    assert one.api("GET", "/v1/system")["pid"] != two.api("GET", "/v1/system")["pid"]


def test_sockets_may_be_handed_over_by_an_init_system(home):
    """LISTEN_FDS with names, and READY=1 once both are served."""
    run = home.home / "run"
    run.mkdir(mode=0o700)
    ask, control, notify = (socket.socket(socket.AF_UNIX) for _ in range(3))
    notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    notify.bind(str(home.root / "notify"))
    notify.settimeout(20)
    for sock, name in ((ask, "pkgd.sock"), (control, "control.sock")):
        sock.bind(str(run / name))
        sock.listen()
    script = f'exec 3<&{ask.fileno()} 4<&{control.fileno()}; LISTEN_PID=$$ exec "$0"'
    env = {**home.env, "LISTEN_FDS": "2", "LISTEN_FDNAMES": "pkgd.sock:control.sock",
           "NOTIFY_SOCKET": str(home.root / "notify")}
    daemon = subprocess.Popen(["/bin/bash", "-c", script, str(ROOT / "bin" / "pkgd")], env=env,
                              pass_fds=[ask.fileno(), control.fileno()], start_new_session=True)
    try:
        assert b"READY=1" in notify.recv(1000)
        for sock in (ask, control):
            sock.close()
        assert home.api("GET", "/v1/system")["pid"] == daemon.pid
        assert home.request("POST", "/v1/reconcile", {})[0] == 403
        assert home.api("POST", "/v1/reconcile", {}, control=True)["claims"] == []
    finally:
        daemon.terminate()
        daemon.wait(20)
        notify.close()


# --- outliving ---


def test_a_worker_outlives_its_daemon_and_the_next_one_adopts_it(home):
    """T21, T70, T71: SIGKILL in mid-install; the same worker goes on, a watcher reattaches, who queues still runs."""
    home.start(PKGD_FAULT="verify", PKGD_FAULT_ACTION="stop")
    job = home.submit("install", "syn-app")
    approve_when_asked(home, job)
    pid = stopped_worker(home, job)
    behind = home.submit("install", "syn-color")
    assert home.wait_until(lambda: home.get_job(behind)["behind"], "the second to line up") == job
    watching = home.popen("jobs", "watch", job, "--json")
    home.stop(signal.SIGKILL)
    assert proc_stat(pid)
    home.start()
    assert home.get_job(job)["state"] == "verifying" and worker_pid(home, job) == pid
    home.wait_until(lambda: "adopted" in home.log(), "the adoption")
    claims = home.api("POST", "/v1/reconcile", {}, control=True)["claims"]
    assert [(c["job"], c["outcome"]) for c in claims] == [(job, "running")]
    os.kill(pid, signal.SIGCONT)
    out, err = watching.communicate(timeout=60)
    assert watching.returncode == 0, err
    lines = [json.loads(line) for line in out.splitlines()]
    assert [r["status"] for r in lines if r["type"] == "result"] == ["done"]
    states = [r["state"] for r in lines if r["type"] == "state"]
    assert len(states) == len(set(states)), "an event was told twice"
    home.answer(behind)
    assert home.wait_state(behind)["state"] == "done"
    assert home.packages() == {"syn-app": "1.0", "syn-lib": "2.0", "syn-color": "1.0"}
    home.assert_clean()


def test_a_polite_end_of_the_daemon_leaves_workers_alone_too(home):
    home.start(PKGD_FAULT="apply-dist", PKGD_FAULT_ACTION="stop")
    job = home.submit("install", "syn-color")
    approve_when_asked(home, job)
    pid = stopped_worker(home, job)
    home.stop()
    os.kill(pid, signal.SIGCONT)
    home.wait_until(lambda: not home.busy(), "the worker to end")
    home.start()
    assert home.get_job(job)["state"] == "done"
    assert [row["type"] for _, row in home.events(job)][-1] == "result"


def test_a_card_outlives_the_daemon(home):
    home.start()
    job = home.submit("install", "syn-color")
    home.wait_state(job, "pending")
    waiting = home.popen("jobs", "watch", job, "--json")
    home.restart(signal.SIGKILL)
    assert home.json("cards", "list")["cards"][0]["job"] == job
    home.answer(job)
    out, _ = waiting.communicate(timeout=60)
    assert json.loads(out.splitlines()[-1])["status"] == "done"


def test_both_killed_is_told_once_and_nobody_is_busy(home):
    """T18, T70, T74, T75: no flag survives; interrupted, never 'fine'."""
    home.start(PKGD_FAULT="verify", PKGD_FAULT_ACTION="stop")
    job = home.submit("install", "syn-color", environment="one")
    approve_when_asked(home, job)
    pid = stopped_worker(home, job)
    home.stop(signal.SIGKILL)
    os.kill(pid, signal.SIGKILL)
    home.start()
    row = home.wait_state(job)
    assert (row["state"], row["result"]["kind"]) == ("interrupted", "interrupted")
    assert "verifying" in row["result"]["message"] and row["result"]["cure"]
    assert home.json("reconcile")["claims"] == []
    assert home.snapshot("one") is None
    home.assert_clean()
    assert home.install("syn-color", e="one")["status"] == "done"
    assert home.json("env", "show", "one")["busy"] == 0
    results = [r for _, r in home.events(job) if r["type"] == "result"]
    assert len(results) == 1


def boot_id():
    with open("/proc/sys/kernel/random/boot_id") as f:
        return f.read().strip()


@pytest.mark.parametrize("holder, outcome", [
    ("lives", "running"), ("reused", "undone"), ("another boot", "undone"), ("gone", "undone"), ("zombie", "undone"),
])
def test_who_holds_a_claim_is_told_by_pid_start_and_boot(home, holder, outcome):
    """T71, T72, T73, T77."""
    home.start()
    job = home.submit("install", "syn-color")
    home.wait_state(job, "pending")
    home.wait_until(lambda: not home.busy(), "the worker to end")
    home.stop(signal.SIGKILL)
    child = subprocess.Popen(["sleep", "1000"])
    start, boot, pid = proc_stat(child.pid)[1], boot_id(), child.pid
    if holder == "reused":
        start += 1
    elif holder == "another boot":
        boot = "0" * 8 + boot[8:]
    elif holder == "gone":
        child.kill()
        child.wait()
    elif holder == "zombie":
        child.kill()
        home.wait_until(lambda: proc_stat(pid)[2] == "Z", "a zombie")
    home.execute("UPDATE card SET state = 'superseded' WHERE job = ?", job)
    home.execute("UPDATE job SET state = 'applying', card = 0 WHERE id = ?", job)
    home.execute("INSERT INTO claim (job, project, language, environment, pid, start, boot, phase, started_ms)"
                 " VALUES (?, 'default', 'python', 'python', ?, ?, ?, 'applying', 1)", job, pid, start, boot)
    out = subprocess.run([ROOT / "libexec" / "pkgd" / "pkg-worker", "--reconcile"], env=home.env, capture_output=True,
                         text=True, check=True).stdout
    assert [(c["job"], c["outcome"]) for c in json.loads(out)["claims"]] == [(job, outcome)]
    state = home.rows("SELECT state FROM job WHERE id = ?", job)[0][0]
    assert state == ("applying" if outcome == "running" else "interrupted")
    child.kill()
    child.wait()
    home.start()
    assert home.wait_state(job)["state"] == "interrupted"


# --- cancelling ---


@pytest.mark.parametrize("package", ["syn-sdist-hang", "syn-sdist-daemon", "syn-sdist-spin", "syn-sdist-forks"])
def test_cancel_ends_every_descendant(house, env, package):
    """T39, T40, T117: within 2 s (4 on a busy machine), detached ones too; the next install works."""
    job = house.submit("install", package, environment=env, source=True)

    def running():
        row = house.get_job(job)
        if row["state"] == "pending":
            house.answer(job)
        pids = [p for p, in house.rows("SELECT pid FROM claim WHERE job = ? AND ended_ms = 0", job)]
        below = descendants(*pids) if pids else set()
        commands = []
        for pid, _ in below:
            with contextlib.suppress(OSError):
                commands.append(open(f"/proc/{pid}/cmdline", "rb").read())
        built = any(b"setup.py" in c or b"in_process" in c or b"prepare_metadata" in c for c in commands)
        return (row["state"] in ENDED or built) and (row, pids, below)

    row, pids, below = house.wait_until(running, "the build to run")
    if row["state"] in ENDED:
        pytest.skip(f"it ended before it could be cancelled: {row['state']}")
    below |= {(pid, proc_stat(pid)[1]) for pid in pids if proc_stat(pid)}
    begin = time.monotonic()
    answer = house.json("jobs", "cancel", job)
    below |= descendants(*pids)
    assert answer["delivered"] is True
    house.wait_until(lambda: not still_alive(below), lambda: f"{still_alive(below)} to end")
    assert time.monotonic() - begin < 4
    row = house.wait_state(job)
    assert (row["state"], row["result"]["kind"]) == ("cancelled", "cancelled")
    assert house.snapshot(env) is None
    house.assert_clean()
    assert house.install("syn-color", e=env)["status"] == "done"


def test_a_stopped_worker_is_cancelled_as_well(home):
    """It cannot answer SIGTERM: after the grace it is killed, and reconcile says that it was cancelled."""
    home.start(PKGD_FAULT="verify", PKGD_FAULT_ACTION="stop")
    job = home.submit("install", "syn-color")
    approve_when_asked(home, job)
    stopped_worker(home, job)
    home.json("jobs", "cancel", job)
    row = home.wait_state(job)
    assert row["state"] == "cancelled", row["result"]
    assert home.snapshot() is None
    home.assert_clean()


def test_cancel_of_what_waits_or_has_ended(home):
    home.start(PKGD_FAULT="verify", PKGD_FAULT_ACTION="stop")
    first = home.submit("install", "syn-color")
    approve_when_asked(home, first)
    pid = stopped_worker(home, first)
    queued = home.submit("install", "syn-lib")
    assert home.json("jobs", "cancel", queued)["delivered"] is True
    assert home.get_job(queued)["state"] == "cancelled"
    os.kill(pid, signal.SIGCONT)
    assert home.wait_state(first)["state"] == "done"
    answer = home.json("jobs", "cancel", first, code=None)
    assert answer["delivered"] is False and "ended" in answer["reason"]
    home.restart()
    pending = home.submit("install", "syn-lib")
    home.wait_state(pending, "pending")
    home.json("jobs", "cancel", pending)
    row = home.wait_state(pending)
    assert (row["state"], row["result"]["kind"]) == ("cancelled", "cancelled")
    assert home.json("cards", "list")["cards"] == []
    home.assert_clean()
    assert home.json("jobs", "cancel", "12345", code=4)["kind"] == "not-found"


def test_leaving_a_watch_asks_nothing_of_the_job(house, env):
    job = house.submit("install", "syn-color", environment=env)
    watching = house.popen("jobs", "watch", job, "--json")
    house.wait_until(lambda: house.get_job(job)["state"] == "pending", "the card")
    watching.stdout.readline()
    watching.send_signal(signal.SIGINT)
    watching.communicate(timeout=20)
    assert house.get_job(job)["state"] == "pending"
    house.answer(job)
    assert house.wait_state(job)["state"] == "done"


# --- queue ---


def test_jobs_of_one_environment_queue_and_others_do_not_wait(home):
    """T17: in order, each behind the one before it; a failed or cancelled one lets the next run."""
    home.start(PKGD_FAULT="verify", PKGD_FAULT_ACTION="stop")
    first = home.submit("install", "syn-color")
    approve_when_asked(home, first)
    pid = stopped_worker(home, first)
    bad = home.submit("install", "syn-nowhere")
    gone = home.submit("install", "syn-base==1.0")
    last = home.submit("install", "syn-lib")
    other = home.submit("create", environment="other")
    assert home.wait_state(other)["state"] == "done"
    assert {home.get_job(j)["state"] for j in (bad, gone, last)} == {"queued"}
    assert all(home.get_job(j)["behind"] for j in (bad, gone, last))
    events = (home.home / "state" / "jobs" / str(bad) / "events.jsonl").read_text()
    assert "queued" in events
    home.json("jobs", "cancel", gone)
    os.kill(pid, signal.SIGKILL)
    assert home.wait_state(first)["state"] == "interrupted"
    assert home.wait_state(bad)["state"] == "failed"
    assert home.wait_state(last, "pending")["state"] == "pending"


def test_a_job_that_nobody_watched_keeps_its_end(home):
    """T76, O87: failed, with the cause, for whoever asks later."""
    home.start()
    job = home.submit("install", "syn-nowhere")
    home.wait_state(job)
    home.restart(signal.SIGKILL)
    row = home.json("jobs", "show", job)
    assert (row["state"], row["result"]["kind"]) == ("failed", "no-such-package")
    assert home.json("jobs", "watch", job, code=1)["kind"] == "no-such-package"
    assert "syn-nowhere" in home.run("jobs", "show", job).stdout


# --- events ---


def test_a_stream_resumes_exactly_where_it_was_left(house, env):
    """No loss, no duplicate, from every place; ids are offsets of the job's own file."""
    job = house.install("syn-app", e=env)["job"]
    whole = house.events(job)
    ids = [i for i, _ in whole]
    assert ids == sorted(set(ids)) and whole[-1][1]["type"] == "result"
    size = (house.home / "state" / "jobs" / str(job) / "events.jsonl").stat().st_size
    assert ids[-1] == size
    for header in (True, False):
        for n, ident in enumerate(ids):
            assert house.events(job, after=ident, header=header) == whole[n + 1:]
    assert house.events(job, after=0) == whole
    # The header beats the query, as a reconnecting browser needs it.
    house.request("GET", f"/v1/jobs/{job}", headers={"Last-Event-ID": "x"})
    assert house.events(job, after=size + 1000000) == []


def test_streams_that_are_cut_while_the_job_runs_miss_nothing(house, env):
    """Many readers, each reconnecting after every few events."""
    job = house.submit("install", "syn-app", environment=env)
    house.wait_state(job, "pending")
    out = {}

    def follow(step):
        rows, last = [], 0
        while not rows or rows[-1][1]["type"] != "result":
            rows += house.events(job, after=last, limit=step)
            last = rows[-1][0]
        out[step] = rows

    readers = [threading.Thread(target=follow, args=(step,)) for step in (1, 2, 3, 5, 100)]
    for one in readers:
        one.start()
    house.answer(job)
    for one in readers:
        one.join(60)
    whole = house.events(job)
    assert len(out) == 5 and all(rows == whole for rows in out.values())


# --- who may do what ---


def test_the_ask_socket_cannot_answer(house, env):
    """Who asks cannot answer on the same socket."""
    job = house.submit("install", "syn-color", environment=env)
    house.wait_state(job, "pending")
    card = house.get_job(job)["card"]
    status, envelope = house.request("POST", f"/v1/cards/{card}", {"answer": "approve"})
    assert (status, envelope["type"], envelope["result"]["kind"]) == (403, "error", "forbidden")
    for method, path in (("POST", "/v1/reconcile"), ("GET", "/v1/audit"), ("POST", "/v1/cache/prune"),
                         ("POST", "/v1/sandbox/test")):
        assert house.request(method, path, {} if method == "POST" else None)[0] == 403, path
    if shutil.which("curl"):
        done = subprocess.run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--unix-socket", house.socket(),
                               "-H", "Content-Type: application/json", "-d", '{"answer":"approve"}',
                               f"http://localhost/v1/cards/{card}"], capture_output=True, text=True)
        assert done.stdout == "403"
    assert house.get_job(job)["state"] == "pending"
    house.answer(job, "deny")
    assert house.wait_state(job)["state"] == "denied"
    for control in (False, True):
        assert house.socket(control).stat().st_mode & 0o077 == 0


def test_who_asked_and_who_answered_is_kept(house, env):
    body = {"action": "install", "requirements": ["syn-color"], "environment": env, "label": "an agent",
            "reason": "to colour things"}
    job = house.api("POST", "/v1/jobs", body)["job"]
    row = house.wait_state(job, "pending")
    requester = row["requester"]
    assert (requester["uid"], requester["pid"]) == (os.getuid(), os.getpid())
    assert requester["program"].startswith("python") and requester["label"] == "an agent"
    card = house.api("GET", f"/v1/cards/{row['card']}")
    assert "an agent" in card["text"] and "to colour things" in card["text"]
    answered = house.answer(job, message="fine")
    assert answered["answered_by"] == {"uid": os.getuid(), "pid": os.getpid(), "via": "control"}
    assert answered["message"] == "fine" and answered["state"] == "approved"
    assert house.wait_state(job)["request"]["requirements"] == ["syn-color"]


def test_a_card_expires(home):
    home.start()
    job = home.submit("install", "syn-color")
    row = home.wait_state(job, "pending")
    card = home.api("GET", f"/v1/cards/{row['card']}")
    assert card["expires"] > card["created"]
    home.stop()
    home.execute("UPDATE card SET expires_ms = ? WHERE id = ?", int(time.time() * 1000) - 1, row["card"])
    home.start()
    row = home.wait_state(job)
    assert (row["state"], row["result"]["kind"]) == ("denied", "card-expired")
    status, envelope = home.request("POST", f"/v1/cards/{row['card']}", {"answer": "approve"}, control=True)
    assert status in (403, 409) and envelope["type"] == "error"
    assert [r["status"] for _, r in home.events(job) if r["type"] == "result"] == ["denied"]
    home.assert_clean()


def test_an_answer_that_comes_after_the_expiry_is_refused(home):
    """Also when the timer has not run yet."""
    home.start()
    job = home.submit("install", "syn-color")
    row = home.wait_state(job, "pending")
    home.execute("UPDATE card SET expires_ms = ? WHERE id = ?", int(time.time() * 1000) - 1, row["card"])
    status, envelope = home.request("POST", f"/v1/cards/{row['card']}", {"answer": "approve"}, control=True)
    assert (status, envelope["result"]["kind"]) == (403, "card-expired")
    assert home.snapshot() is None


@pytest.mark.parametrize("body, words", [
    ({"action": "install", "requirments": ["x"]}, "requirements"),
    ({"action": "install", "requirements": ["x"], "enviroment": "a"}, "environment"),
    ({"action": "install", "requirements": ["x"], "sources": True}, "source"),
    ({"action": "install", "requirements": ["x"], "zzzzzzzzzzzz": 1}, "zzzzzzzzzzzz"),
    ({"action": "instal", "requirements": ["x"]}, "instal"),
    ({"action": "install", "requirements": ["x"], "source": "yes"}, "source"),
    ({"action": "install", "requirements": ["x"], "language": "perl"}, "perl"),
    ({"action": "rollback", "generation": "one"}, "generation"),
    ({"requirements": ["x"]}, "action"),
], ids=lambda v: str(v)[:40])
def test_an_unknown_or_wrong_key_is_an_error_that_names_it(house, body, words):
    """T68: nothing is dropped silently."""
    status, envelope = house.request("POST", "/v1/jobs", body)
    assert (status, envelope["status"], envelope["type"]) == (400, 400, "error")
    assert words in envelope["result"]["message"] + (envelope["result"]["cure"] or "")


def test_what_is_not_there_is_told_so(house):
    assert house.request("GET", "/v1/nothing")[0] == 404
    assert house.request("GET", "/")[0] == 404
    assert house.request("DELETE", "/v1/system")[0] in (400, 405)
    for path in ("/v1/jobs/999999", "/v1/jobs/x", "/v1/jobs/-1", "/v1/cards/999999", "/v1/jobs/999999/events",
                 "/v1/jobs/1%2f..%2f..", "/v1/environments/default/python/none"):
        assert house.request("GET", path)[0] == 404, path
    assert house.request("GET", "/v1/environments/default/perl/none")[0] in (400, 404)
    assert house.request("GET", "/v1/environments/..%2f..%2f/python/x")[0] in (400, 404)


def test_strangers_on_the_wire_do_not_stop_the_daemon(house):
    for data in (b"", b"\0" * 1000, b"GET / HTTP/1.1\r\n", b"A" * 100000, b"POST /v1/jobs HTTP/1.1\r\nContent-Length: "
                 b"99999999999999999999\r\n\r\n", b"GET /v1/system HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: x\r\n\r\n"):
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(str(house.socket()))
            sock.settimeout(0.2)
            with contextlib.suppress(OSError):
                sock.sendall(data)
                sock.recv(10)
    assert house.api("GET", "/v1/system")["api"] == "v1"
