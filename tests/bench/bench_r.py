"""pkgd against install.packages(), renv and pak: the same closure from the same loopback repository, whole commands."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

from benchlib import Subject, aside, measure, ratio, remove_tree, table

PACKAGE, PACKAGE_SMALL = "tibble", "lifecycle"
ROUNDS = 2  # a cold one compiles for minutes


def r_environment(library=None):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("R_LIBS", "R_PROFILE", "R_ENVIRON", "RENV_", "PKG_"))}
    if library:
        env["R_LIBS_USER"] = str(library)
    return env


def has(package):
    code = f'quit(status = !requireNamespace("{package}", quietly = TRUE))'
    return subprocess.run(["Rscript", "-e", code], env=r_environment(), capture_output=True).returncode == 0


class Home:
    """A pkgd home with its daemon."""

    def __init__(self, root, cran):
        self.root = root
        self.env = {k: v for k, v in os.environ.items() if not k.startswith("XDG_")}
        self.env["PKGD_HOME"] = str(root)
        (root / "config").mkdir(parents=True)
        (root / "config" / "pkgd.json").write_text(json.dumps({"r": {"repos": [cran]}, "retention": {"generations": 0}}))
        self.daemon = subprocess.Popen(["pkgd"], env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                       start_new_session=True)
        while subprocess.run(["pkg", "list"], env=self.env, capture_output=True).returncode not in (0, 4):
            time.sleep(0.05)

    def forget(self, _):
        aside(self.root / "cache")
        (self.root / "cache").mkdir(mode=0o700)

    def close(self):
        self.daemon.send_signal(signal.SIGTERM)
        self.daemon.wait()


def peers(root, cran, package):
    """The others, each into an empty library, nothing cached. They must not believe themselves: what counts is that the
    package can be loaded from there."""
    def command(name, code):
        def make(number):
            library = root / f"{name}-{number}"
            library.mkdir()
            check = f'loadNamespace("{package}", lib.loc = "{library}")'
            return ["Rscript", "--vanilla", "-e", f'lib <- "{library}"; .libPaths(lib); options(repos = c(CRAN = "{cran}")); {code}; {check}']
        return make

    yield Subject("install.packages(Ncpus = 2)", command("ip2", f'install.packages("{package}", lib = lib, Ncpus = 2, quiet = TRUE)'),
                  env=r_environment())
    yield Subject("install.packages()", command("ip1", f'install.packages("{package}", lib = lib, quiet = TRUE)'),
                  env=r_environment())
    if has("renv"):
        yield Subject("renv", command("renv", f'renv::install("{package}", library = lib, prompt = FALSE)'),
                      env={**r_environment(), "RENV_CONFIG_CACHE_ENABLED": "FALSE"})
    if has("pak"):
        yield Subject("pak", command("pak", f'pak::pkg_install("{package}", lib = lib, ask = FALSE)'),
                      before=lambda n: aside(root / "pak-cache"),
                      env={**r_environment(), "R_PKG_CACHE_DIR": str(root / "pak-cache")})


def best_of(subjects, ours):
    """The one of them that is fastest beside ours."""
    return max(subjects, key=lambda subject: ratio(ours, subject))


def run(server, full):
    if not shutil.which("Rscript"):
        return "### R\n\nnot measured: no Rscript here", {}
    package = PACKAGE if full else PACKAGE_SMALL
    root = pathlib.Path(tempfile.mkdtemp(prefix="pkgd-bench-r."))
    home = Home(root / "home", server.cran)
    others = list(peers(root, server.cran, package))
    install = ["pkg", "install", "-q", "-l", "r", "--yes", "-e"]
    cold = Subject("pkgd, nothing cached", lambda n: [*install, f"cold{n}", package], before=home.forget, env=home.env)
    warm = Subject("pkgd, a further environment", lambda n: [*install, f"warm{n}", package], env=home.env)
    try:
        # Warm follows cold, whose builds it finds.
        measure([*others, cold, warm], rounds=ROUNDS, warmup=0)
    finally:
        home.close()
        remove_tree(root)
    best = best_of(others, cold)
    text = table(f"R: install of {package} and what it needs, from source", [*others, cold, warm], best)
    return text, {"r_cold": 1 / ratio(cold, best), "r_warm": 1 / ratio(warm, best), "r_peer": best.name}
