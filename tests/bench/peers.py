"""What the benches of the boundary need: our own programs and the peers', each started where it can be measured."""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import threading
import time

SRT = "@anthropic-ai/sandbox-runtime"


def build_dir():
    """The build that ./dev bench uses."""
    return pathlib.Path(os.environ.get("PKGD_BENCH_BUILD") or pathlib.Path(os.environ["PKGD_LIBEXEC"]).parents[4])


def programs(*names):
    """Paths of programs that are made for the benches only."""
    subprocess.run(["make", "-s", "-C", build_dir(), *names], check=True, stdout=subprocess.DEVNULL)
    return [build_dir() / name for name in names]


def apt(name, package=None):
    """The program of a peer, installed when it is not there; None when that cannot be."""
    package = package or name
    if not shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin") and os.geteuid() == 0 and shutil.which("apt-get"):
        subprocess.run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", package], capture_output=True,
                       env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
    return shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")


def srt():
    """The sandbox-runtime's command, installed into a cache of the benches; None when that cannot be."""
    base = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "pkgd-tests" / "srt"
    command = base / "node_modules" / ".bin" / "srt"
    if not command.exists() and shutil.which("npm"):
        base.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "install", "--silent", "--no-fund", "--no-audit", SRT], cwd=base, capture_output=True)
    needed = apt("socat") and apt("bwrap", "bubblewrap") and apt("rg", "ripgrep")
    return command if command.exists() and needed else None


def srt_version(command):
    package = command.parent.parent / SRT / "package.json"
    return json.loads(package.read_text())["version"]


def srt_environment(home, domains):
    """Its settings, and an environment without what slows every start of node on some machines."""
    (home / "srt.json").write_text(json.dumps({
        "network": {"allowedDomains": domains, "deniedDomains": [], "allowLocalBinding": True},
        "filesystem": {"denyRead": [], "allowWrite": ["/tmp"], "denyWrite": []}}))
    return {k: v for k, v in os.environ.items() if k != "NODE_EXTRA_CA_CERTS"}, home / "srt.json"


def wait_port(port, seconds=15):
    import socket
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.02)
    raise SystemExit(f"bench: nothing listens on port {port}")


def free_port():
    import socket
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return sock.getsockname()[1]


class Use:
    """Processor seconds and memory of a process and those below it, looked at until it ends."""

    def __init__(self, pid):
        self.pid, self.cpu, self.pss, self.first_pss = pid, 0.0, 0, None
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.loop, daemon=True)
        self.thread.start()

    def tree(self):
        out, todo = [], [self.pid]
        while todo:
            pid = todo.pop()
            out.append(pid)
            with contextlib.suppress(OSError):
                for task in os.listdir(f"/proc/{pid}/task"):
                    todo += map(int, pathlib.Path(f"/proc/{pid}/task/{task}/children").read_text().split())
        return out

    def look(self):
        cpu = pss = 0
        for pid in self.tree():
            with contextlib.suppress(OSError, IndexError, ValueError):
                fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                cpu += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
                rollup = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
                pss += int(rollup.partition("\nPss:")[2].split()[0])
        if cpu:
            self.cpu = max(self.cpu, cpu)
        if pss:
            self.pss = max(self.pss, pss)
            self.first_pss = self.first_pss or pss

    def loop(self):
        while not self.stopping.wait(0.03):
            self.look()

    def stop(self):
        self.stopping.set()
        self.thread.join()
        return self
