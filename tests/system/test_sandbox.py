"""The boundary as the product shows it: status, test, modes, and what happens where it cannot be had.

Machines without bubblewrap, or with one that confines nothing, are made by a mount namespace in which /usr/bin is
covered; only root can do that."""
import os
import pathlib
import shutil
import subprocess

import pytest

from conftest import PYTHON, ROOT

STATUS_KEYS = {"mode", "state", "backend", "enforced", "self_test_passed", "network_policy", "detail", "warning", "remedy"}
PURPOSES = ["probe", "plan", "build", "apply", "verify", "kernel"]
FAKE = """#!/bin/bash
# A bubblewrap that sets nothing up and runs the command.
[ "$1" = --version ] && { echo "bubblewrap 0.8.0"; exit 0; }
status=
while [ $# -gt 0 ] && [ "$1" != -- ]; do
	[ "$1" = --json-status-fd ] && status=$2
	shift
done
shift
[ -z "$status" ] || eval "echo '{ \\"child-pid\\": '$$' }' >&$status"
"$@"
code=$?
[ -z "$status" ] || eval "echo '{ \\"exit-code\\": '$code' }' >&$status"
exit $code
"""
BROKEN = """#!/bin/sh
[ "$1" = --version ] && { echo "bubblewrap 0.8.0"; exit 0; }
echo "bwrap: %s" >&2
exit 1
"""


@pytest.fixture
def machine(make_pkg, mirror):
    """machine(script=None): a home on a machine whose bwrap is that script, or which has none."""
    if os.geteuid() != 0:
        pytest.skip("only root can cover /usr/bin")

    def make(script=None, **config):
        pkg = make_pkg()
        pkg.configure({"python": {"interpreters": [PYTHON], "index_url": mirror.simple}, **config})
        upper, scratch = pkg.root / "upper", pkg.root / "scratch"
        upper.mkdir(), scratch.mkdir()
        cover = (f"mount -t overlay overlay -o lowerdir=/usr/bin,upperdir={upper},workdir={scratch} /usr/bin"
                 " && rm -f /usr/bin/bwrap")
        if script:
            (pkg.root / "bwrap").write_text(script)
            (pkg.root / "bwrap").chmod(0o755)
            cover += f" && cp {pkg.root}/bwrap /usr/bin/bwrap"
        inside = ["unshare", "--mount", "--propagation", "private", "/bin/sh", "-c", cover + ' && exec "$0" "$@"']
        if subprocess.run([*inside, "true"], capture_output=True).returncode:
            pytest.skip("no overlay file system here")
        with open(pkg.root / "pkgd.log", "ab") as log:
            pkg.daemon_process = subprocess.Popen([*inside, ROOT / "bin/pkgd"], env=pkg.env, stdin=subprocess.DEVNULL,
                                                  stdout=log, stderr=log, start_new_session=True)
        pkg.wait_until(pkg.is_serving, "the daemon to serve")
        return pkg

    return make


# --- a machine that has it ---


@pytest.fixture(scope="module")
def tested(module_pkg):
    """(status before any test, the test, status after it)."""
    before = module_pkg.json("sandbox", "status", code=None)
    test = module_pkg.json("sandbox", "test")
    return before, test, module_pkg.json("sandbox", "status")


def test_status_claims_only_what_was_shown(tested):  # T119, F3
    before, _, after = tested
    assert STATUS_KEYS <= set(before) and STATUS_KEYS <= set(after)
    assert before["mode"] == "enforce" and before["backend"] == "bubblewrap"
    if before["self_test_passed"] is not True:
        assert before["enforced"] is False and before["network_policy"] == "not_enforced" and before["warning"]
    assert (after["state"], after["enforced"], after["self_test_passed"], after["network_policy"]) == (
        "enabled", True, True, "blocked")
    assert after["warning"] is None and "bubblewrap" in after["detail"]


def test_every_purpose_is_probed_with_what_must_work_first(tested):
    test = tested[1]
    assert test["ok"] is True and [row["purpose"] for row in test["purposes"]] == PURPOSES
    for row in test["purposes"]:
        results = {check["name"]: check["result"] for check in row["checks"]}
        assert set(results.values()) <= {"pass", "skipped"}, row
        names = [check["name"] for check in row["checks"]]
        assert names.index("temporary-write") < names.index("granted-read") < names.index("outside-read")
        for name in ("outside-read", "outside-write", "network-loopback", "host-socket", "abstract-socket", "host-process",
                     "mount", "new-namespace", "no-capabilities", "descriptors"):
            assert results[name] == "pass"
        assert results["tree-write"] == "pass" and ("workspace-write" in results) == (row["purpose"] not in ("probe", "verify"))


def test_the_test_is_readable(house, tested):
    said = house.run("sandbox", "test").stdout
    assert said.count(" ok\n") == len(PURPOSES) and "FAIL" not in said
    assert "enabled" in house.run("sandbox", "status").stdout


# --- modes ---


@pytest.mark.parametrize("word", ["on", "Enforce", "", "none", "permissive"])
def test_an_unknown_mode_is_an_error_and_never_a_weaker_one(house, env, word):  # T128, F71
    house.adjust(sandbox__mode=word)
    done = house.run("install", "-e", env, "--yes", "syn-color", code=None)
    assert done.returncode not in (0, 3, 4, 5, 75) and "sandbox" in done.stderr
    assert not house.prefix(env).exists()


def test_off_says_so_everywhere(house, env):
    house.adjust(sandbox__mode="off")
    result = house.install("syn-color", e=env)
    assert result["status"] == "done" and result["boundary"].startswith("NO SANDBOX")


def test_a_result_names_the_boundary_it_was_made_in(house, env):
    assert house.install("syn-color", e=env)["boundary"].startswith("bubblewrap ")


# --- machines that do not ---


def test_without_bubblewrap_nothing_runs_and_the_cure_is_named(machine):
    pkg = machine()
    done = pkg.run("install", "--yes", "syn-color", code=6)
    assert "bubblewrap" in done.stderr.splitlines()[-1] and "install" in done.stderr.splitlines()[-1]
    result = pkg.install("syn-color", code=6)
    assert (result["status"], result["kind"]) == ("failed", "sandbox-unavailable") and result["cure"]
    status = pkg.json("sandbox", "status", code=6)
    assert (status["state"], status["enforced"], status["self_test_passed"]) == ("unavailable", False, None)
    assert "bubblewrap" in status["remedy"]
    pkg.run("sandbox", "test", code=6)
    pkg.assert_clean()
    assert not pkg.prefix().exists()


def test_auto_runs_without_and_says_so(machine):
    pkg = machine(sandbox={"mode": "auto"})
    result = pkg.install("syn-color")
    assert result["status"] == "done" and result["boundary"].startswith("NO SANDBOX")
    assert pkg.json("sandbox", "status", code=None)["warning"]


@pytest.mark.parametrize("mode", ["enforce", "auto"])
def test_a_bwrap_that_confines_nothing_fails_the_test(machine, mode):  # T129
    pkg = machine(FAKE, sandbox={"mode": mode})
    test = pkg.json("sandbox", "test", code=6)
    assert test["ok"] is False
    for row in test["purposes"]:
        failed = {check["name"] for check in row["checks"] if check["result"] == "FAIL"}
        assert {"outside-read", "network-loopback", "host-socket", "host-process"} <= failed, row
    status = pkg.json("sandbox", "status", code=6)
    assert (status["state"], status["self_test_passed"]) == ("unavailable", False)
    if mode == "enforce":
        assert pkg.install("syn-color", code=6)["kind"] == "sandbox-unavailable"
        assert not pkg.prefix().exists()
    else:
        assert pkg.install("syn-color")["boundary"].startswith("NO SANDBOX")


@pytest.mark.parametrize("said, words", [
    ("No permissions to create new namespace, likely because the kernel does not allow non-privileged user namespaces.", ""),
    ("Creating new namespace failed: Operation not permitted", ""),
    ("loopback: Failed RTM_NEWADDR: Operation not permitted", ""),
    ("Can't mount proc on /newroot/proc: Operation not permitted", ""),
])
def test_a_machine_that_forbids_it_is_told_what_to_change(machine, said, words):  # A34
    pkg = machine(BROKEN % said)
    result = pkg.install("syn-color", code=6)
    assert result["kind"] == "sandbox-unavailable" and result["cure"] and words in result["cure"]
    assert said[:20] in result["message"] or said[:20] in result["cure"] or result["message"]


def test_a_boundary_that_comes_is_used_at_once(machine):  # A33
    pkg = machine()
    assert pkg.install("syn-color", code=6)["kind"] == "sandbox-unavailable"
    shutil.copy("/usr/bin/bwrap", pkg.root / "real")
    pid = pkg.daemon_process.pid
    subprocess.run(["nsenter", "-t", str(pid), "-m", "cp", pkg.root / "real", "/usr/bin/bwrap"], check=True)
    result = pkg.install("syn-color")
    assert result["status"] == "done" and result["boundary"].startswith("bubblewrap ")
