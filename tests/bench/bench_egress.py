"""The way out: from a client in a sandbox's network namespace through the handed-out listener and pkg-proxy to a server,
against tinyproxy and squid with the same client and server on the host, and against the whole chain of the npm package
@anthropic-ai/sandbox-runtime; one pip run, raw and through it all."""
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import peers
from benchlib import Subject, measure, ratio

CLIENTS = (1, 16, 256)
BIG = 64 << 20


class Path:
    """One way from the client to the server. command(args) is the client with that proxy."""

    def __init__(self, name):
        self.name, self.results = name, {}

    def add(self, key, numbers):
        self.results.setdefault(key, []).append(numbers)

    def median(self, key, field):
        return statistics.median(n[field] for n in self.results[key])


class Ours(Path):
    def __init__(self, root, origin, tunload):
        super().__init__("pkg-proxy, from inside a sandbox")
        self.root, self.target, self.tunload = root, f"127.0.0.1:{origin}", tunload
        self.boxed, = peers.programs("tests/system/boxed")
        (root / "rules.json").write_text(json.dumps(
            {"rules": [{"host": self.target, "tls": "any"}], "limits": {"connections": 2048}}))

    def run(self, mode, clients, seconds, size):
        command = [self.boxed, "kernel", "--ro", self.tunload, "--network", self.root / "rules.json", self.root / "audit", "--",
                   self.tunload, mode, clients, seconds, "127.0.0.1:3128", self.target, size]
        process = subprocess.Popen([str(c) for c in command], env={**os.environ, "PKGD_HOME": str(self.root / "home")},
                                   stdout=subprocess.PIPE, text=True)
        use = None
        while use is None and process.poll() is None:
            children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
            for pid in children:
                try:
                    if b"pkg-proxy" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0]:
                        use = peers.Use(int(pid))
                except OSError:
                    pass
        out, _ = process.communicate()
        if process.returncode:
            sys.exit(f"bench: {self.name} {mode} {clients}: {process.returncode} {out}")
        numbers = json.loads(out)
        use.stop()
        numbers["cpu_us_each"] = use.cpu * 1e6 / max(numbers["done"], 1)
        numbers["cpu_s_per_gb"] = use.cpu / max(numbers["mb_per_second"] * float(seconds) / 1e3, 1e-9)
        numbers["memory_kib"], numbers["memory_before_kib"] = use.pss, use.first_pss or 0
        return numbers

    def close(self):
        pass


class Daemon(Path):
    """A proxy that serves on the host."""

    def __init__(self, name, command, port, target, tunload):
        super().__init__(name)
        self.port, self.target, self.tunload = port, target, tunload
        self.process = subprocess.Popen([str(c) for c in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        peers.wait_port(port)

    def run(self, mode, clients, seconds, size):
        done = subprocess.run(
            [str(c) for c in (self.tunload, mode, clients, seconds, f"127.0.0.1:{self.port}", self.target, size, self.process.pid)],
            capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    def close(self):
        self.process.terminate()
        self.process.wait()


class Srt(Path):
    """The client inside the sandbox-runtime."""

    def __init__(self, root, origin, tunload, command):
        super().__init__(f"sandbox-runtime {peers.srt_version(command)}, from inside its sandbox")
        self.command, self.tunload, self.target = command, tunload, f"localhost:{origin}"
        self.env, self.settings = peers.srt_environment(root, ["localhost"])

    def run(self, mode, clients, seconds, size):
        line = [self.command, "--settings", self.settings, self.tunload, mode, clients, seconds, "127.0.0.1:3128", self.target, size]
        done = subprocess.run([str(c) for c in line], env=self.env, capture_output=True, text=True, timeout=120)
        numbers = json.loads(done.stdout.strip().splitlines()[-1]) if done.returncode == 0 else {}
        return numbers if numbers.get("mb_per_second") else None

    def close(self):
        pass


def tinyproxy(root, target, tunload):
    program = peers.apt("tinyproxy")
    if not program:
        return None
    port = peers.free_port()
    (root / "tinyproxy.conf").write_text(f"Port {port}\nListen 127.0.0.1\nMaxClients 2000\nTimeout 600\nLogLevel Critical\n"
                                         "Allow 127.0.0.1\n")
    return Daemon("tinyproxy", [program, "-d", "-c", root / "tinyproxy.conf"], port, target, tunload)


def squid(root, target, tunload):
    program = peers.apt("squid")
    if not program:
        return None
    port = peers.free_port()
    (root / "squid").mkdir()
    (root / "squid").chmod(0o777)
    (root / "squid.conf").write_text(
        f"http_port 127.0.0.1:{port}\nhttp_access allow localhost\naccess_log none\ncache_log {root}/squid/log\ncache deny all\n"
        f"pid_filename {root}/squid/pid\ncoredump_dir {root}/squid\nshutdown_lifetime 1 second\nmax_filedescriptors 8192\n"
        "pinger_enable off\nnetdb_filename none\ncache_store_log none\n")
    return Daemon("squid", [program, "-N", "-f", root / "squid.conf"], port, target, tunload)


def relay(paths, rounds, seconds):
    """Every path in turn, at every number of clients."""
    for _ in range(rounds):
        for clients in CLIENTS:
            for mode, size in (("rps", 1024), ("bulk", BIG)):
                for path in paths:
                    path.add((mode, clients), path.run(mode, clients, seconds, size))
    for path in paths:
        path.add(("idle", 1000), path.run("idle", 1000, 1, 1024))


def relay_srt(path, seconds):
    """Its chain starts processes for each connection, so once at each number must do."""
    for mode, size in (("rps", 1024), ("bulk", BIG)):
        for clients in (1, 16):
            numbers = path.run(mode, clients, seconds, size)
            if numbers is None:
                return False
            path.add((mode, clients), numbers)
    return True


def relay_tables(paths, chain):
    everything = paths + ([chain] if chain else [])
    columns = [(mode, clients) for mode in ("rps", "bulk") for clients in CLIENTS]
    rows = ["| | " + " | ".join(f"{'tunnels/s' if m == 'rps' else 'MB/s'}, {c}" for m, c in columns) + " |",
            "| --- |" + " --- |" * len(columns)]
    for path in everything:
        cells = []
        for key in columns:
            field = "per_second" if key[0] == "rps" else "mb_per_second"
            cells.append(f"{path.median(key, field):.0f}" if key in path.results else "-")
        rows.append(f"| {path.name} | " + " | ".join(cells) + " |")
    rows += ["", "| | processor µs per tunnel, 16 | processor s per GB, 16 | MiB of 1,000 idle tunnels | errors |",
             "| --- | --- | --- | --- | --- |"]
    for path in paths:
        idle = path.results["idle", 1000][0]
        errors = sum(n["errors"] for list_ in path.results.values() for n in list_)
        rows.append(f"| {path.name} | {path.median(('rps', 16), 'cpu_us_each'):.0f} | {path.median(('bulk', 16), 'cpu_s_per_gb'):.2f} | "
                    f"{(idle['memory_kib'] - idle['memory_before_kib']) / 1024:.1f} | {errors} |")
    return "\n".join(rows)


def goals(paths, chain):
    """What the design asks of the whole path, and what this run gave."""
    ours, rest = paths[0], {p.name: p for p in paths[1:]}
    out = {}

    def against(other, key, field):
        return statistics.median(a[field] / b[field] for a, b in zip(ours.results[key], other.results[key]))

    for name, other in rest.items():
        for clients in CLIENTS:
            out[f"bulk_{name}_{clients}"] = against(other, ("bulk", clients), "mb_per_second")
            out[f"tunnels_{name}_{clients}"] = against(other, ("rps", clients), "per_second")
        out[f"cpu_{name}"] = against(other, ("bulk", 16), "cpu_s_per_gb")
        out[f"cpu_tunnel_{name}"] = against(other, ("rps", 16), "cpu_us_each")
    if chain:
        for mode, field, word in (("bulk", "mb_per_second", "bulk"), ("rps", "per_second", "tunnels")):
            out[f"{word}_srt"] = ours.median((mode, 16), field) / chain.median((mode, 16), field)
    idle = ours.results["idle", 1000][0]
    out["idle_tunnels_mib"] = (idle["memory_kib"] - idle["memory_before_kib"]) / 1024
    return out


def goal_lines(numbers):
    lines = ["| ours / theirs | 1 client | 16 | 256 |", "| --- | --- | --- | --- |"]
    for name in ("tinyproxy", "squid"):
        for key, word in (("bulk", "bulk"), ("tunnels", "tunnels per second")):
            if f"{key}_{name}_1" in numbers:
                lines.append(f"| {word}, {name} | " + " | ".join(f"{numbers[f'{key}_{name}_{c}']:.2f}" for c in CLIENTS) + " |")
    for name in ("tinyproxy", "squid"):
        if f"cpu_{name}" in numbers:
            lines.append(f"| processor time per GB, {name} | | {numbers[f'cpu_{name}']:.2f} | |")
            lines.append(f"| processor time per tunnel, {name} | | {numbers[f'cpu_tunnel_{name}']:.2f} | |")
    if "bulk_srt" in numbers:
        lines.append(f"| bulk, sandbox-runtime | | {numbers['bulk_srt']:.1f} | |")
        lines.append(f"| tunnels per second, sandbox-runtime | | {numbers['tunnels_srt']:.1f} | |")
    return "\n".join(lines)


def pip_run(root, server, rounds):
    """The same pip run, raw and in a sandbox with the proxy between it and the index."""
    boxed, = peers.programs("tests/system/boxed")
    venv = root / "venv"
    subprocess.run(["/usr/bin/python3", "-m", "venv", venv], check=True)
    index = server.simple
    authority = index.split("/")[2]
    (root / "pip-rules.json").write_text(json.dumps({"rules": [authority]}))
    packages = ["requests", "jinja2", "python-dateutil", "tqdm", "pyyaml"]
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "PYTHON", "REQUESTS_CA", "CURL_CA", "SSL_CERT"))}

    def work(number, where):
        # One directory for each run: what a sandbox may write to is searched for hard links first.
        path = root / f"pip-{where}{number}"
        path.mkdir(exist_ok=True)
        return path

    def pip(number, where):
        return [venv / "bin" / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-cache-dir", "--isolated",
                "--no-compile", "--target", work(number, where) / "target", "-i", index, *packages]

    raw = Subject("raw", lambda n: pip(n, "raw"), env=env)
    ours = Subject("sandboxed", lambda n: [
        boxed, "build", "--rw", work(n, "ours"), "--ro", venv, "--network", root / "pip-rules.json", root / "audit", "--", *pip(n, "ours")],
        env={**env, "PKGD_HOME": str(root / "home")})
    measure([raw, ours], rounds=rounds)
    return ratio(ours, raw), statistics.median(raw.times)


def run(server, full):
    origin, tunload = peers.programs("tests/bench/origin", "tests/bench/tunload")
    root = pathlib.Path(tempfile.mkdtemp(prefix="pkgd-bench.", dir="/var/tmp"))
    root.chmod(0o755)
    port = peers.free_port()
    process = subprocess.Popen([origin, str(port)])
    peers.wait_port(port)
    paths, chain = [], None
    try:
        paths = [p for p in (Ours(root, port, tunload), tinyproxy(root, f"127.0.0.1:{port}", tunload),
                             squid(root, f"127.0.0.1:{port}", tunload)) if p]
        relay(paths, 7 if full else 5, 1)
        command = peers.srt()
        if command:
            chain = Srt(root, port, tunload, command)
            chain = chain if relay_srt(chain, 2) else None
        pip, raw = pip_run(root, server, 9 if full else 5)
        numbers = {**goals(paths, chain), "pip_proxied": pip}
        text = (f"## The way out\n\n{relay_tables(paths, chain)}\n\n{goal_lines(numbers)}\n\nOne pip run of five packages from a plain "
                f"HTTP index on loopback ({raw * 1e3:.0f} ms raw) takes {pip:.3f} times as long in a sandbox and through the proxy.")
    finally:
        for path in paths:
            path.close()
        process.terminate()
        process.wait()
        time.sleep(0.2)
        shutil.rmtree(root, ignore_errors=True)
    return text, numbers
