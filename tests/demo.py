#!/usr/bin/python3
"""The main job, seen from the chair of a user: plan, approve, install, add, upgrade, roll back, kill, reconcile.

    ./dev demo                  against a local index of real packages, which is built first
    ./dev demo --index URL      against that index

Everything lives in a throw-away home that is removed at the end.
"""
import argparse
import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
TOP = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "tests" / "system"))

BOLD, DIM, RESET = ("\033[1m", "\033[2m", "\033[0m") if sys.stdout.isatty() else ("", "", "")
KERNEL = """
import sys, importlib, importlib.metadata
for line in sys.stdin:
    try:
        importlib.invalidate_caches()
        print(eval(line), flush=True)
    except Exception as error:
        print(type(error).__name__, flush=True)
"""


def title(text):
    print(f"\n{BOLD}== {text}{RESET}", flush=True)


def say(text):
    print(f"{DIM}{text}{RESET}", flush=True)


class Demo:
    """One home, one index, and the commands of the story."""

    def __init__(self, index):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="pkgd-demo."))
        self.index = index
        unwanted = ("PIP_", "PYTHON", "XDG_", "PKGD_SANDBOX", "VIRTUAL_ENV")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(unwanted)}
        self.env["PKGD_HOME"] = str(self.root / "home")
        config = self.root / "home" / "config"
        config.mkdir(parents=True)
        (config / "pkgd.json").write_text(
            json.dumps({"python": {"index_url": index, "interpreters": ["/usr/bin/python3"]}})
        )

    # --- commands ---

    def pkg(self, *args, quiet=False, code=0):
        if not quiet:
            print(f"{BOLD}$ pkg {' '.join(args)}{RESET}", flush=True)
        done = subprocess.run(["pkg", *args], env=self.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE if quiet else None, text=True)
        if done.returncode != code:
            sys.exit(f"demo: pkg {' '.join(args)} ended with {done.returncode}, not {code}")
        return done.stdout

    def ask(self, *args):
        return json.loads(self.pkg(*args, "--json", quiet=True).splitlines()[-1])

    def version(self, name):
        return {p["name"].lower(): p["version"] for p in self.ask("list")["packages"]}.get(name)

    def install_with_approval(self, *packages):
        """One terminal asks and waits; another, a person's, looks at the card and says yes."""
        print(f"{BOLD}$ pkg install {' '.join(packages)}{RESET}", flush=True)
        asking = subprocess.Popen(["pkg", "install", *packages], env=self.env, stdin=subprocess.DEVNULL)
        card = None
        while card is None and asking.poll() is None:
            cards = self.ask("cards", "list")["cards"]
            card = next((c["id"] for c in cards if c["state"] == "pending"), None)
            time.sleep(0.05)
        say("-- in another terminal --")
        self.pkg("cards", "show", str(card))
        self.pkg("cards", "approve", str(card))
        if asking.wait() != 0:
            sys.exit("demo: the install failed")

    # --- a kernel ---

    def start_kernel(self):
        print(f"{BOLD}$ pkg run --label notebook -- python kernel{RESET}", flush=True)
        self.kernel = subprocess.Popen(
            ["pkg", "run", "--label", "notebook", "--", "python", "-c", KERNEL],
            env=self.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )

    def kernel_says(self, expression):
        self.kernel.stdin.write(expression + "\n")
        self.kernel.stdin.flush()
        answer = self.kernel.stdout.readline().strip()
        print(f"  kernel> {expression}\n  {answer}", flush=True)
        return answer

    # --- the kill ---

    def kill_mid_apply(self, package):
        """Start an install, end its worker with SIGKILL while it applies, and see what is left."""
        asking = subprocess.Popen(["pkg", "install", package, "--yes", "--json"], env=self.env,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        jobs = self.root / "home" / "state" / "jobs"
        job = max(int(p.name) for p in jobs.iterdir()) if jobs.exists() else 0
        log, state = jobs / str(job + 1) / "events.jsonl", '"state":"applying"'
        while asking.poll() is None:
            with contextlib.suppress(FileNotFoundError):
                if state in log.read_text().replace(" ", ""):
                    break
        for pid in self.workers():
            print(f"{BOLD}$ kill -KILL {pid}   # pkg-worker of job {job + 1}, in mid-apply{RESET}", flush=True)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        result = json.loads(asking.communicate()[0].splitlines()[-1])
        print(f"  the job ended: {result['status']}: {result['message']}")

    def workers(self):
        for proc in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if (f"PKGD_HOME={self.env['PKGD_HOME']}".encode() in (proc / "environ").read_bytes()
                        and b"pkg-worker" in (proc / "cmdline").read_bytes().split(b"\0")[0]):
                    yield int(proc.name)

    def close(self):
        if getattr(self, "kernel", None):
            self.kernel.stdin.close()
            self.kernel.wait()
        for proc in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if (int(proc.name) != os.getpid()
                        and f"PKGD_HOME={self.env['PKGD_HOME']}".encode() in (proc / "environ").read_bytes()):
                    os.kill(int(proc.name), signal.SIGTERM)
        time.sleep(0.3)
        for folder, _, _ in os.walk(self.root):
            os.chmod(folder, 0o700)
        shutil.rmtree(self.root, ignore_errors=True)


def story(demo):
    title("1. The boundary, before anything is trusted to it")
    demo.pkg("sandbox", "status")

    title("2. What would change? Nothing is installed to find out")
    demo.pkg("plan", "requests", "idna==3.3")

    title("3. Install: the plan is a card, a person answers it")
    demo.install_with_approval("requests", "idna==3.3")
    demo.pkg("run", "--", "python", "-c",
             "import requests, sys; print('imported requests', requests.__version__, 'from', sys.prefix)")

    title("4. A notebook's kernel runs, and an additive install reaches it")
    demo.start_kernel()
    demo.kernel_says("importlib.metadata.version('idna')")
    demo.kernel_says("__import__('tqdm').__version__")
    demo.pkg("install", "tqdm", "--yes")
    demo.kernel_says("__import__('tqdm').__version__")
    say("the same process, its variables kept: the change only added paths")

    title("5. An upgrade is not additive: the next generation, and a restart is due")
    demo.pkg("upgrade", "idna", "--yes")
    demo.kernel_says("importlib.metadata.version('idna')")
    say("the kernel keeps its generation whole; a new one sees the new version:")
    demo.pkg("run", "--", "python", "-c", "import importlib.metadata as m; print('idna', m.version('idna'))")

    title("6. Back to the generation before")
    demo.pkg("rollback", "--yes")
    demo.pkg("list")

    title("7. A worker dies in mid-apply")
    before = demo.ask("list")["packages"]
    demo.kill_mid_apply("numpy")
    demo.pkg("reconcile")
    after = demo.ask("list")["packages"]
    print(f"  the environment is {'exactly as before' if before == after else 'DIFFERENT'}")
    if before != after:
        sys.exit("demo: the environment changed by halves")
    demo.pkg("install", "numpy", "--yes")

    title("8. Who asked for what, and what came of it")
    demo.pkg("history")

    title("9. Where the time went, in milliseconds")
    for job in reversed(demo.ask("jobs", "list")["jobs"]):
        timings = (job["result"] or {}).get("timings") or {}
        shown = "  ".join(f"{k[:-3]} {v}" for k, v in timings.items() if v)
        asked = " ".join((job["request"] or {}).get("requirements") or [])
        print(f"  {job['action']:8} {asked:20} {job['state']:12} {shown}")


@contextlib.contextmanager
def local_index():
    """The small mirror, built where the tests keep theirs."""
    import fcntl

    import mirrorfix

    cache = mirrorfix.cache_dir()
    cache.mkdir(parents=True, exist_ok=True)
    tree = pathlib.Path(os.environ.get("PKGD_TEST_MIRROR") or cache / f"small-{mirrorfix.scripts_digest()}")
    if not os.environ.get("PKGD_TEST_MIRROR"):
        say("building a local index of real packages (once; about half a minute) ...")
        with mirrorfix.flock(cache / "lock", fcntl.LOCK_EX):
            mirrorfix.build_tree(cache, tree)
    with mirrorfix.MirrorServer(tree) as server:
        yield server.simple


def main():
    parser = argparse.ArgumentParser(prog="./dev demo", description=__doc__.splitlines()[0])
    parser.add_argument("--index", help="a real index, by its simple URL")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        index = options.index or stack.enter_context(local_index())
        demo = Demo(index)
        stack.callback(demo.close)
        started = time.monotonic()
        story(demo)
        print(f"\n{BOLD}That was it{RESET}, in {time.monotonic() - started:.1f} s. The home is removed again.")


if __name__ == "__main__":
    main()
