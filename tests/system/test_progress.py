"""What is seen while a job runs: events on disk, plain lines, JSON lines, a live block on a terminal. T36, O47, O48:
rows of the list of behaviours that the product keeps."""
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import fcntl

import pytest

from conftest import PYTHON, ROOT

CSI = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])")
PHASES = ["queued", "planning", "pending", "fetching", "building", "applying", "verifying"]


def event_rows(pkg, job):
    return [row for _, row in pkg.events(job)]


def raw_events(pkg, job):
    return (pkg.home / "state" / "jobs" / str(job) / "events.jsonl").read_bytes()


# --- events ---


def test_phases_come_in_order_and_end_in_one_result(house, env):
    """T36: real phases, with sentences, not one silent row."""
    job = house.install("syn-app", e=env)["job"]
    rows = event_rows(house, job)
    assert [r["state"] for r in rows if r["type"] == "state"] == PHASES
    assert [r["type"] for r in rows].count("result") == 1 and rows[-1]["type"] == "result"
    kinds = [r["type"] for r in rows]
    assert kinds.index("card") < kinds.index("answer") < kinds.index("result")
    assert any("resolving" in r["text"] for r in rows if r["type"] == "status")
    assert all(re.match(r"\d{4}-\d\d-\d\dT[\d:.]+Z$", r["time"]) for r in rows)
    times = [r["time"] for r in rows]
    assert times == sorted(times)
    timings = rows[-1]["timings"]
    assert {"planning_ms", "applying_ms", "verifying_ms"} <= set(timings)
    assert all(isinstance(v, int) and v >= 0 for v in timings.values())
    # On disk: whole lines, each small, nothing after the result.
    data = raw_events(house, job)
    assert data.endswith(b"\n") and all(len(line) <= 64 << 10 for line in data.splitlines())


def test_a_download_tells_bytes_and_total(make_pkg, serve):
    mirror = serve(slow="*syn_big*.whl=60000")
    pkg = make_pkg()
    pkg.configure({"python": {"interpreters": [PYTHON], "index_url": mirror.simple}})
    pkg.start()
    job = pkg.install("syn-big", "syn-lib")["job"]
    files = {}
    for row in event_rows(pkg, job):
        if row["type"] == "progress":
            assert {"name", "bytes", "total", "done", "cached", "note"} <= set(row)
            files.setdefault(row["name"], []).append(row)
    assert set(files) >= {"syn_big-1.0-py3-none-any.whl"}
    big = files["syn_big-1.0-py3-none-any.whl"]
    assert {r["total"] for r in big} == {20975320}
    assert [r["bytes"] for r in big] == sorted(r["bytes"] for r in big)
    assert big[-1]["done"] and big[-1]["bytes"] == 20975320 and not any(r["done"] for r in big[:-1])
    assert 3 <= len(big) <= 200


def test_what_a_builder_prints_is_filtered_and_kept(house, env):
    """O47, O48: bars, blanks and control characters do not reach the events; the log has every line."""
    result = house.install("syn-sdist-only", e=env, source=True)
    rows = event_rows(house, result["job"])
    output = [r["text"] for r in rows if r["type"] == "output"]
    assert output
    for text in output:
        assert text.strip(" \t-=|/\\━╸╺") and len(text) <= 2000
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)
    log = house.run("jobs", "show", result["job"], "--log").stdout
    assert len(log.splitlines()) > len(output)
    assert all(text in log for text in output)


def test_a_flood_is_thinned_out(house, env):
    house.adjust(sandbox__limits__build__wall_seconds=5, sandbox__limits__plan__wall_seconds=8)
    result = house.install("syn-sdist-spam", e=env, source=True, code=(0, 1))
    output = [r for r in event_rows(house, result["job"]) if r["type"] == "output"]
    assert len(output) < 4000
    assert len(raw_events(house, result["job"])) < 8 << 20


def test_connections_are_told_with_their_verdict(house, env):
    """Those of a sandbox: what pip asks for."""
    house.adjust(python__engine="pip")
    job = house.install("syn-color", e=env)["job"]
    rows = [r["row"] for r in event_rows(house, job) if r["type"] == "connection"]
    assert rows and all(r["verdict"] == "allowed" and r["host"] == "127.0.0.1" for r in rows)


# --- not a terminal ---


def test_json_lines_are_the_events(house, env):
    done = house.run("install", "-e", env, "syn-color", "--yes", "--json")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.stderr == ""
    result = lines[-1]
    assert result["type"] == "result" and [r["type"] for r in lines].count("result") == 1
    told = [r for r in lines if r["type"] != "job"]
    assert told == event_rows(house, result["job"])
    watched = [json.loads(line) for line in
               house.run("jobs", "watch", result["job"], "--json").stdout.splitlines()]
    assert [r for r in watched if r["type"] != "job"] == told


def test_without_a_terminal_there_are_plain_lines(house, env):
    done = house.run("install", "-e", env, "syn-app", "--yes")
    for text in (done.stdout, done.stderr):
        assert "\x1b" not in text and "\r" not in text
    everything = done.stdout + done.stderr
    assert "syn-app" in everything and "syn-lib" in everything
    assert len(everything.splitlines()) < 60
    quiet = house.run("install", "-e", env, "syn-color", "--yes", "-q")
    assert len((quiet.stdout + quiet.stderr).splitlines()) <= len(everything.splitlines())


def test_the_whole_log_stays_available(house, env):
    job = house.install("syn-app", e=env)["job"]
    log = house.run("jobs", "show", job, "--log").stdout
    assert "resolving" in log and log.endswith("\n")
    shown = house.run("jobs", "show", job).stdout
    assert "syn-app" in shown and "done" in shown
    assert house.run("jobs", "show", "99999", "--log", code=4)


# --- a terminal ---


class Terminal:
    """pkg on a pseudo-terminal."""

    def __init__(self, pkg, *args, columns=100, **env):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
        self.text = b""
        self.process = subprocess.Popen(
            [ROOT / "bin" / "pkg", *map(str, args)], stdin=slave, stdout=slave, stderr=slave,
            env={**pkg.env, "TERM": "xterm-256color", **env}, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)

    def read(self, timeout):
        ready, _, _ = select.select([self.master], [], [], timeout)
        if not ready:
            return True
        try:
            data = os.read(self.master, 65536)
        except OSError:
            data = b""
        self.text += data
        return bool(data)

    def until(self, pattern, timeout=60):
        end = time.monotonic() + timeout
        while not re.search(pattern, self.text.decode(errors="replace")):
            assert time.monotonic() < end, f"waited for {pattern!r}: {self.text.decode(errors='replace')}"
            if not self.read(0.02) and self.process.poll() is not None:
                break
        found = re.search(pattern, self.text.decode(errors="replace"))
        assert found, f"{pattern!r} never came: {self.text.decode(errors='replace')}"
        return found

    def type(self, text):
        os.write(self.master, text.encode())

    def end(self, timeout=60):
        """(exit status, everything that was printed)."""
        end = time.monotonic() + timeout
        while self.read(0.02):
            assert time.monotonic() < end, self.text.decode(errors="replace")
            if self.process.poll() is not None and not select.select([self.master], [], [], 0)[0]:
                break
        return self.process.wait(20), self.text.decode(errors="replace")

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)


@pytest.fixture
def terminal():
    made = []

    def make(*args, **options):
        made.append(Terminal(*args, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


def screen_controls(text):
    """The control sequences of a text: all of a known and harmless kind."""
    rest = CSI.sub("", text)
    assert "\x1b" not in rest, repr(rest)
    assert not re.search(r"[\x00-\x06\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]", rest), repr(rest)
    finals = {m.group(2) for m in CSI.finditer(text)}
    assert finals <= set("ABCDEFGHJKmhlr"), finals
    return {m.group(0) for m in CSI.finditer(text)}


def test_a_person_sees_the_card_and_is_asked(house, env, terminal):
    one = terminal(house, "install", "-e", env, "syn-app")
    one.until(r"Apply this plan\?")
    shown = one.text.decode()
    assert "syn-app" in shown and "syn-lib" in shown and "2.0" in shown
    assert house.snapshot(env) is None
    one.type("y\n")
    code, text = one.end()
    assert code == 0, text
    screen_controls(text)
    assert house.packages(env) == {"syn-app": "1.0", "syn-lib": "2.0"}


@pytest.mark.parametrize("reply, words", [("n\n", ""), ("\n", ""), ("d\nnot this one\n", "not this one")],
                         ids=["no", "enter", "deny"])
def test_a_person_says_no(house, env, terminal, reply, words):
    name = re.sub("[^a-z]", "", env)[-40:] + str(len(reply))
    one = terminal(house, "install", "-e", name, "syn-color")
    one.until(r"Apply this plan\?")
    for line in reply.splitlines(keepends=True):
        one.type(line)
        if words and line == "d\n":
            one.until("message: ")
    code, text = one.end()
    assert code == 3, text
    assert words in text
    assert house.snapshot(name) is None
    house.assert_clean()


def test_bars_are_drawn_and_cleared(make_pkg, serve, terminal):
    mirror = serve(slow="*syn_big*.whl=60000")
    pkg = make_pkg()
    pkg.configure({"python": {"interpreters": [PYTHON], "index_url": mirror.simple}})
    pkg.start()
    one = terminal(pkg, "install", "--yes", "syn-big", "syn-lib")
    code, text = one.end()
    assert code == 0, text
    controls = screen_controls(text)
    assert controls, "nothing was drawn"
    assert "syn_big" in text and re.search(r"\d+(\.\d+)? ?(%|[KM]i?B)", text)
    # A colour or two, and the cursor as it was.
    assert any(c.endswith("m") for c in controls)
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h")


def test_no_color_means_no_colour(house, env, terminal):
    one = terminal(house, "install", "-e", env, "--yes", "syn-color", NO_COLOR="1")
    code, text = one.end()
    assert code == 0, text
    assert not [c for c in screen_controls(text) if c.endswith("m")]


def test_a_dumb_terminal_gets_plain_lines(house, env, terminal):
    one = terminal(house, "install", "-e", env, "--yes", "syn-color", TERM="dumb")
    code, text = one.end()
    assert code == 0 and "\x1b" not in text, text


def test_lines_fit_a_narrow_terminal(house, env, terminal):
    one = terminal(house, "install", "-e", env, "--yes", "syn-app", columns=30)
    code, text = one.end()
    assert code == 0
    screen_controls(text)


def test_hostile_output_does_not_reach_the_screen(house, env, terminal):
    """What a package prints: escape sequences, NUL, a bare CR, bytes that are not UTF-8."""
    one = terminal(house, "install", "-e", env, "--yes", "--source", "-v", "syn-sdist-ansi")
    code, text = one.end()
    assert code in (0, 1)
    controls = screen_controls(text)
    assert "\x1b]" not in text and "\x1b[2J" not in controls and "\x07" not in text


def test_ctrl_c_asks_before_it_cancels(house, env, terminal):
    one = terminal(house, "install", "-e", env, "--yes", "--source", "syn-sdist-hang")
    one.until("resolving|building|setup")
    job = house.rows("SELECT max(id) FROM job")[0][0]
    one.type("\x03")
    one.until(r"cancel the job\?")
    one.type("n\n")
    assert house.get_job(job)["state"] not in ("cancelled", "failed")
    one.type("\x03")
    house.wait_until(lambda: one.read(0) and one.text.decode(errors="replace").count("cancel the job?") >= 2,
                     "the second question")
    one.type("y\n")
    code, text = one.end()
    assert code == 1, text
    assert house.wait_state(job)["state"] == "cancelled"
    assert house.snapshot(env) is None
    house.assert_clean()


def test_ctrl_c_on_a_watch_only_leaves(house, env, terminal):
    job = house.submit("install", "syn-color", environment=env)
    house.wait_state(job, "pending")
    one = terminal(house, "jobs", "watch", job)
    one.until("pending|card|answer|approve")
    one.process.send_signal(signal.SIGINT)
    one.end()
    assert house.get_job(job)["state"] == "pending"
    house.answer(job)
    assert house.wait_state(job)["state"] == "done"
