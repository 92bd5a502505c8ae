"""Both resolvers, pkgd's own and pip, on one index: the same plan, the same kind of refusal."""
import json

import pytest

from conftest import PYTHON, end_all, new_pkg
from mirrorfix import MirrorServer

# What has to come out the same, however it was found.
FIELDS = ("name", "change", "from", "to", "file", "sha256", "size", "index", "source", "url", "yanked", "uploaded",
          "requested")

SETS = [
    ["six"],
    ["six==1.16.0"],
    ["requests"],
    ["requests", "urllib3<2"],
    ["jinja2", "python-dateutil"],
    ["numpy"],
    ["attrs", "packaging", "click", "tqdm"],
    ["certifi", "idna", "charset-normalizer", "colorama"],
    ["pyyaml"],
    ["setuptools", "wheel"],
    ["syn-app"],
    ["syn-app", "syn-lib<2"],
    ["syn-backtrack"],
    ["syn-cycle"],
    ["syn-diamond"],
    ["syn-extras"],
    ["syn-extras[color]"],
    ["syn-extras[all]"],
    ["syn-extras[nosuch]"],
    ["syn-markers"],
    ["syn-epoch"],
    ["syn-buildtag"],
    ["syn-linux"],
    ["syn-pyver"],
    ["syn-py3"],
    ["syn-pre"],
    ["syn-pre>=1.1a1"],
    ["syn-pre", "--pre"],
    ["syn-only-pre"],
    ["syn-yanked"],
    ["syn-yanked==1.1"],
    ["syn-mixed-case-name"],
    ["Syn.Mixed_Case-Name"],
    ["syn-unicode"],
    ["syn-longname"],
    ["syn-nohash"],
    ["syn-notime"],
    ["syn-internal"],
    ["syn-base", "syn-left", "syn-right"],
    ["syn-upgrade==1.0"],
    ["syn-upgrade"],
    ["syn-week", "syn-fresh"],
    ["syn-layout", "syn-color"],
    [f"syn-many-{n:02}" for n in range(20)],
]

# Refusals; pip has words for them, we have kinds.
REFUSED = [
    (["nosuchpackage"], "no-such-package"),
    (["six>=99"], "no-such-version"),
    (["syn-conflict"], "conflicting-requirements"),
    (["syn-needs1", "syn-needs2"], "conflicting-requirements"),
    (["six>=1.17", "six<1.17"], "conflicting-requirements"),
    (["syn-pyfuture"], "requires-python"),
    (["syn-sdist-only"], "no-wheel"),
    (["syn-othertags"], "no-wheel"),
    (["syn-htmlname"], "no-such-version"),
    (["syn-notazip"], "corrupt-archive"),
    (["syn-yanked-all"], "no-such-version"),
    (["syn-missing-dep"], "no-such-package"),
    (["syn-mismatch"], "corrupt-archive"),
]


class Engines:
    """Two homes that differ in their engine, and the index of both."""

    def __init__(self, tree, **options):
        self.mirror = MirrorServer(tree, **options)
        self.homes = {}
        for engine in ("native", "pip"):
            one = new_pkg()
            one.configure({"python": {"interpreters": [PYTHON], "index_url": self.mirror.simple}})
            one.start(PKGD_PYTHON_ENGINE=engine)
            self.homes[engine] = one

    def close(self):
        self.mirror.stop()
        end_all(list(self.homes.values()))

    def plan(self, engine, *args):
        """(exit status, plan or refusal) of `pkg plan`."""
        done = self.homes[engine].run("plan", "--json", *args, code=None)
        return done.returncode, json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def engines(mirror_tree):  # noqa: F811
    one = Engines(mirror_tree)
    yield one
    one.close()


def changes(plan):
    return [{key: change.get(key) for key in FIELDS} for change in plan["changes"]]


def both_plan_the_same(engines, wanted):
    ours = engines.plan("native", *wanted)
    theirs = engines.plan("pip", *wanted)
    assert ours[0] == theirs[0] == 0, (ours, theirs)
    assert changes(ours[1]) == changes(theirs[1])
    assert ours[1]["restart"] == theirs[1]["restart"]
    assert ours[1]["download_bytes"] == theirs[1]["download_bytes"]


@pytest.mark.parametrize("wanted", SETS, ids=lambda words: " ".join(words)[:40])
def test_both_resolve_to_the_same_files(engines, wanted):
    both_plan_the_same(engines, [*wanted, "--hermetic"])


# Of the synthetic ones nothing is installed anywhere.
@pytest.mark.parametrize("wanted", [s for s in SETS if not s[0].startswith("syn-")],
                         ids=lambda words: " ".join(words)[:40])
def test_both_make_the_same_of_what_is_inherited(engines, wanted):
    both_plan_the_same(engines, wanted)


@pytest.mark.parametrize("wanted, kind", REFUSED, ids=lambda value: value if isinstance(value, str) else " ".join(value))
def test_both_refuse_with_the_same_kind(engines, wanted, kind):
    ours = engines.plan("native", "--hermetic", *wanted)
    theirs = engines.plan("pip", "--hermetic", *wanted)
    assert (ours[0], ours[1].get("kind")) == (1, kind), ours
    assert (theirs[0], theirs[1].get("kind")) == (1, kind), theirs


def test_a_conflict_is_explained_from_its_facts(engines):
    code, answer = engines.plan("native", "syn-needs1", "syn-needs2")
    assert code == 1
    assert "because" in answer["message"] and "you asked for" in answer["message"]


def test_a_plan_that_was_made_before_asks_the_index_for_no_page(mirror_tree, make_pkg):
    with MirrorServer(mirror_tree) as mirror:
        pkg = make_pkg()
        pkg.configure({"python": {"interpreters": [PYTHON], "index_url": mirror.simple}})
        pkg.start(PKGD_PYTHON_ENGINE="native")
        pkg.json("plan", "requests")
        asked = len(mirror.requests("*/simple/*"))
        assert asked > 1
        pkg.json("plan", "requests")
        assert len(mirror.requests("*/simple/*")) == asked


def test_a_page_that_is_no_longer_fresh_is_asked_for_with_its_tag(mirror_tree, make_pkg):
    with MirrorServer(mirror_tree) as mirror:
        pkg = make_pkg()
        pkg.configure({"python": {"interpreters": [PYTHON], "index_url": mirror.simple}})
        pkg.start(PKGD_PYTHON_ENGINE="native")
        pkg.json("plan", "syn-app")
        for entry in pkg.home.glob("cache/index/*/*"):
            head, _, rest = entry.read_text().partition("\n")
            entry.write_text(json.dumps({**json.loads(head), "fresh_until": 0}) + "\n" + rest)
        pkg.json("plan", "syn-app")
        assert [r["status"] for r in mirror.requests("*/simple/syn-app/")] == [200, 304]


def test_html_and_json_give_the_same(mirror_tree, make_pkg):
    found = []
    for options in ({}, {"no_json": True}):
        with MirrorServer(mirror_tree, **options) as mirror:
            pkg = make_pkg()
            pkg.configure({"python": {"interpreters": [PYTHON], "index_url": mirror.simple}})
            pkg.start(PKGD_PYTHON_ENGINE="native")
            plan = pkg.json("plan", "requests", "syn-yanked")
            found.append([(c["name"], c["to"], c["file"], c["sha256"], c["size"]) for c in plan["changes"]])
    assert found[0] == found[1]


def test_the_first_index_that_has_a_name_has_it_alone(mirror_tree, make_pkg):
    with MirrorServer(mirror_tree) as mirror:
        pkg = make_pkg()
        pkg.configure({"python": {"interpreters": [PYTHON], "index_url": mirror.private,
                                  "extra_index_urls": [mirror.simple]}})
        pkg.start(PKGD_PYTHON_ENGINE="native")
        plan = pkg.json("plan", "syn-internal", "syn-color")
        assert {c["name"]: (c["to"], c["index"]) for c in plan["changes"]} == {
            "syn-internal": ("1.0", mirror.private), "syn-color": ("1.0", mirror.simple)}


def test_what_only_pip_can_do_is_done_by_pip_and_said(mirror_tree, make_pkg):
    with MirrorServer(mirror_tree) as mirror:
        pkg = make_pkg()
        pkg.configure({"python": {"interpreters": [PYTHON], "index_url": mirror.simple}})
        pkg.start()
        pkg.json("plan", "syn-sdist-only", "--source")
        job = pkg.rows("SELECT max(id) FROM job")[0][0]
        said = [row.get("text", "") for _, row in pkg.events(job)]
        assert any("pip resolves instead" in text for text in said), said


def test_a_static_source_distribution_is_planned_without_running_it(mirror_tree, make_pkg):
    with MirrorServer(mirror_tree) as mirror:
        pkg = make_pkg()
        pkg.configure({"python": {"interpreters": [PYTHON], "index_url": mirror.simple}})
        pkg.start(PKGD_PYTHON_ENGINE="native")
        change, = pkg.json("plan", "docopt", "--source", "--hermetic")["changes"]
        assert (change["name"], change["source"]) == ("docopt", "sdist")
        refused = pkg.json("plan", "syn-sdist-only", "--source", "--hermetic", code=1)
        assert refused["kind"] == "unsupported" and "only by running it" in refused["message"]


@pytest.mark.parametrize("fault, kind", [
    ({"status": ["*/simple/syn-app/*=403"]}, "index-authentication"),
    ({"status": ["*/simple/syn-app/*=418"]}, "index-error"),
])
def test_an_index_that_fails_is_named_as_what_it_is(mirror_tree, make_pkg, fault, kind):
    with MirrorServer(mirror_tree, **fault) as mirror:
        pkg = make_pkg()
        pkg.configure({"python": {"interpreters": [PYTHON], "index_url": mirror.simple}, "fetch": {"retries": 0}})
        pkg.start(PKGD_PYTHON_ENGINE="native")
        assert pkg.json("plan", "syn-app", code=1)["kind"] == kind


def test_an_index_that_is_not_there_is_unreachable(make_pkg):
    pkg = make_pkg()
    pkg.configure({"python": {"interpreters": [PYTHON], "index_url": "http://127.0.0.1:9/simple/"},
                   "fetch": {"retries": 0}})
    pkg.start(PKGD_PYTHON_ENGINE="native")
    assert pkg.json("plan", "syn-app", code=1)["kind"] == "index-unreachable"
