"""R: plans, builds in the sandbox, the build cache, failures with their causes. O70-O80, D11-D13, D19, T45-T49, T144:
rows of the list of behaviours that the product keeps."""
import hashlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import tarfile
import threading
import time
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from conftest import Failed, new_pkg, end_all, describe_tree

pytestmark = pytest.mark.skipif(shutil.which("Rscript") is None or shutil.which("gcc") is None,
                                reason="no R with a compiler")
DESCRIPTION = ("Package: {name}\nVersion: {version}\nTitle: T\nDescription: D.\nAuthor: N\n"
               "Maintainer: N <n@example.invalid>\nLicense: GPL-3\n{fields}")


class Repo:
    """A repository of made-up packages, served on loopback."""

    def __init__(self, base):
        self.contrib = base / "src" / "contrib"
        self.contrib.mkdir(parents=True)
        self.records = {}
        self.served = []
        repo = self

        class Handler(SimpleHTTPRequestHandler):
            def __init__(self, *args, **options):
                super().__init__(*args, directory=str(base), **options)

            def log_message(self, *args):
                repo.served.append(self.path)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def add(self, name, version="1.0", fields="", files=None, archive=False, index=None, code="hello <- function() 1\n"):
        """A package; fields: more of DESCRIPTION; index: what PACKAGES says instead."""
        text = DESCRIPTION.format(name=name, version=version, fields=fields)
        content = {"DESCRIPTION": text, "NAMESPACE": "export(hello)\n", "R/a.R": code, **(files or {})}
        folder = self.contrib / "Archive" / name if archive else self.contrib
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{name}_{version}.tar.gz"
        with tarfile.open(path, "w:gz") as tar:
            for inside, data in content.items():
                mode = 0o644
                if isinstance(data, tuple):
                    data, mode = data
                info = tarfile.TarInfo(f"{name}/{inside}")
                info.size, info.mode = len(data.encode()), mode
                tar.addfile(info, io.BytesIO(data.encode()))
        if not archive:
            md5 = hashlib.md5(path.read_bytes()).hexdigest()
            said = fields if index is None else index
            self.records[name] = f"Package: {name}\nVersion: {version}\n{said}MD5sum: {md5}\n"
            (self.contrib / "PACKAGES").write_text("\n".join(self.records.values()))
        return path

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def repo(tmp_path):
    made = []

    def make(name="repo"):
        made.append(Repo(tmp_path / name))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture(scope="module")
def rhome(mirror):
    """The module's home; its repository is the mirror."""
    one = new_pkg()
    one.configure({"r": {"repos": [mirror.cran]}})
    one.standard = one.config
    one.start()
    yield one
    end_all([one])


@pytest.fixture
def rpkg(rhome):
    yield rhome
    if rhome.config != rhome.standard:
        rhome.configure(rhome.standard)


def install(pkg, *packages, e, code=0, **options):
    return pkg.install(*packages, e=e, code=code, language="r", **options)


def changes(result):
    return {(c["name"], c["change"], c["from"], c["to"]) for c in result["changes"]}


def library(pkg, e):
    return pkg.prefix(e, "r") / "library"


def packages(pkg, e):
    rows = pkg.json("list", "-l", "r", "-e", e)["packages"]
    return {row["name"]: row["version"] for row in rows if row["owned"]}


def rscript(pkg, e, code, status=0, **options):
    """Run code in the environment, as `pkg run` does."""
    return pkg.run("run", "-l", "r", "-e", e, "--", "Rscript", "-e", code, code=status, **options)


def builds(pkg, result):
    log = pkg.run("jobs", "show", str(result["job"]), "--log").stdout
    return re.findall(r"building (\S+) \S+ \(\d", log)


# --- the first install ---


def test_pure_and_compiled_packages_are_built_and_can_be_loaded(rpkg, env):
    result = install(rpkg, "praise", "R6", "glue", e=env)
    assert (result["status"], result["language"], result["generation"], result["additive"]) == ("done", "r", 1, True)
    assert {name for name, change, _, _ in changes(result) if change == "added"} == {"praise", "R6", "glue"}
    assert rscript(rpkg, env, 'library(R6); library(glue); cat(glue("{1+1}"), nchar(praise::praise()) > 0)').stdout \
        == "2 TRUE"
    assert set(os.listdir(library(rpkg, env))) == {"praise", "R6", "glue"}
    rpkg.assert_clean()


def test_the_default_environment_is_the_one_that_run_looks_into(make_pkg, mirror):
    """T144, D13, T1."""
    pkg = make_pkg()
    pkg.configure({"r": {"repos": [mirror.cran]}})
    pkg.start()
    assert pkg.install("praise", language="r")["environment"] == "r"
    done = pkg.run("run", "-l", "r", "--", "Rscript", "-e", "library(praise); cat(.libPaths()[1])")
    assert done.stdout == str(pkg.prefix("r", "r") / "library")


def test_the_sandbox_has_what_r_needs_of_etc(rpkg, env):
    """T49, D12: utils loads, and Makeconf is there."""
    install(rpkg, "praise", e=env)
    assert rscript(rpkg, env, 'library(utils); cat(file.exists(file.path(R.home("etc"), "Makeconf")))').stdout == "TRUE"


def test_nothing_lands_in_another_library(rpkg, env):
    """T46: only the environment's own library has it."""
    install(rpkg, "praise", e=env)
    code = 'cat(vapply(.libPaths(), function(l) "praise" %in% list.files(l), NA))'
    assert rscript(rpkg, env, code).stdout.split()[0] == "TRUE"
    assert "TRUE" not in rscript(rpkg, env, code).stdout.split()[1:]
    assert not list((rpkg.root / "user").rglob("praise"))


def test_names_are_verbatim(rpkg, env):
    """T47, D11, O73: case and '.' mean something; the card says so and names the repository."""
    plan = rpkg.json("plan", "-l", "r", "-e", env, "synr.pure")
    assert [c["name"] for c in plan["changes"]] == ["synr.pure"]
    assert plan["changes"][0]["index"].endswith("/cran") and plan["changes"][0]["source"] == "sdist"
    assert re.fullmatch("[0-9a-f]{64}", plan["changes"][0]["sha256"])
    for wrong in ("synr-pure", "synr_pure", "1abc", "abc.", "R", "a", "-x", "praise/../x", "praise;q()"):
        done = rpkg.run("install", "-l", "r", "-e", env, "--yes", "--", wrong, code=2)
        assert done.stderr.strip() and done.stdout == ""
    assert install(rpkg, "Praise", e=env, code=1)["kind"] == "no-such-package"


def test_what_is_there_needs_no_card(rpkg, env):
    install(rpkg, "praise", "glue (>= 1.0)", e=env)
    before = rpkg.snapshot(env, "r")
    result = install(rpkg, "praise", "glue", e=env, yes=False)
    assert (result["status"], result["changes"]) == ("done", [])
    assert rpkg.snapshot(env, "r") == before
    # O57: files count, not memory.
    shutil.rmtree(library(rpkg, env).resolve() / "praise" / "Meta")
    assert install(rpkg, "praise", e=env, code=1)["kind"] == "environment-broken"


def test_base_packages_are_there_already(rpkg, env):
    result = install(rpkg, "stats", "MASS", e=env)
    assert (result["status"], result["changes"]) == ("done", [])


# --- versions ---


def test_a_version_of_the_archive(rpkg, env):
    result = install(rpkg, "synr.pure@1.0", e=env)
    assert changes(result) == {("synr.pure", "added", None, "1.0")}
    result = install(rpkg, "synr.diamond", e=env)
    assert ("synr.pure", "upgraded", "1.0", "2.0") in changes(result) and result["additive"] is False
    assert {r["reason"] for r in result["reasons"]} >= {"version-changed"}
    assert result["generation"] == 2
    assert packages(rpkg, env)["synr.pure"] == "2.0"


def test_a_limit_that_only_the_archive_meets(repo, rpkg, env):
    one = repo()
    one.add("lim.it", "3.0")
    one.add("lim.it", "1.0", archive=True)
    one.add("lim.it", "2.1-3", archive=True)
    one.add("lim.it", "2.1-10", archive=True)
    result = install(rpkg, "lim.it (>= 1.5, < 3)", e=env, repo=one.url)
    assert changes(result) == {("lim.it", "added", None, "2.1-10")}
    assert install(rpkg, "lim.it@9.9", e=env, repo=one.url, code=1)["kind"] == "no-such-version"


def test_upgrade_remove_and_rollback(rpkg, env):
    install(rpkg, "synr.pure@1.0", "praise", e=env)
    # What was asked for as one version stays it; asked for by name it is upgraded.
    assert rpkg.install(e=env, action="upgrade", language="r")["changes"] == []
    result = rpkg.install("synr.pure", e=env, action="upgrade", language="r")
    assert changes(result) == {("synr.pure", "upgraded", "1.0", "2.0")}
    install(rpkg, "synr.left", e=env)
    result = rpkg.install("synr.pure", e=env, action="remove", language="r")
    assert {(n, c) for n, c, _, _ in changes(result)} == {("synr.pure", "removed"), ("synr.left", "removed")}
    assert set(os.listdir(library(rpkg, env))) == {"praise"}
    rpkg.json("rollback", "-l", "r", "-e", env, "1", "--yes")
    assert packages(rpkg, env) == {"synr.pure": "1.0", "praise": "1.0.0"}


def test_an_upgrade_does_not_break_what_stays(repo, rpkg, env):
    one = repo()
    one.add("low.er", "1.0")
    one.add("needs.low", "1.0", "Imports: low.er (< 2.0)\n", code="hello <- function() low.er::hello()\n")
    install(rpkg, "needs.low", e=env, repo=one.url)
    one.add("low.er", "1.0", archive=True)
    one.add("low.er", "2.0")
    result = rpkg.install("low.er", e=env, action="upgrade", language="r", repo=one.url, code=1)
    assert result["kind"] == "conflicting-requirements" and "needs.low" in result["message"]


def test_repair_after_damage(rpkg, env):
    install(rpkg, "synr.pure@1.0", "praise", e=env)
    shutil.rmtree(library(rpkg, env).resolve() / "praise")
    assert rpkg.json("env", "repair", env, "-l", "r", "--yes")["status"] == "done"
    assert packages(rpkg, env) == {"synr.pure": "1.0", "praise": "1.0.0"}
    assert rscript(rpkg, env, "cat(praise::praise() != '')").stdout == "TRUE"


def test_another_minor_version_of_r_is_noticed(rpkg, env):
    install(rpkg, "praise", e=env)
    facts = json.loads(rpkg.rows("SELECT facts FROM env WHERE name = ?", env)[0][0])
    old = dict(facts, version="3.1.0")
    rpkg.execute("UPDATE env SET facts = ? WHERE name = ?", json.dumps(old), env)
    result = install(rpkg, "glue", e=env, code=1)
    assert result["kind"] == "environment-broken" and "repair" in result["cure"]
    assert rpkg.json("env", "repair", env, "-l", "r", "--yes")["status"] == "done"
    assert packages(rpkg, env) == {"praise": "1.0.0"}


# --- the build cache ---


def test_the_second_environment_builds_nothing(rpkg, env):
    first = install(rpkg, "synr.compiled", "synr.diamond", e=env)
    again = install(rpkg, "synr.compiled", "synr.diamond", e=env + "-2")
    assert len(again["changes"]) == len(first["changes"]) == 5 and builds(rpkg, again) == []
    assert rscript(rpkg, env + "-2", "cat(synr.compiled::hello())").stdout == "42"
    # Hard links: one file in both.
    files = [library(rpkg, e) / "synr.compiled" / "DESCRIPTION" for e in (env, env + "-2")]
    assert files[0].stat().st_ino == files[1].stat().st_ino


def test_a_dependency_of_another_version_is_another_build(repo, rpkg, env):
    one = repo()
    one.add("dep.a", "1.0", code="value <- 1\nhello <- function() value\n")
    one.add("uses.a", "1.0", "Imports: dep.a\n", files={"NAMESPACE": "export(hello)\nimportFrom(dep.a,hello)\n",
                                                      "R/a.R": "kept <- dep.a::hello()\nhello <- function() kept\n"})
    (one.contrib / "PACKAGES").write_text("\n".join(one.records.values()))
    install(rpkg, "uses.a", e=env, repo=one.url)
    one.add("dep.a", "2.0", code="value <- 2\nhello <- function() value\n")
    result = install(rpkg, "uses.a", e=env + "-2", repo=one.url)
    assert sorted(builds(rpkg, result)) == ["dep.a", "uses.a"]


def test_what_is_pruned_is_built_again(make_pkg, mirror):
    pkg = make_pkg()
    pkg.configure({"r": {"repos": [mirror.cran]}})
    pkg.start()
    install(pkg, "synr.pure", e="a")
    pkg.json("env", "remove", "a", "-l", "r", "--yes")
    pkg.execute("DELETE FROM package")
    pkg.json("cache", "prune")
    assert builds(pkg, install(pkg, "synr.pure", e="b")) == ["synr.pure"]
    # What an environment holds stays.
    pkg.json("cache", "prune")
    assert builds(pkg, install(pkg, "synr.pure", e="c")) == []


# --- failures ---

FAILURES = [
    ("synr.nosuch", "no-such-package", "synr.nosuch"),
    ("praisee", "no-such-package", "praisee"),
    ("synr.conflict", "no-such-version", "synr.conflict"),
    ("synr.conflict.lax", "no-such-version", "synr.pure"),
    ("synr.missingdep", "no-such-package", "synr.missingdep"),
    ("synr.newr", "no-such-version", "R (>= 99.0)"),
    ("synr.badmd5", "hash-mismatch", "MD5"),
    ("synr.mismatch", "corrupt-archive", "synr.other"),
    ("synr.traversal", "corrupt-archive", "synr.traversal"),
    ("synr.gone", "index-error", "404"),
    ("synr.compilefail", "missing-header", "syn_no_such_header.h"),
    ("synr.sysreq", "build-failed", "libsynthetic was not found"),
    ("synr.loadfail", "verify-failed", "SYN-LOADFAIL"),
    ("synr.pure (>= 9)", "no-such-version", "2.0"),
]


@pytest.mark.parametrize("package, kind, words", FAILURES, ids=[row[0] for row in FAILURES])
def test_a_failure_has_its_own_cause_and_changes_nothing(rpkg, package, kind, words):
    """T45: what R says with exit status 0 is a failure; O78: each cause has its own sentence."""
    if rpkg.snapshot("victim", "r") is None:
        install(rpkg, "praise", e="victim")
    before = rpkg.snapshot("victim", "r")
    result = install(rpkg, package, e="victim", code=1)
    assert (result["status"], result["kind"]) == ("failed", kind), result
    assert words in result["message"], result
    assert rpkg.snapshot("victim", "r") == before
    rpkg.assert_clean()


def test_a_name_that_is_almost_right_is_told(rpkg, env):
    assert "'praise'" in install(rpkg, "Praise", e=env, code=1)["cure"]


def test_an_archived_package_is_told_from_one_that_never_was(repo, rpkg, env):
    one = repo()
    one.add("other.pkg")
    one.add("gone.pkg", "0.9", archive=True)
    result = install(rpkg, "gone.pkg", e=env, repo=one.url, code=1)
    assert "archived" in result["message"] and "0.9" in result["message"] and "gone.pkg@0.9" in result["cure"]
    assert install(rpkg, "gone.pkg@0.9", e=env, repo=one.url)["status"] == "done"


def test_denied_unreachable_and_missing_differ(repo, rpkg, env, tmp_path):
    """D19: a network that says no is not a package that is not there."""
    one = repo()
    one.add("some.pkg")
    result = install(rpkg, "some.pkg", e=env, repo="http://127.0.0.1:9", code=1)
    assert result["kind"] == "index-unreachable", result
    result = install(rpkg, "some.pkg", e=env, repo=one.url + "/nothing", code=1)
    assert result["kind"] == "index-error" and "PACKAGES" in result["message"], result
    (one.contrib / "PACKAGES").write_text("<html>no index</html>\n")
    assert install(rpkg, "some.pkg", e=env, repo=one.url, code=1)["kind"] == "index-error"


def test_a_dead_repository_is_not_passed_over(repo, rpkg, env):
    """The one behind it might have another package of that name."""
    one = repo()
    one.add("some.pkg")
    result = install(rpkg, "some.pkg", e=env, repo=["http://127.0.0.1:9", one.url], code=1)
    assert result["kind"] == "index-unreachable" and "127.0.0.1:9" in result["message"]


def test_the_first_repository_that_has_a_name_answers_for_it(repo, rpkg, env):
    inner, outer = repo("inner"), repo("outer")
    inner.add("in.house", "1.0")
    outer.add("in.house", "99.0")
    outer.add("only.outer", "1.0", "Imports: in.house\n", code="hello <- function() in.house::hello()\n")
    result = install(rpkg, "only.outer", e=env, repo=[inner.url, outer.url])
    assert changes(result) == {("in.house", "added", None, "1.0"), ("only.outer", "added", None, "1.0")}
    assert install(rpkg, "in.house (>= 2)", e=env, repo=[inner.url, outer.url], code=1)["kind"] == "no-such-version"


def test_a_file_that_changes_under_its_version_is_an_alarm(repo, rpkg, env):
    one = repo()
    one.add("stable.pkg")
    install(rpkg, "stable.pkg", e=env, repo=one.url)
    one.add("stable.pkg", files={"R/b.R": "evil <- function() 1\n"})
    result = install(rpkg, "stable.pkg", e=env + "-2", repo=one.url, code=1)
    assert result["kind"] == "hash-mismatch" and "same version" in result["message"]


def test_suggestions_come_when_they_are_asked_for(repo, rpkg, env):
    one = repo()
    one.add("has.more", fields="Suggests: more.good, more.nowhere\n")
    one.add("more.good", fields="Suggests: more.far\n")
    one.add("more.far")
    install(rpkg, "has.more", e=env, repo=one.url)
    assert packages(rpkg, env) == {"has.more": "1.0"}
    result = install(rpkg, "has.more", e=env, repo=one.url, suggests=True)
    assert changes(result) == {("more.good", "added", None, "1.0")}


def test_a_cycle_is_told(repo, rpkg, env):
    one = repo()
    one.add("cyc.a", fields="Imports: cyc.b\n")
    one.add("cyc.b", fields="Imports: cyc.a\n")
    result = install(rpkg, "cyc.a", e=env, repo=one.url, code=1)
    assert result["kind"] == "resolution-failed" and "cyc.b" in result["message"]


def test_an_index_that_hides_a_need_is_found_out(repo, rpkg, env):
    one = repo()
    one.add("liar.pkg", fields="Imports: no.such.pkg\n", index="")
    result = install(rpkg, "liar.pkg", e=env, repo=one.url, code=1)
    assert result["kind"] == "corrupt-archive" and "no.such.pkg" in result["message"]


def test_a_missing_header_is_foreseen_on_the_card(repo, rpkg, env):
    one = repo()
    if os.path.exists("/usr/include/udunits2.h"):
        pytest.skip("udunits2.h is there")
    one.add("needs.units", fields="SystemRequirements: udunits-2\nNeedsCompilation: yes\n",
            files={"src/a.c": "#include <udunits2.h>\n", "NAMESPACE": "useDynLib(needs.units)\n"})
    plan = rpkg.json("plan", "-l", "r", "-e", env, "needs.units", "--repo", one.url)
    assert "udunits2.h" in plan["changes"][0]["system_note"]
    assert "libudunits2-dev" in rpkg.run("plan", "-l", "r", "-e", env, "needs.units", "--repo", one.url).stdout
    result = install(rpkg, "needs.units", e=env, repo=one.url, code=1)
    assert result["kind"] == "missing-header" and "libudunits2-dev" in result["cure"]


def test_a_repository_of_built_packages(repo, rpkg, env, tmp_path):
    """Posit's and others' for Linux: nothing is compiled, and none of its code runs to install it."""
    one = repo()
    path = one.add("pre.built", fields="NeedsCompilation: no\n")
    one.add("from.source", fields="Imports: pre.built\n", code="hello <- function() pre.built::hello()\n")
    (tmp_path / "lib").mkdir()
    subprocess.run(["R", "CMD", "INSTALL", "--build", f"--library={tmp_path}/lib", path], cwd=tmp_path, check=True,
                   capture_output=True)
    built = next(tmp_path.glob("pre.built_1.0_R_*.tar.gz"))
    shutil.copy(built, path)
    md5 = hashlib.md5(path.read_bytes()).hexdigest()
    one.records["pre.built"] = f"Package: pre.built\nVersion: 1.0\nMD5sum: {md5}\n"
    (one.contrib / "PACKAGES").write_text("\n".join(one.records.values()))
    plan = rpkg.json("plan", "-l", "r", "-e", env, "from.source", "--repo", one.url)
    assert {c["name"]: c["source"] for c in plan["changes"]} == {"pre.built": "wheel", "from.source": "sdist"}
    install(rpkg, "from.source", e=env, repo=one.url)
    assert rscript(rpkg, env, "cat(from.source::hello())").stdout == "1"
    # Of another R it is refused before anything is done.
    text = one.contrib / "PACKAGES"
    with tarfile.open(built) as tar:
        tar.extractall(tmp_path / "old")
    description = tmp_path / "old" / "pre.built" / "DESCRIPTION"
    description.write_text(re.sub("Built: R [0-9.]+", "Built: R 3.4.0", description.read_text())
                           .replace("pre.built", "old.built"))
    (tmp_path / "old" / "pre.built").rename(tmp_path / "old" / "old.built")
    with tarfile.open(one.contrib / "old.built_1.0.tar.gz", "w:gz") as tar:
        tar.add(tmp_path / "old" / "old.built", "old.built")
    text.write_text(text.read_text() + "\nPackage: old.built\nVersion: 1.0\n")
    result = install(rpkg, "old.built", e=env, repo=one.url, code=1)
    assert result["kind"] == "no-such-version" and "3.4.0" in result["message"]


def test_the_index_is_asked_for_once(rpkg, mirror, env):
    install(rpkg, "synr.pure", e=env)
    install(rpkg, "synr.unicode", e=env)
    assert [r["status"] for r in mirror.requests("*/PACKAGES.gz")][-1] == 304


# --- code that means harm ---

EVIL_MAKEVARS = """evil := $(shell for p in {paths}; do ls -d $$p >&2 && echo REACHED $$p >&2; done; \
touch /deps/x {outside}/was-here /src/x 2>&1 | head -1 >&2; echo looked >&2)
"""


def test_builds_see_nothing_that_is_not_theirs(repo, rpkg, env, tmp_path):
    one = repo()
    install(rpkg, "praise", e="bystander")
    secret = rpkg.root / "user" / "secret"
    secret.write_text("x")
    paths = " ".join(map(str, [secret, rpkg.home / "state", rpkg.home / "cache", rpkg.prefix("bystander", "r"),
                               rpkg.home / "run", "/etc/shadow", tmp_path]))
    script = f"#!/bin/sh\nfor p in {paths}; do ls -d $p && echo REACHED $p; done\n" \
             f"(echo > /dev/tcp/127.0.0.1/{one.server.server_port}) 2>/dev/null && echo REACHED network\necho looked\nenv\n"
    one.add("evil.pkg", fields="NeedsCompilation: yes\n",
            files={"configure": (script, 0o755), "NAMESPACE": "useDynLib(evil.pkg)\nexport(hello)\n",
                   "src/a.c": "int nothing(void) { return 1; }\n",
                   "src/Makevars": EVIL_MAKEVARS.format(paths=paths, outside=tmp_path)},
            code='hello <- function() 1\n.onLoad <- function(l, p) { '
                 f'if (file.exists("{secret}")) cat("REACHED secret\\n"); '
                 'try(writeLines("x", file.path(l, p, "DESCRIPTION")), silent = TRUE) }\n')
    before = rpkg.snapshot("bystander", "r")
    rpkg.env["SECRET_TOKEN"] = "t"
    try:
        result = install(rpkg, "evil.pkg", e=env, repo=one.url)
    finally:
        del rpkg.env["SECRET_TOKEN"]
    log = rpkg.run("jobs", "show", str(result["job"]), "--log").stdout
    assert log.count("looked") >= 2 and "REACHED" not in log and "SECRET_TOKEN" not in log
    assert not (tmp_path / "was-here").exists()
    assert "Package: evil.pkg" in (library(rpkg, env) / "evil.pkg" / "DESCRIPTION").read_text()
    assert rpkg.snapshot("bystander", "r") == before


def test_a_build_cannot_leave_links_or_bits(repo, rpkg, env):
    one = repo()
    one.add("bits.pkg", files={"configure": ("#!/bin/sh\nmkdir -p inst\necho x > inst/tool\nchmod 6777 inst/tool || chmod 777 inst/tool\n", 0o755)})
    install(rpkg, "bits.pkg", e=env, repo=one.url)
    assert (library(rpkg, env) / "bits.pkg" / "tool").stat().st_mode & 0o7777 == 0o555


def test_a_build_that_hangs_ends_at_its_limit_and_leaves_nothing(rpkg, env):
    rpkg.adjust(sandbox__limits__build__wall_seconds=3)
    result = install(rpkg, "synr.hang", e=env, code=1)
    assert result["kind"] == "timed-out", result
    rpkg.assert_clean()
    assert rpkg.snapshot(env, "r") is None


def test_a_build_that_is_cancelled_ends_at_once(rpkg, env):
    """T48: nothing hangs, no lock stays."""
    job = rpkg.submit("install", "synr.hang", environment=env, language="r")
    rpkg.answer(job)
    rpkg.wait_state(job, "building")
    time.sleep(1)
    start = time.monotonic()
    rpkg.api("DELETE", f"/v1/jobs/{job}", control=True)
    assert rpkg.wait_state(job)["state"] == "cancelled" and time.monotonic() - start < 10
    rpkg.assert_clean()
    assert install(rpkg, "praise", e=env)["status"] == "done"


def test_a_worker_that_is_killed_while_it_builds(rpkg, env):
    job = rpkg.submit("install", "synr.hang", "praise", environment=env, language="r")
    rpkg.answer(job)
    rpkg.wait_state(job, "building")
    time.sleep(1)
    for pid in rpkg.workers():
        os.kill(pid, signal.SIGKILL)
    assert rpkg.wait_state(job)["state"] == "interrupted"
    rpkg.assert_clean()
    assert install(rpkg, "praise", e=env)["status"] == "done"


def test_what_a_build_leaves_running_is_ended(rpkg, env):
    install(rpkg, "synr.daemon", e=env)
    rpkg.assert_clean()


# --- inside an environment ---


def test_installing_from_inside_leads_to_the_request(rpkg, env):
    install(rpkg, "praise", e=env)
    done = rscript(rpkg, env, 'install.packages("glue")', status=1)
    assert f"pkg install -l r -e {env} glue" in done.stderr
    assert rscript(rpkg, env, 'cat(R.version$major)').stdout.strip()


def test_a_hermetic_environment_has_base_and_its_own_alone(rpkg, env):
    install(rpkg, "praise", e=env, hermetic=True)
    paths = rscript(rpkg, env, 'writeLines(.libPaths())').stdout.split()
    assert len(paths) == 2 and paths[0] == str(library(rpkg, env))


def test_a_running_r_sees_what_was_added(rpkg, env, tmp_path):
    """The additive promise: no restart."""
    install(rpkg, "praise", e=env)
    work = tmp_path / "work"
    work.mkdir()
    code = ('library(praise); cat("ready\\n"); while (!requireNamespace("synr.unicode", quietly = TRUE)) Sys.sleep(0.1); '
            'cat(synr.unicode::hello(), "\\n"); writeLines("x", "done")')
    with rpkg.popen("run", "-l", "r", "-e", env, "--workspace", work, "--", "Rscript", "-e", code) as running:
        assert running.stdout.readline() == "ready\n"
        result = install(rpkg, "synr.unicode", e=env)
        assert (result["additive"], result["restart_due"]) == (True, [])
        assert running.stdout.readline().strip()
        assert running.wait(30) == 0


# --- lock files ---


def test_a_lock_file_there_and_back(rpkg, env, tmp_path):
    install(rpkg, "synr.pure@1.0", "praise", e=env)
    lock = tmp_path / "renv.lock"
    lock.write_text(rpkg.run("freeze", "-l", "r", "-e", env, "--json").stdout)
    parsed = json.loads(lock.read_text())
    assert parsed["Packages"]["synr.pure"] == {
        "Package": "synr.pure", "Version": "1.0", "Source": "Repository", "Repository": "CRAN"}
    rpkg.run("install", "-l", "r", "-e", env + "-2", "-r", lock, "--yes")
    assert packages(rpkg, env + "-2") == packages(rpkg, env)
    text = tmp_path / "packages.txt"
    text.write_text("# what it was\n" + rpkg.run("freeze", "-l", "r", "-e", env).stdout)
    rpkg.run("install", "-l", "r", "-e", env + "-3", "-r", text, "--yes")
    assert packages(rpkg, env + "-3") == packages(rpkg, env)


def test_a_lock_file_with_what_cannot_be_had_is_refused(rpkg, env, tmp_path):
    lock = tmp_path / "renv.lock"
    lock.write_text(json.dumps({"Packages": {"x": {"Package": "xx", "Version": "1.0", "Source": "GitHub"}}}))
    assert "GitHub" in rpkg.run("install", "-l", "r", "-e", env, "-r", lock, "--yes", code=1).stderr


# --- real packages ---

MANY = ["R6", "assertthat", "base64enc", "cli", "crayon", "digest", "glue", "jsonlite", "lifecycle", "magrittr", "mime",
        "pkgconfig", "praise", "rlang", "withr", "tibble", "vctrs", "Rcpp", "later", "data.table", "fastmap", "bit", "yaml"]


def test_real_packages_install_and_load(rpkg, env, mirror_tree):
    offered = (mirror_tree / "cran" / "src" / "contrib" / "PACKAGES").read_text()
    names = [name for name in MANY if f"Package: {name}\n" in offered]
    assert len(names) >= 15
    done = rpkg.run("install", "-l", "r", "-e", env, "--yes", "--json", *names, timeout=1500)
    assert json.loads(done.stdout.splitlines()[-1])["status"] == "done"
    code = "; ".join(f"library({name})" for name in names) + '; cat("all", digest::digest(1), jsonlite::toJSON(1:2))'
    assert rscript(rpkg, env, code).stdout.startswith("all")
    # No lock, no half of anything.
    assert not [n for n in os.listdir(library(rpkg, env)) if n.startswith("00LOCK")]
    check = rpkg.json("env", "show", env, "-l", "r")
    assert check["health"] == "ok"
