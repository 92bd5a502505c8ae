"""pkgd against pip: the same set from the same loopback index, whole processes, bytecode on both sides."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from benchlib import Subject, aside, measure, ratio, remove_tree, table

PYTHON = "/usr/bin/python3"
WEB = ["flask", "requests", "jsonschema", "networkx", "pyyaml"]
WEB_SMALL = ["requests", "jinja2", "python-dateutil", "tqdm", "pyyaml"]


class Home:
    """A pkgd home with its daemon."""

    def __init__(self, root, index):
        self.root = root
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "PYTHON", "XDG_"))}
        self.env["PKGD_HOME"] = str(root)
        (root / "config").mkdir(parents=True)
        (root / "config" / "pkgd.json").write_text(
            json.dumps({"python": {"index_url": index, "interpreters": [PYTHON]}, "retention": {"generations": 0}}))
        self.daemon = subprocess.Popen(["pkgd"], env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                       start_new_session=True)
        while subprocess.run(["pkg", "list"], env=self.env, capture_output=True).returncode not in (0, 4):
            time.sleep(0.05)

    def close(self):
        self.daemon.send_signal(signal.SIGTERM)
        self.daemon.wait()


def pip_environment():
    env = {k: v for k, v in os.environ.items() if not k.startswith(("PIP_", "PYTHON", "REQUESTS_CA", "CURL_CA"))}
    env["PIP_CONFIG_FILE"] = "/dev/null"
    return env


def newest_pip(root, server):
    """A virtual environment with the newest pip that the index has."""
    venv = root / "pip"
    subprocess.run([PYTHON, "-m", "venv", venv], check=True)
    subprocess.run([venv / "bin" / "pip", "install", "-q", "--disable-pip-version-check", "-U", "pip", "-i", server.simple],
                   env=pip_environment(), check=True)
    version = subprocess.run([venv / "bin" / "pip", "--version"], capture_output=True, text=True).stdout.split()[1]
    return venv / "bin" / "pip", version


class Peers:
    """Both sides of one comparison."""

    def __init__(self, root, server, packages):
        self.root, self.packages, self.index = root, packages, server.simple
        self.pip, self.pip_version = newest_pip(root, server)
        self.home = Home(root / "home", server.simple)
        self.pip_cache = root / "pip-cache"

    def pip_install(self, number, cache):
        target = self.root / f"pip-env-{number}"
        # pip makes its environment in the timed command too, as pkgd does.
        script = (f"{PYTHON} -m venv --without-pip --system-site-packages {target} && {self.pip} --python {target}/bin/python "
                  f"install -q --no-input --disable-pip-version-check --index-url {self.index} {cache} "
                  + " ".join(self.packages))
        return ["sh", "-c", script]

    def pkg_install(self, number):
        return ["pkg", "install", "-q", "--yes", "-e", f"env{number}", *self.packages]

    def forget_pkg(self, _):
        aside(self.home.root / "cache")
        (self.home.root / "cache").mkdir(mode=0o700)

    def subjects(self, cold):
        pip_args = f"--cache-dir {self.pip_cache} --trusted-host 127.0.0.1"
        yield Subject(f"pip {self.pip_version}", lambda n: self.pip_install(n, pip_args),
                      before=(lambda n: aside(self.pip_cache)) if cold else None, env=pip_environment())
        tag = "cold" if cold else "warm"
        yield Subject("pkgd", lambda n: ["pkg", "install", "-q", "--yes", "-e", f"{tag}{n}", *self.packages],
                      before=self.forget_pkg if cold else None, env=self.home.env)


def request_to_card(home, packages):
    """The time from the command to the card, as `pkg plan` shows it."""
    return Subject("pkgd: request to card", lambda n: ["pkg", "plan", "-q", "-e", f"card{n}", *packages], env=home.env)


def run(server, full):
    packages = WEB if full else WEB_SMALL
    root = pathlib.Path(tempfile.mkdtemp(prefix="pkgd-bench."))
    peers = Peers(root, server, packages)
    out, ratios = [], {}
    try:
        for cold in (True, False):
            pip, ours = peers.subjects(cold)
            measure([pip, ours])
            title = f"Install of {' '.join(packages)}, {'cold' if cold else 'warm'}"
            out.append(table(title, [pip, ours], pip))
            ratios["cold" if cold else "warm"] = 1 / ratio(ours, pip)
        dry = Subject(f"pip {peers.pip_version} --dry-run", lambda n: [
            peers.pip, "install", "-q", "--dry-run", "--disable-pip-version-check", "--ignore-installed", "--index-url",
            peers.index, "--cache-dir", peers.pip_cache, "--trusted-host", "127.0.0.1", *packages], env=pip_environment())
        card = request_to_card(peers.home, packages)
        noop_pip = Subject("pip, already satisfied", lambda n: [
            peers.pip, "--python", f"{root}/pip-env-1/bin/python", "install", "-q", "--disable-pip-version-check",
            "--index-url", peers.index, *packages], env=pip_environment())
        noop = Subject("pkgd, already satisfied", lambda n: ["pkg", "install", "-q", "-e", "warm1", *packages], env=peers.home.env)
        measure([dry, card])
        measure([noop_pip, noop])
        out.append(table("From the request to the card (plan only, warm)", [dry, card], dry))
        out.append(table("Nothing to do", [noop_pip, noop], noop_pip))
        ratios.update(plan=1 / ratio(card, dry), noop=1 / ratio(noop, noop_pip), pip=peers.pip_version)
    finally:
        peers.home.close()
        remove_tree(root)
    return "\n\n".join(out), ratios


if __name__ == "__main__":
    sys.exit("run tests/bench/run install")
