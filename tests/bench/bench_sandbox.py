"""The start of a sandbox, side by side with bare bubblewrap and the npm package @anthropic-ai/sandbox-runtime; the idle
daemon."""
import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import tempfile
import time

import peers
from benchlib import Subject, measure, ratio

IDLE_SECONDS = 60


def environment(root):
    return {**os.environ, "PKGD_HOME": str(root)}


def median_ratio(of, to):
    return statistics.median(a / b for a, b in zip(of, to))


def launches(root, rounds):
    """The table of tests/bench/launch.c, and the numbers that matter."""
    launch, = peers.programs("tests/bench/launch")
    done = subprocess.run([launch, str(rounds)], env=environment(root), capture_output=True, text=True, check=True)
    times = json.loads(done.stdout)
    words = {"raw": "`true` alone", "bare": "bare bwrap, the same command line, no network",
             "confined": "sandbox, no network", "ready": "sandbox, allowlist network ready, its proxy started and ended",
             "bare20": "bare bwrap with 20 more mounts", "confined20": "sandbox with 20 more mounts"}
    rows = [f"| {text} | {statistics.median(times[key]):.2f} | {median_ratio(times[key], times['bare']):.2f} |"
            for key, text in words.items()]
    numbers = {"launch_ready": median_ratio(times["ready"], times["bare"]),
               "launch_binds": median_ratio(times["confined20"], times["confined"])}
    return "\n".join(["| `true`, from nothing to its end | median ms | / bare bwrap |", "| --- | --- | --- |", *rows]), numbers


def against_srt(root):
    """Whole commands: both begin with no process of theirs running."""
    command = peers.srt()
    if not command:
        return "The sandbox-runtime could not be installed here.", {}
    boxed, = peers.programs("tests/system/boxed")
    (root / "rules.json").write_text('{"rules": ["example.org"]}')
    env, settings = peers.srt_environment(root, ["example.org"])
    ours = Subject("ours", lambda n: [boxed, "kernel", "--network", root / "rules.json", root / "audit", "--", "/usr/bin/true"],
                   env=environment(root))
    theirs = Subject("srt", lambda n: [command, "--settings", settings, "true"], env=env)
    measure([ours, theirs], rounds=9, warmup=2)
    times = 1 / ratio(ours, theirs)
    rows = [f"| {text} | {statistics.median(s.times) * 1e3:.1f} |" for text, s in (
        ("a program of ours that starts one sandbox with the allowlist network", ours),
        (f"`srt true` {peers.srt_version(command)}", theirs))]
    return "\n".join(["| whole command | median ms |", "| --- | --- |", *rows, "",
                      f"The sandbox-runtime takes {times:.0f} times as long."]), {"launch_srt": times}


def switches(pid):
    """How often any thread of a process gave the processor back or lost it."""
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        text = (task / "status").read_text()
        total += int(text.partition("voluntary_ctxt_switches:")[2].split()[0])
    return total


def idle_daemon(root):
    daemon = subprocess.Popen(["pkgd"], env=environment(root), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              start_new_session=True)
    time.sleep(3)
    before = switches(daemon.pid)
    time.sleep(IDLE_SECONDS)
    woken = switches(daemon.pid) - before
    status = pathlib.Path(f"/proc/{daemon.pid}/status").read_text()
    rollup = pathlib.Path(f"/proc/{daemon.pid}/smaps_rollup").read_text()
    resident = int(status.partition("VmRSS:")[2].split()[0]) / 1024
    proportional = int(rollup.partition("\nPss:")[2].split()[0]) / 1024
    daemon.send_signal(signal.SIGTERM)
    daemon.wait()
    return (f"Idle daemon: {resident:.1f} MiB resident ({proportional:.1f} MiB with shared pages in proportion), woken {woken} "
            f"times in {IDLE_SECONDS} s."), {"idle_mib": resident, "idle_wakeups": woken}


def run(_, full):
    root = pathlib.Path(tempfile.mkdtemp(prefix="pkgd-bench.", dir="/var/tmp"))
    try:
        table, numbers = launches(root, 80 if full else 40)
        srt_text, more = against_srt(root)
        idle_text, idle = idle_daemon(root)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    return f"## Sandbox\n\n{table}\n\n{srt_text}\n\n{idle_text}", {**numbers, **more, **idle}
