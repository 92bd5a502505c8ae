"""The main job: what installs, plans, removals, switches and questions do and print. Tnn, Onn, Dnn: rows of the list
of behaviours that the product keeps."""
import json
import os
import re
import shutil
import subprocess

import pytest

from conftest import PYTHON, describe_tree

RESULT_KEYS = {"type", "job", "status", "kind", "message", "environment", "language", "generation", "revision",
               "additive", "reasons", "changes"}
CHANGE_KEYS = {"name", "change", "from", "to"}
HEX = re.compile("^[0-9a-f]{64}$")


def changes(result):
    return {(c["name"], c["change"], c["from"], c["to"]) for c in result["changes"]}


def reasons(result):
    return {(r["reason"], r["name"]) for r in result["reasons"]}


def cards(pkg, everything=False):
    return pkg.json("cards", "list", *(["--all"] if everything else []))["cards"]


def host_has(module):
    done = subprocess.run([PYTHON, "-I", "-c", f"import {module}"], capture_output=True)
    return done.returncode == 0


class Kernel:
    """A long-lived interpreter of an environment, as a notebook has one."""

    def __init__(self, pkg, name):
        loop = "import sys\nspace = {}\nfor line in sys.stdin:\n" \
            "    try: print(eval(compile(line, 'cell', 'eval'), space))\n" \
            "    except SyntaxError: exec(line, space); print('ok')\n" \
            "    except Exception as e: print(type(e).__name__)\n    sys.stdout.flush()\n"
        self.process = subprocess.Popen([pkg.prefix(name) / "bin" / "python", "-c", loop], env=pkg.env, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.process.stdin.close()
        self.process.wait(20)
        self.process.stdout.close()


# --- the first install ---


def test_the_first_install_creates_the_environment(house, env):
    result = house.install("syn-app", e=env)
    assert RESULT_KEYS <= set(result) and result["type"] == "result"
    assert (result["status"], result["kind"], result["environment"], result["language"]) == (
        "done", None, env, "python")
    assert (result["generation"], result["revision"], result["additive"]) == (1, 0, True)
    assert changes(result) == {("syn-app", "added", None, "1.0"), ("syn-lib", "added", None, "2.0")}
    assert all(set(c) == CHANGE_KEYS for c in result["changes"])
    assert reasons(result) == {("added", "syn-app"), ("added", "syn-lib")}
    assert all(set(r) == {"reason", "name"} for r in result["reasons"])
    assert house.python("import syn_app, syn_lib; print(syn_app.__file__)", env).startswith(str(house.prefix(env)))
    assert house.python("import sys; print(sys.prefix)", env) == str(house.prefix(env))
    house.assert_clean()


def test_an_install_without_a_name_goes_where_default_looks(make_pkg, mirror):
    """T1: one function resolves the name, whoever asks (O3); DEFAULT in any case is the same."""
    pkg = make_pkg()
    pkg.configure({"python": {"interpreters": [PYTHON], "index_url": mirror.simple}})
    pkg.start()
    assert pkg.install("syn-color")["environment"] == "python"
    for name in ("default", "Default", "python"):
        assert pkg.json("list", "-e", name)["packages"] == pkg.json("list")["packages"]
        assert pkg.json("env", "show", name)["prefix"] == str(pkg.prefix("python"))
    assert pkg.packages() == {"syn-color": "1.0"}
    # T37: nothing of a cache inside the environment.
    assert not [p for p in pkg.prefix().rglob("*") if p.suffix == ".whl" or "cache" == p.name]


@pytest.mark.skipif(not host_has("pytest"), reason="the interpreter has nothing to inherit")
def test_a_first_environment_keeps_the_packages_of_the_host(house, env):
    """T3, T34, T35: inherited packages can be imported, are listed as such, and are not owned."""
    house.install("syn-color", e=env)
    assert house.python("import pytest; print('yes')", env) == "yes"
    rows = {p["name"].lower(): p for p in house.json("list", "-e", env, "--all")["packages"]}
    assert rows["pytest"]["owned"] is False and rows["pytest"]["requested"] is False
    assert house.packages(env) == {"syn-color": "1.0"}
    before = len(cards(house, True))
    result = house.install("pytest", e=env, yes=False)
    assert (result["status"], result["changes"]) == ("done", [])
    assert len(cards(house, True)) == before
    # T35: an absent name has no version.
    assert house.run("show", "-e", env, "syn-app", code=4)


@pytest.mark.skipif(not host_has("pytest"), reason="the interpreter has nothing to inherit")
def test_a_hermetic_environment_inherits_nothing(house, env):
    house.install("syn-color", e=env, hermetic=True)
    house.python("import pytest", env, code_expected=1)
    assert house.python("import syn_color; print('yes')", env) == "yes"
    assert house.json("env", "show", env)["hermetic"] is True
    assert "creates" not in house.json("plan", "-e", env, "syn-app") or \
        house.json("plan", "-e", env, "syn-app")["creates"] is None


@pytest.mark.skipif(not host_has("packaging"), reason="the interpreter does not have 'packaging'")
def test_another_version_than_the_inherited_one_is_not_additive(house, env):
    """T33: judged by what the environment resolves, not by what it owns."""
    house.install("syn-color", e=env)
    code = "import importlib.metadata as m; print(m.version('packaging'))"
    host = house.python(code, env)
    asked = house.json("plan", "-e", env, f"packaging=={host}")
    assert asked["changes"] == []
    other = "25.0" if host != "25.0" else "23.0"
    result = house.install(f"packaging=={other}", e=env)
    assert result["additive"] is False
    assert {("version-changed", "packaging"), ("shadows-inherited", "packaging")} <= reasons(result)
    assert (result["generation"], result["revision"]) == (2, 0)
    assert house.python(code, env) == other


# --- the second: additive or not ---


def test_an_additive_install_reaches_a_running_kernel(house, env):
    """T141: variables stay, the new package can be imported, and nothing is due."""
    house.install("syn-lib==1.0", e=env)
    before = house.snapshot(env)
    with Kernel(house, env) as kernel:
        assert kernel("x = 41") == "ok"
        assert kernel("__import__('syn_lib').__name__") == "syn_lib"
        assert kernel("__import__('syn_app')") == "ModuleNotFoundError"
        row = house.api("POST", "/v1/kernels", {"environment": env, "pid": kernel.process.pid, "label": "nb"})
        result = house.install("syn-app", e=env)
        assert (result["generation"], result["revision"], result["additive"]) == (1, 1, True)
        assert changes(result) == {("syn-app", "added", None, "1.0")}
        assert result["restart_due"] == []
        assert kernel("__import__('syn_app').__name__") == "syn_app"
        assert kernel("x + 1") == "42"
        result = house.install("syn-lib==2.0", e=env)
        assert (result["generation"], result["revision"], result["additive"]) == (2, 0, False)
        assert result["restart_due"] == [row["id"]]
        shown = house.json("env", "show", env)["kernels"]
        assert [(k["id"], k["generation"], k["restart_due"]) for k in shown] == [(row["id"], 1, True)]
        assert kernel("x + 1") == "42"
        # An environment is not taken away from under a kernel.
        refused = house.json("env", "remove", env, "--yes", code=1)
        assert refused["kind"] == "busy"
    after = house.snapshot(env)
    assert before["target"] != after["target"]
    for name, content in before["files"].items():
        if "syn_lib" not in name:
            assert after["files"][name] == content, name


def test_a_pinned_request_over_another_version_asks_and_changes_it(house, env):
    """T32 and O57: 'already satisfied' is judged by version, and is answered without a card."""
    house.install("syn-lib==1.0", e=env)
    asked = len(cards(house, True))
    for words in (["syn-lib"], ["syn-lib==1.0"], ["syn-lib>=1,<2"], ["SYN_Lib"], ["syn.lib~=1.0"],
                  ["syn-nowhere; python_version < '3'"]):
        result = house.install(*words, e=env, yes=False)
        assert (result["status"], result["changes"], result["additive"]) == ("done", [], True), words
        assert (result["generation"], result["revision"]) == (1, 0)
    assert len(cards(house, True)) == asked
    result = house.install("syn-lib==2.0", e=env)
    assert changes(result) == {("syn-lib", "upgraded", "1.0", "2.0")}
    assert (result["generation"], result["revision"], result["additive"]) == (2, 0, False)
    assert reasons(result) == {("version-changed", "syn-lib")}
    assert len(cards(house, True)) == asked + 1
    result = house.install("syn-lib==1.0", e=env)
    assert changes(result) == {("syn-lib", "downgraded", "2.0", "1.0")}
    assert (result["generation"], result["additive"]) == (3, False)
    assert house.packages(env) == {"syn-lib": "1.0"}


def test_satisfied_means_present_in_the_tree(house, env):
    """D9: a package whose files are gone is not 'already installed'."""
    house.install("syn-color", "syn-lib", e=env)
    shutil.rmtree(house.site_packages(env) / "syn_color")
    house.python("import syn_color", env, code_expected=1)
    result = house.install("syn-color", e=env, code=(0, 1))
    if result["status"] != "done":
        assert result["kind"] == "environment-broken" and "repair" in result["cure"]
        house.json("env", "repair", env, "--yes")
    assert house.python("import syn_color, syn_lib; print('yes')", env) == "yes"


def test_an_upgrade_leaves_nothing_of_the_old_version(house, env):
    house.install("syn-upgrade==1.0", e=env)
    old = set(house.snapshot(env)["files"])
    result = house.install("syn-upgrade", e=env, action="upgrade")
    assert ("syn-upgrade", "upgraded", "1.0", "2.0") in changes(result)
    new = set(house.snapshot(env)["files"])
    assert not [f for f in new if "syn_upgrade-1.0" in f]
    assert old - new and house.packages(env)["syn-upgrade"] == "2.0"
    # A second time there is nothing to do, and nobody is asked.
    result = house.install("syn-upgrade", e=env, action="upgrade", yes=False)
    assert (result["status"], result["changes"]) == ("done", [])


def test_upgrade_without_names_takes_what_was_asked_for(house, env):
    house.install("syn-lib==1.0", "syn-base==1.0", e=env)
    house.install("syn-app", e=env)
    result = house.install(action="upgrade", e=env)
    assert result["status"] == "done"
    assert house.packages(env)["syn-app"] == "1.0"


def test_remove_takes_what_needs_the_package_with_it(house, env):
    house.install("syn-app", "syn-color", e=env)
    result = house.install("syn-lib", e=env, action="remove")
    assert changes(result) == {("syn-lib", "removed", "2.0", None), ("syn-app", "removed", "1.0", None)}
    assert (result["generation"], result["additive"]) == (2, False)
    assert reasons(result) == {("removed", "syn-lib"), ("removed", "syn-app")}
    assert house.packages(env) == {"syn-color": "1.0"}
    house.python("import syn_app", env, code_expected=1)
    assert not [f for f in house.snapshot(env)["files"] if "syn_app" in f or "syn_lib" in f]


def test_what_is_not_there_or_not_owned_is_not_removed(house, env):
    house.install("syn-color", e=env)
    before = house.snapshot(env)
    assert house.install("syn-lib", e=env, action="remove", code=4)["kind"] == "not-found"
    if host_has("pytest"):
        refused = house.install("pytest", e=env, action="remove", code=2)
        assert "inherited" in refused["message"] and "hermetic" in refused["cure"]
    assert house.install("syn-color", e="never-made", action="remove", code=4)["kind"] == "not-found"
    assert house.snapshot(env) == before


# --- plan, card, answer ---


def test_plan_prints_the_whole_change_and_stops(house, env, mirror):
    asked = len(cards(house, True))
    plan = house.json("plan", "-e", env, "syn-app")
    assert {"hash", "changes", "download_bytes", "restart"} <= set(plan) and HEX.match(plan["hash"])
    assert plan["restart"]["additive"] is True and plan["restart"]["reasons"]
    by_name = {c["name"]: c for c in plan["changes"]}
    assert set(by_name) == {"syn-app", "syn-lib"}
    for change in by_name.values():
        assert {"name", "change", "from", "to", "file", "sha256", "size", "index", "source"} <= set(change)
        assert HEX.match(change["sha256"]) and change["file"].endswith(".whl") and change["source"] == "wheel"
        assert change["index"] == mirror.simple and change["size"] > 0
    assert plan["download_bytes"] == sum(c["size"] for c in plan["changes"])
    assert by_name["syn-app"]["requested"] and not by_name["syn-lib"]["requested"]
    assert house.snapshot(env) is None and len(cards(house, True)) == asked
    text = house.run("plan", "-e", env, "syn-app").stdout
    assert "syn-app" in text and "syn_lib-2.0-py3-none-any.whl" in text and by_name["syn-lib"]["sha256"] in text
    # The same question has the same hash, and the card of the real thing too.
    assert house.json("plan", "-e", env, "syn-app")["hash"] == plan["hash"]
    assert house.install("syn-app", e=env)["plan_hash"] == plan["hash"]
    # The verdict is there before anything is installed.
    plan = house.json("plan", "-e", env, "syn-lib==1.0")
    assert plan["restart"]["additive"] is False
    assert {(r["reason"], r["name"]) for r in plan["restart"]["reasons"]} == {("version-changed", "syn-lib")}
    assert house.json("plan", "-e", env, "syn-lib", "--action", "remove")["restart"]["additive"] is False


def test_no_wait_returns_with_75_and_the_job(house, env):
    """O86: nothing may be reported as done; T36 for the answer."""
    result = house.install("syn-color", e=env, yes=False, no_wait=True, code=75)
    assert result["status"] == "pending" and result["job"] > 0
    job = result["job"]
    card = next(c for c in cards(house) if c["job"] == job)
    assert {"id", "state", "job", "plan"} <= set(card) and card["state"] == "pending"
    assert [c["name"] for c in card["plan"]["changes"]] == ["syn-color"]
    assert house.snapshot(env) is None
    shown = house.run("cards", "show", card["id"]).stdout
    assert "syn-color" in shown and "syn_color-1.0-py3-none-any.whl" in shown
    house.json("cards", "approve", card["id"])
    result = house.json("jobs", "watch", job)
    assert (result["status"], result["generation"]) == ("done", 1)
    again = house.json("cards", "approve", card["id"], code=1)
    assert again["kind"] == "already-answered"


def test_a_waiting_install_goes_on_when_another_command_approves(house, env):
    waiting = house.popen("install", "-e", env, "syn-color", "--json")
    card = house.wait_until(
        lambda: next((c for c in cards(house) if c["plan"]["environment"] == env), None), "the card")
    house.run("cards", "approve", card["id"], "-m", "go on")
    out, err = waiting.communicate(timeout=60)
    assert waiting.returncode == 0, err
    assert json.loads(out.splitlines()[-1])["status"] == "done"
    assert house.packages(env) == {"syn-color": "1.0"}
    assert house.json("cards", "show", card["id"])["message"] == "go on"


def test_a_denial_ends_the_waiting_install_with_the_words_of_who_denied(house, env):
    waiting = house.popen("install", "-e", env, "syn-color", "--json")
    card = house.wait_until(
        lambda: next((c for c in cards(house) if c["plan"]["environment"] == env), None), "the card")
    house.json("cards", "deny", card["id"], "--message", "not on a Friday")
    out, err = waiting.communicate(timeout=60)
    result = json.loads(out.splitlines()[-1])
    assert (waiting.returncode, result["status"], result["kind"]) == (3, "denied", "denied"), err
    assert "not on a Friday" in result["message"]
    # O88: the same keys however it ended.
    assert RESULT_KEYS <= set(result) and result["changes"] == [] == result["reasons"]
    assert house.snapshot(env) is None
    house.assert_clean()


def test_two_open_questions_of_one_environment_hold_nothing_up(house, env):
    """A card holds no lock; T20: a plan that another change overtook is made again, and only another plan asks again."""
    house.install("syn-lib==1.0", e=env)
    first = house.install("syn-color", e=env, yes=False, no_wait=True, code=75)["job"]
    second = house.install("syn-lib==2.0", e=env, yes=False, no_wait=True, code=75)["job"]
    assert house.install("syn-base==1.0", e=env)["revision"] == 1
    # Still the same change: no second question.
    house.answer(first)
    assert house.json("jobs", "watch", first)["status"] == "done"
    # The upgrade's ground is gone: what was approved would not be what happens.
    house.install("syn-lib", e=env, action="remove")
    old = house.get_job(second)["card"]
    house.answer(second)
    card = house.wait_until(lambda: (c := house.get_job(second)["card"]) != old and c, "a second card")
    assert house.get_job(second)["state"] == "pending"
    assert house.json("cards", "show", card)["plan"]["changes"][0]["change"] == "added"
    house.answer(second)
    assert house.json("jobs", "watch", second)["status"] == "done"
    assert house.packages(env) == {"syn-base": "1.0", "syn-color": "1.0", "syn-lib": "2.0"}


def test_an_answer_may_name_the_plan_it_means(house, env):
    job = house.install("syn-color", e=env, yes=False, no_wait=True, code=75)["job"]
    card = house.get_job(job)["card"]
    status, envelope = house.request(
        "POST", f"/v1/cards/{card}", {"answer": "approve", "plan_hash": "0" * 64}, control=True)
    assert status == 409 and envelope["type"] == "error"
    assert house.get_job(job)["state"] == "pending"
    plan_hash = house.get_job(job)["plan_hash"]
    house.answer(job, plan_hash=plan_hash)
    assert house.wait_state(job)["state"] == "done"


# --- words ---


@pytest.mark.parametrize("words", [
    ["numpy >= "], ["numpy>"], ["numpy=="], ["numpy=1"], [""], ["=="], ["[x]"], ["@ http://127.0.0.1/x.whl"],
    ["numpy @"], ["a b"], ["a;"], ["a; python_version"], ["a; nonsense == '1'"], ["a[b"], ["a[,]"], ["a=="], ["a,b"],
    ["./dist/x.whl"], ["../x"], ["/etc/passwd"], ["a\nb"], ["a==1.0;os_name=='posix' or"], ["--", "-rfile"],
    ["--", "--index-url=http://127.0.0.1/"], ["--", "-e."], ["http://127.0.0.1/x.whl"], ["a @ file:///etc/passwd"],
    ["a>=1.0.*"], ["a~=1"], ["a==1..0"], ["é"],
], ids=repr)
def test_what_is_no_requirement_is_refused_with_its_place(house, words):
    """T50, O61: matched end to end, nothing guessed, no option gets through."""
    jobs = len(house.rows("SELECT id FROM job"))
    done = house.run("install", "--json", "--no-wait", *words, code=2)
    error = json.loads(done.stdout.splitlines()[-1])
    assert error["kind"] in ("invalid-requirement", "invalid-request") and error["message"]
    assert not words[-1] or words[-1][0] in error["message"]
    assert len(house.rows("SELECT id FROM job")) == jobs
    # The same by the API, which nothing reads on the way.
    status, envelope = house.request("POST", "/v1/jobs", {"action": "install", "requirements": [words[-1]]})
    assert (status, envelope["type"]) == (400, "error")
    assert len(house.rows("SELECT id FROM job")) == jobs


def test_the_place_of_a_fault_is_told_by_a_mark_or_a_number(house):
    done = house.run("install", "--no-wait", "syn-app>=1.0,==", code=2)
    assert re.search(r"(column|position|character|at) ?\d+|\^", done.stderr), done.stderr


def test_a_range_is_kept_whole(house, env):
    """T50: nothing is split at an operator."""
    plan = house.json("plan", "-e", env, "syn-lib>=1.0,<2", "syn-base >= 1 , != 3.0")
    assert {(c["name"], c["to"]) for c in plan["changes"]} == {("syn-lib", "1.0"), ("syn-base", "2.0")}
    assert plan["requested"] == ["syn-lib<2,>=1.0", "syn-base!=3.0,>=1"] or "syn-lib" in plan["requested"][0]


def test_extras_and_markers(house, env):
    plan = house.json("plan", "-e", env, "syn-extras[color]")
    assert {c["name"] for c in plan["changes"]} == {"syn-extras", "syn-color"}
    plan = house.json("plan", "-e", env, "syn-extras[Bad_Name]", "syn-lib; python_version < '3'")
    assert {c["name"] for c in plan["changes"]} >= {"syn-extras"}
    assert "syn-lib" not in {c["name"] for c in plan["changes"]}
    result = house.install("syn-markers", e=env)
    assert {c["name"] for c in result["changes"]} == {"syn-markers", "syn-linux", "syn-py3"}


def test_names_are_the_same_however_they_are_written(house, env):
    """O55."""
    house.install("Syn.Mixed_case-NAME", e=env)
    assert {n.lower().replace("_", "-").replace(".", "-").replace("--", "-") for n in house.packages(env)} == {
        "syn-mixed-case-name"}
    assert house.install("syn_mixed.CASE--name", e=env, yes=False)["changes"] == []


def test_requirements_and_constraints_files(house, env, tmp_path):
    (tmp_path / "more").mkdir()
    (tmp_path / "r.txt").write_text("# what we need\nsyn-app  # with a comment\n-r more/r.txt\nsyn-base \\\n  >=1\n\n")
    (tmp_path / "more" / "r.txt").write_text("syn-color\n-c c.txt\n")
    (tmp_path / "more" / "c.txt").write_text("syn-lib<2\nsyn-many-00==0.1\n")
    (tmp_path / "c.txt").write_text("syn-base<3\n")
    result = house.install("syn-py3", e=env, requirement=tmp_path / "r.txt", constraint=tmp_path / "c.txt")
    assert house.packages(env) == {"syn-app": "1.0", "syn-lib": "1.0", "syn-color": "1.0", "syn-base": "2.0",
                                   "syn-py3": "1.0"}
    requested = {p["name"] for p in house.json("list", "-e", env)["packages"] if p["requested"]}
    assert requested == {"syn-app", "syn-color", "syn-base", "syn-py3"}
    assert result["status"] == "done"


@pytest.mark.parametrize("text, line", [
    ("syn-app\n\nsyn-lib==\n", 3), ("--index-url http://127.0.0.1/\n", 1), ("syn-app\n-e .\n", 2),
    ("./x.whl\n", 1), ("syn-app\n-r missing.txt\n", 2), ("syn-app --hash=md5:00\n", 1),
    ("-r r.txt\n", 1), ("--find-links /tmp\n", 1),
])
def test_a_fault_in_a_requirements_file_has_file_and_line(house, env, tmp_path, text, line):
    (tmp_path / "r.txt").write_text(text)
    done = house.run("install", "-e", env, "-r", tmp_path / "r.txt", "--no-wait", code=(1, 2, 4))
    assert f"r.txt:{line}" in done.stderr or "missing.txt" in done.stderr or "r.txt" in done.stderr
    assert house.snapshot(env) is None


def test_hashes_of_a_requirements_file_are_kept_to(house, env, tmp_path):
    sha = next(c for c in house.json("plan", "-e", env, "syn-color")["changes"])["sha256"]
    (tmp_path / "good.txt").write_text(f"syn-color==1.0 --hash=sha256:{sha}\n")
    (tmp_path / "bad.txt").write_text(f"syn-color==1.0 --hash=sha256:{'0' * 64}\n")
    result = house.install(e=env, requirement=tmp_path / "bad.txt", code=1)
    assert (result["status"], result["kind"]) == ("failed", "hash-mismatch")
    assert house.snapshot(env) is None
    assert house.install(e=env, requirement=tmp_path / "good.txt")["status"] == "done"


def test_a_direct_url_is_shown_whole(house, env, mirror):
    """D1: the card says where the bytes come from."""
    url = mirror.url + "/pypi/packages/syn-color/syn_color-1.0-py3-none-any.whl"
    plan = house.json("plan", "-e", env, f"syn-color @ {url}")
    assert plan["changes"][0]["url"] == url and plan["changes"][0]["index"] is None
    assert HEX.match(plan["changes"][0]["sha256"])
    job = house.install(f"syn-color @ {url}", e=env, yes=False, no_wait=True, code=75)["job"]
    assert url in house.json("cards", "show", house.get_job(job)["card"])["text"]
    house.answer(job)
    assert house.wait_state(job)["state"] == "done"
    assert house.python("import syn_color; print('yes')", env) == "yes"
    # Asked for by URL, present from that URL: nothing to do.
    result = house.install(f"syn-color @ {url}#sha256={'0' * 64}", e=env, code=(0, 1))
    assert result["status"] == "done" or result["kind"] in ("hash-mismatch", "resolution-failed")


# --- sources ---


def test_sources_only_with_source(house, env):
    """T38, O62: 'no wheel' is not 'no such package', and the cure is named."""
    result = house.install("syn-sdist-only", e=env, code=1)
    assert (result["status"], result["kind"]) == ("failed", "no-wheel") and "--source" in result["cure"]
    plan = house.json("plan", "-e", env, "syn-sdist-only", "--source")
    assert plan["changes"][0]["source"] == "sdist" and plan["changes"][0]["file"].endswith(".tar.gz")
    job = house.install("syn-sdist-only", e=env, yes=False, no_wait=True, source=True, code=75)["job"]
    assert "SOURCE" in house.json("cards", "show", house.get_job(job)["card"])["text"]
    house.run("jobs", "cancel", job)
    result = house.install("syn-sdist-only", e=env, source=True)
    assert result["status"] == "done"
    assert house.python("import syn_sdist_only; print('yes')", env) == "yes"


def test_a_build_backend_in_the_tree_and_dependencies_known_late(house, env):
    assert house.install("syn-sdist-pep517", e=env, source=True)["status"] == "done"
    result = house.install("syn-sdist-dynamic", e=env, source=True)
    assert result["status"] == "done" and len(result["changes"]) >= 2
    assert "syn-sdist-dynamic" in house.packages(env)


def test_a_c_extension_is_built_once(house, env):
    assert house.install("syn-sdist-c", e=env, source=True)["status"] == "done"
    assert house.python("import syn_sdist_c; print('yes')", env) == "yes"
    result = house.install("syn-sdist-c", e=env + "2", source=True)
    assert result["status"] == "done"
    rows = [row for _, row in house.events(result["job"])]
    building = [n for n, r in enumerate(rows) if r["type"] == "state" and r["state"] == "building"]
    assert not [r for r in rows[building[0]:] if r["type"] == "output"], "it was built again"


# --- what else changes ---


def test_yanked_files_are_left_out_unless_pinned(house, env):
    assert house.json("plan", "-e", env, "syn-yanked")["changes"][0]["to"] == "1.0"
    change = house.json("plan", "-e", env, "syn-yanked==1.1")["changes"][0]
    assert (change["to"], change["yanked"]) == ("1.1", True)
    assert house.install("syn-yanked==1.1", e=env)["status"] == "done"


def test_prereleases_epochs_and_build_numbers(house, env):
    def chosen(*words):
        return house.json("plan", "-e", env, *words)["changes"][0]["to"]

    assert chosen("syn-pre") == "1.0.post1"
    assert chosen("syn-pre", "--pre") == "2.0.dev1"
    assert chosen("syn-only-pre") == "0.1b1"
    assert chosen("syn-epoch") == "1!0.1"
    assert house.json("plan", "-e", env, "syn-buildtag")["changes"][0]["file"] == "syn_buildtag-1.0-2-py3-none-any.whl"
    assert chosen("syn-pyver") == "1.0"


def test_a_startup_file_is_not_additive(house, env):
    house.install("syn-color", e=env)
    result = house.install("syn-pth", e=env)
    assert result["additive"] is False and ("startup-file", "syn-pth") in reasons(result)
    assert result["generation"] == 2


@pytest.mark.skipif(not host_has("six"), reason="the interpreter does not have 'six'")
def test_what_shadows_an_inherited_module_is_not_additive(house, env):
    """Another distribution with the same module; the standard library comes first on the path, so it is not shadowed."""
    house.install("syn-color", e=env)
    assert house.json("plan", "-e", env, "syn-shadow")["restart"]["additive"] is True
    plan = house.json("plan", "-e", env, "syn-clobber")
    assert plan["restart"]["additive"] is False
    assert ("shadows-inherited", "syn-clobber") in {(r["reason"], r["name"]) for r in plan["restart"]["reasons"]}


def test_two_wheels_with_one_path_are_told_and_make_a_generation_of_their_own(house, env):
    """D14: bytes at a path that another distribution owns are never changed under a running kernel."""
    house.install("syn-color", e=env)
    one = house.snapshot(env)
    tree = house.prefix(env).resolve()
    for package in ("syn-overwrite", "syn-overwrite-same"):
        plan = house.json("plan", "-e", env, package)
        told = {(r["reason"], r["name"], r["detail"]) for r in plan["restart"]["reasons"]}
        assert [r for r in told if r[:2] == ("path-overwritten", package) and "syn_color/__init__.py" in r[2]]
        assert plan["restart"]["additive"] is False
    result = house.install("syn-overwrite", e=env, code=(0, 1))
    if result["status"] == "done":
        assert (result["generation"], result["additive"]) == (2, False)
    else:
        assert result["kind"] == "path-conflict"
    # The generation of before is as it was.
    assert {n: c for n, c in one["files"].items() if "syn_color" in n} == {
        n: c for n, c in describe_tree(tree).items() if "syn_color" in n}
    # Both at once, into nothing.
    reasons_ = house.json("plan", "-e", env + "2", "syn-color", "syn-overwrite")["restart"]["reasons"]
    assert "path-overwritten" in {r["reason"] for r in reasons_}


def test_scripts_data_files_and_names_of_all_kinds(house, env):
    house.install("syn-layout", "syn-unicode", "syn-longname", "syn-manyfiles", e=env)
    scripts = {p.name for p in (house.prefix(env) / "bin").iterdir()}
    made = scripts - {"python", "python3", "activate", "activate.csh", "activate.fish", "Activate.ps1"}
    made = {s for s in made if not s.startswith("python3.")}
    assert made
    for name in made:
        path = house.prefix(env) / "bin" / name
        assert os.access(path, os.X_OK)
        first = path.read_bytes().split(b"\n")[0]
        if first.startswith(b"#!") and b"python" in first:
            assert str(house.prefix(env)).encode() in first
    assert house.python("import syn_manyfiles; print('yes')", env) == "yes"
    # T46: all below the environment's prefix, nothing elsewhere.
    assert house.python("import syn_layout; print(syn_layout.__file__)", env).startswith(str(house.prefix(env)))
    assert not list((house.root / "user").rglob("*"))


def test_solvable_puzzles_are_solved(house, env):
    result = house.install("syn-diamond", "syn-cycle", e=env)
    owned = house.packages(env)
    assert owned["syn-base"] == "2.0" and {"syn-cycle", "syn-cycle-b"} <= set(owned)
    assert house.json("plan", "-e", env, "syn-backtrack")["restart"]["additive"] is True
    assert result["status"] == "done"


def test_the_index_on_the_card_is_the_only_one(make_pkg, mirror, serve):
    """T51, O42, D5: neither pip's environment variables nor its files add an index."""
    trap = serve()
    pkg = make_pkg()
    pkg.configure({"python": {"interpreters": [PYTHON], "index_url": mirror.simple}})
    conf = f"[global]\nindex-url = {trap.simple}\nextra-index-url = {trap.private}\nfind-links = {trap.url}\n"
    for place in (".pip/pip.conf", ".config/pip/pip.conf"):
        (pkg.root / "user" / place).parent.mkdir(parents=True)
        (pkg.root / "user" / place).write_text(conf)
    pkg.start(PIP_INDEX_URL=trap.simple, PIP_EXTRA_INDEX_URL=trap.private, PIP_FIND_LINKS=trap.url,
              PIP_CONFIG_FILE=str(pkg.root / "user" / ".pip" / "pip.conf"))
    result = pkg.json("plan", "syn-color")
    assert result["changes"][0]["index"] == mirror.simple
    assert pkg.install("syn-internal", "syn-private-only", code=1)["kind"] == "no-such-package"
    assert pkg.install("syn-color")["status"] == "done"
    assert trap.requests() == []
    # With a second index of our own both are asked, and the card says which file is from where.
    plan = pkg.json("plan", "syn-private-only", "--extra-index-url", mirror.private)
    assert plan["changes"][0]["index"] == mirror.private


def test_a_secret_in_an_index_url_is_refused(house, env, mirror):
    """T65: it would be stored and shown."""
    url = mirror.simple.replace("http://", "http://user:secret@")
    done = house.run("install", "-e", env, "syn-color", "--index-url", url, "--no-wait", code=2)
    assert "secret" not in done.stderr.replace("a secret", "") or "user:secret" not in done.stderr


# --- history, rollback, retention ---


def test_history_tells_every_change_in_order(house, env):
    """O6: what was asked, by whom, which plan, how it ended."""
    house.install("syn-lib==1.0", e=env, label="notebook 7")
    house.install("syn-lib==2.0", e=env)
    house.install("syn-nowhere", e=env, code=1)
    house.install("syn-lib", e=env, action="remove")
    rows = sorted(house.json("history", "-e", env)["history"], key=lambda row: row["seq"])
    assert [(r["action"], r["result"], r["kind"]) for r in rows] == [
        ("install", "done", None), ("install", "done", None), ("install", "failed", "no-such-package"),
        ("remove", "done", None)]
    assert [r["generation"] for r in rows] == [1, 2, 2, 3]
    assert rows[0]["asked"]["requirements"] == ["syn-lib==1.0"] and rows[0]["label"] == "notebook 7"
    assert all(r["uid"] == os.getuid() for r in rows)
    assert HEX.match(rows[1]["plan_hash"]) and rows[1]["changes"][0]["change"] == "upgraded"
    assert rows[2]["changes"] == []
    text = house.run("history", "-e", env).stdout
    assert "syn-lib==1.0" in text and "failed" in text


def test_rollback_goes_back_and_to_a_number(house, env):
    house.install("syn-lib==1.0", e=env)
    one = house.snapshot(env)
    house.install("syn-lib==2.0", e=env)
    house.install("syn-color", e=env)
    two = house.snapshot(env)
    result = house.install(action="rollback", e=env)
    assert (result["status"], result["generation"], result["revision"], result["additive"]) == ("done", 1, 0, False)
    assert changes(result) == {("syn-lib", "downgraded", "2.0", "1.0"), ("syn-color", "removed", "1.0", None)}
    assert house.snapshot(env)["files"] == one["files"] and house.snapshot(env)["target"] == one["target"]
    result = house.install("2", action="rollback", e=env)
    assert (result["generation"], result["revision"]) == (2, 1)
    assert house.snapshot(env)["files"] == two["files"]
    # Where one is already: nothing happens.
    assert house.install("2", action="rollback", e=env)["generation"] == 2
    assert house.install("7", action="rollback", e=env, code=4)["kind"] == "not-found"
    # T19: a number is a number.
    for bad in ("../../r/1", "-1", "0", "1x", ""):
        done = house.run("rollback", "-e", env, "--yes", "--", bad, code=2)
        assert "rollback" in done.stderr or bad in done.stderr
    # A change after a rollback gets a number that was never used.
    assert house.install("syn-lib==1.0", e=env)["generation"] == 3


def test_old_generations_go_when_the_rule_says_so(house, env):
    house.adjust(retention__generations=1)
    for version in ("1.0", "2.0", "3.0", "1.0"):
        house.install(f"syn-base=={version}", e=env)
    shown = {g["number"]: g for g in house.json("env", "show", env)["generations"]}
    assert shown[4]["current"] and not shown[4]["retired"]
    assert [n for n, g in sorted(shown.items()) if not g["retired"]] == [3, 4]
    snapshot = house.snapshot(env)
    assert snapshot["trees"] == ["3", "4"]
    house.assert_clean()
    assert house.install("1", action="rollback", e=env, code=4)["kind"] == "not-found"
    assert house.install(action="rollback", e=env)["generation"] == 3
    assert house.packages(env) == {"syn-base": "3.0"}


# --- list, show, environments ---


def test_list_and_show(house, env):
    house.install("syn-app", e=env)
    listing = house.json("list", "-e", env)
    assert {"environment", "language", "generation", "revision", "packages"} <= set(listing)
    assert (listing["environment"], listing["language"], listing["generation"], listing["revision"]) == (
        env, "python", 1, 0)
    owned = [p for p in listing["packages"] if p["owned"]]
    assert [set(p) >= {"name", "version", "requested", "owned"} for p in owned] == [True, True]
    assert {(p["name"], p["version"], p["requested"]) for p in owned} == {
        ("syn-app", "1.0", True), ("syn-lib", "2.0", False)}
    text = house.run("list", "-e", env).stdout
    assert "syn-app" in text and "syn-lib" in text
    assert "syn-app" in house.run("show", "-e", env, "syn-app").stdout
    assert house.run("show", "-e", env, "nothing", code=4)
    error = house.json("list", "-e", "not-made", code=4)
    assert error["kind"] == "not-found"


def test_env_create_list_show_remove(house, env):
    result = house.json("env", "create", env)
    assert (result["status"], result["generation"], result["changes"]) == ("done", 1, [])
    shown = house.json("env", "show", env)
    assert {"project", "language", "name", "prefix", "generation", "revision", "hermetic", "interpreter", "health",
            "packages", "requested", "created", "updated", "busy", "generations", "kernels"} <= set(shown)
    assert (shown["health"], shown["packages"], shown["busy"], shown["hermetic"]) == ("ok", 0, 0, False)
    assert shown["interpreter"].startswith("CPython 3.")
    # T15, O25: creating it again is no change.
    (house.prefix(env) / "marker").write_text("mine")
    assert house.json("env", "create", env)["status"] == "done"
    assert (house.prefix(env) / "marker").read_text() == "mine"
    assert env in {e["name"] for e in house.json("env", "list")["environments"]}
    assert env in house.run("env", "list").stdout
    result = house.json("env", "remove", env, "--yes")
    assert result["status"] == "done"
    assert house.snapshot(env) is None and not os.path.lexists(house.prefix(env))
    house.assert_clean()
    assert house.json("env", "show", env, code=4)["kind"] == "not-found"
    # The name is free again, and the old trees are not in the way.
    assert house.install("syn-color", e=env)["generation"] == 1


def test_projects_keep_their_environments_apart(house, env):
    house.run("install", "-p", "one", "-e", env, "--yes", "syn-lib==1.0")
    house.run("install", "-p", "two", "-e", env, "--yes", "syn-color")
    one = house.json("list", "-p", "one", "-e", env)["packages"]
    assert [p["name"] for p in one if p["owned"]] == ["syn-lib"]
    assert house.prefix(env, project="two").is_symlink()
    assert house.json("list", "-e", env, code=4)


@pytest.mark.parametrize("name", ["", " ", "-x", ".x", "_x", "a b", "a/b", "..", "../x", "a\n", "ä", "x" * 65, "a:b",
                                  "a\\b", "a*"], ids=repr)
def test_names_are_one_word_and_no_path(house, name):
    """O2."""
    for field in ("environment", "project"):
        status, envelope = house.request(
            "POST", "/v1/jobs", {"action": "install", "requirements": ["syn-color"], field: name})
        assert status == 400 and envelope["result"]["kind"] == "invalid-request", envelope
    house.run("list", f"--environment={name}", code=2)


def test_names_that_differ_in_case_only_do_not_live_together(house, env):
    """O2's FIX: on a case-folding file system they would be one directory."""
    house.install("syn-color", e=env)
    result = house.install("syn-color", e=env.upper(), code=1)
    assert result["kind"] in ("already-exists", "invalid-request") and env in result["message"]
    assert not os.path.lexists(house.prefix(env.upper()))


def test_an_environment_below_a_symlink(make_pkg, mirror, tmp_path):
    """T10: paths are compared by what they are, not by how they are spelt."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    pkg = make_pkg(where=tmp_path / "link")
    pkg.configure({"python": {"interpreters": [PYTHON], "index_url": mirror.simple}})
    pkg.start()
    assert pkg.install("syn-app")["status"] == "done"
    assert pkg.python("import syn_app; print('yes')") == "yes"
    assert pkg.install("syn-color")["revision"] == 1


# --- interpreters ---


def fake(path, text, mode=0o755):
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def test_a_bad_candidate_does_not_end_the_search(make_pkg, mirror, tmp_path):
    """T9, T14, O11: not executable, not JSON, one that hangs, one that is not there; then the good one. Why each lost
    is told."""
    pkg = make_pkg()
    bad = [fake(tmp_path / "plain", "#!/bin/sh\necho no\n", 0o644), fake(tmp_path / "text", "#!/bin/sh\necho hello\n"),
           fake(tmp_path / "hang", "#!/bin/sh\nsleep 1000\n"), str(tmp_path / "missing")]
    pkg.configure({"python": {"interpreters": [*bad, PYTHON], "index_url": mirror.simple},
                   "sandbox": {"limits": {"probe": {"wall_seconds": 2}}}})
    pkg.start()
    result = pkg.json("env", "create")
    assert result["status"] == "done"
    assert pkg.python("import sys; print(sys.base_prefix)") == subprocess.run(
        [PYTHON, "-c", "import sys; print(sys.base_prefix)"], capture_output=True, text=True).stdout.strip()
    candidates = {c["path"]: c for c in pkg.api("GET", "/v1/interpreters?language=python")["candidates"]}
    for path in bad:
        assert candidates[path]["accepted"] is False and candidates[path]["reasons"], path
    assert candidates[PYTHON]["accepted"] is True
    doctor = pkg.run("doctor", code=None)
    assert all(path in doctor.stdout for path in bad)


def test_no_usable_interpreter_names_every_candidate_and_the_cure(make_pkg, mirror, tmp_path):
    """T6, T7, T16, O10, O24: only what was measured is said, and no tree is left."""
    liar = fake(tmp_path / "liar", "#!/bin/sh\nexit 0\n")
    pkg = make_pkg()
    pkg.configure({"python": {"interpreters": [liar], "index_url": mirror.simple}})
    pkg.start()
    result = pkg.install("syn-color", python=liar, code=1)
    assert (result["status"], result["kind"]) == ("failed", "no-interpreter")
    assert liar in result["message"] and result["cure"]
    result = pkg.install("syn-color", python="2.6", code=1)
    assert result["kind"] == "no-interpreter"
    assert pkg.snapshot() is None
    pkg.assert_clean()


def relocated_interpreter(prefix):
    """An interpreter that lives and dies apart from the system's: its binary copied, its library linked."""
    facts = subprocess.run([PYTHON, "-c", "import os, sys, sysconfig; print(os.path.realpath(sys.executable), "
                            "sysconfig.get_path('stdlib'))"], capture_output=True, text=True, check=True).stdout.split()
    (prefix / "bin").mkdir(parents=True)
    (prefix / "lib").mkdir()
    shutil.copy2(facts[0], prefix / "bin" / "python3")
    (prefix / "lib" / os.path.basename(facts[1])).symlink_to(facts[1])
    return prefix / "bin" / "python3"


def test_a_broken_environment_is_noticed_and_repaired_from_its_history(make_pkg, mirror, tmp_path):
    """O28, T143: the base interpreter died."""
    base = relocated_interpreter(tmp_path / "opt")
    pkg = make_pkg()
    pkg.configure({"python": {"interpreters": [str(base), PYTHON], "index_url": mirror.simple}})
    pkg.start()
    pkg.install("syn-app", python=str(base))
    pkg.install("syn-lib==1.0")
    assert str(base.parent) in pkg.json("env", "show")["interpreter"]
    shutil.rmtree(tmp_path / "opt")
    shown = pkg.json("env", "show")
    assert shown["health"] != "ok" and "repair" in shown["health"]["cure"]
    assert str(base) in pkg.run("doctor", code=None).stdout or "repair" in pkg.run("doctor", code=None).stdout
    assert "repair" in pkg.run("list").stderr + pkg.run("env", "show").stdout
    refused = pkg.install("syn-color", code=1)
    assert refused["kind"] == "environment-broken" and "repair" in refused["cure"]
    result = pkg.json("env", "repair", "--yes")
    assert (result["status"], result["generation"]) == ("done", 3)
    assert pkg.packages() == {"syn-app": "1.0", "syn-lib": "1.0"}
    assert pkg.python("import syn_app, syn_lib; print('yes')") == "yes"
    assert pkg.json("env", "show")["health"] == "ok"
    # Nothing is wrong: nothing is done.
    assert pkg.json("env", "repair", "--yes")["generation"] == 3


def test_removing_an_environment_names_only_what_it_owns(house, env):
    made = house.json("env", "create", env)
    assert made["status"] == "done" and "new" in made["message"]
    assert [p for p in house.json("list", "-e", env)["packages"] if not p["owned"]], "something is inherited"
    gone = house.json("env", "remove", env, "--yes")
    assert (gone["status"], gone["changes"], gone["reasons"]) == ("done", [], [])


# --- jobs, requests, exits ---


def test_starting_the_daemon_installs_nothing(make_pkg, mirror):
    """T23."""
    pkg = make_pkg()
    pkg.configure({"python": {"interpreters": [PYTHON], "index_url": mirror.simple}})
    requests = len(mirror.requests())
    pkg.start()
    assert pkg.json("jobs", "list", "--all")["jobs"] == []
    assert pkg.json("env", "list")["environments"] == []
    assert len(mirror.requests()) == requests


def test_a_request_with_the_same_key_is_one_job(house, env):
    body = {"action": "install", "requirements": ["syn-color"], "environment": env}
    headers = {"Idempotency-Key": f"{env}-1"}
    jobs = {house.api("POST", "/v1/jobs", body, headers=headers)["job"] for _ in range(5)}
    assert len(jobs) == 1
    other = house.api("POST", "/v1/jobs", body, headers={"Idempotency-Key": f"{env}-2"})["job"]
    assert other not in jobs
    for job in [*jobs, other]:
        house.wait_state(job, "pending")
        house.api("DELETE", f"/v1/jobs/{job}")
    assert {house.wait_state(job)["state"] for job in [*jobs, other]} == {"cancelled"}


def test_usage_errors_say_what_was_meant(house):
    assert "install" in house.run("instal", "x", code=2).stderr
    assert "--environment" in house.run("list", "--enviroment", "x", code=2).stderr
    assert house.run("install", code=2).stderr
    assert house.run("jobs", "show", "abc", code=2).stderr
    assert house.json("jobs", "show", "999999", code=4)["kind"] == "not-found"
    assert house.json("cards", "approve", "999999", code=4)["kind"] == "not-found"
    assert "usage" in house.run("--help").stdout.lower() or "install" in house.run("--help").stdout
    error = house.json("install", "syn-app==", "--no-wait", code=2)
    assert {"kind", "message"} <= set(error)


def test_no_daemon_and_none_may_be_started(make_pkg):
    pkg = make_pkg()
    done = pkg.run("list", code=5, env={"PKGD_NO_START": "1"})
    assert "pkgd" in done.stderr


def test_a_failure_says_what_and_because_with_the_cure_last(house, env):
    done = house.run("install", "-e", env, "syn-nowhere", "--yes", code=1)
    last = done.stderr.strip().splitlines()[-1]
    result = house.json("install", "-e", env, "syn-nowhere", "--yes", code=1)
    assert result["message"] and result["cure"] and result["cure"] in last
    assert result["message"] in done.stderr


def test_yes_needs_the_right_to_answer(make_pkg, mirror):
    """--yes approves through the control socket, so it works only for who may."""
    if os.getuid() != 0:
        pytest.skip("needs another user")
    pkg = make_pkg()
    pkg.configure({"python": {"interpreters": [PYTHON], "index_url": mirror.simple}})
    pkg.start()
    os.rename(pkg.socket(control=True), pkg.home / "run" / "hidden")
    done = pkg.run("install", "syn-color", "--yes", "--json", code=None)
    assert done.returncode in (3, 5), done.stdout + done.stderr
    os.rename(pkg.home / "run" / "hidden", pkg.socket(control=True))
    assert pkg.snapshot() is None


def test_every_option_in_the_help_is_understood(house):
    """T67: no option that nothing reads. Each command's help names it, and the command takes it."""
    text = house.run("help").stdout
    for command in ("install", "remove", "upgrade", "rollback", "plan", "list", "show", "history", "env", "cards",
                    "jobs", "sandbox", "config", "cache", "audit", "reconcile", "doctor"):
        assert re.search(rf"\b{command}\b", text), command
    for option in ("--environment", "--language", "--project", "--index-url", "--extra-index-url", "--python",
                   "--hermetic", "--source", "--yes", "--no-wait", "--json"):
        assert option in house.run("help", "install").stdout


def test_doctor_and_other_views_answer(house, env):
    house.install("syn-color", e=env)
    for words in (["doctor"], ["sandbox", "status"], ["config", "show"], ["cache", "info"], ["audit"],
                  ["jobs", "list"], ["cards", "list", "--all"], ["kernel", "list"], ["config", "path"]):
        done = house.run(*words)
        assert done.stdout.strip() or words[0] in ("kernel", "jobs", "cards")
        assert isinstance(house.json(*words), dict)


def test_audit_has_request_plan_answer_and_result(house, env):
    house.adjust(python__engine="pip")
    job = house.install("syn-color", e=env)["job"]
    rows = [r for line in house.lines("audit") for r in line.get("rows", [line])]
    types = {r["type"] for r in rows if r.get("data", {}) and r["data"].get("job") == job}
    assert {"request", "answer", "result", "connection"} <= types, types
