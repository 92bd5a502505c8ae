"""Interleaved timing of whole commands, and tables of their ratios.

Rounds go A B C A B C …; a ratio is the median over rounds of X / yardstick of the same round, so a load that
comes and goes bends both alike. Trees of the last round are renamed aside, never deleted between rounds: on ext4
an inode freed a moment ago is skipped one by one by every later creation.
"""
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import time


class Subject:
    """One side: a name, a command for round N, and what to do (untimed) before it."""

    def __init__(self, name, command, before=None, env=None):
        self.name, self.command, self.before, self.env = name, command, before, env
        self.times = []

    def run(self, number, keep):
        if self.before:
            self.before(number)
        start = time.perf_counter()
        done = subprocess.run(
            [str(a) for a in self.command(number)], env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        took = time.perf_counter() - start
        if done.returncode:
            sys.exit(f"bench: {self.name}: exit {done.returncode}\n{done.stdout}\n{done.stderr}")
        if keep:
            self.times.append(took)


def measure(subjects, rounds=5, warmup=1):
    """Run them in turn."""
    for number in range(warmup + rounds):
        for subject in subjects:
            subject.run(number, number >= warmup)


def ratio(subject, yardstick):
    return statistics.median(a / b for a, b in zip(subject.times, yardstick.times))


def table(title, subjects, yardstick):
    """Markdown rows: how many times faster than the yardstick each is."""
    rows = [f"### {title}", "", f"| | median ms | {yardstick.name} / this |", "| --- | --- | --- |"]
    for subject in subjects:
        median = statistics.median(subject.times) * 1e3
        rows.append(f"| {subject.name} | {median:.0f} | {1 / ratio(subject, yardstick):.1f} |")
    return "\n".join(rows)


def aside(path):
    """Out of the way without a deletion."""
    path = pathlib.Path(path)
    if path.exists() or path.is_symlink():
        path.rename(path.with_name(f"{path.name}.aside-{time.monotonic_ns()}"))


def remove_tree(path):
    for folder, _, _ in os.walk(path):
        os.chmod(folder, 0o700)
    shutil.rmtree(path, ignore_errors=True)


def machine():
    """One line about where this ran."""
    cpus = len(os.sched_getaffinity(0))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (f"{cpus} cores, {memory:.0f} GiB, Linux {os.uname().release.split('-')[0]}, load "
            f"{os.getloadavg()[0]:.1f}, peak of children {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024} MiB")
