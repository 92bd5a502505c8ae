"""Packages for the resolver: dependencies, versions, markers, names, upgrades, confusion."""
import random

MANY = 20  # syn-many-NN
BIG_MIB = 20  # syn-big
LOOKALIKES = {
    "reqeusts": "requests",
    "requestss": "requests",
    "python-requests": "requests",
    "urlib3": "urllib3",
    "numpyy": "numpy",
    "nurnpy": "numpy",
    "pandsa": "pandas",
    "jinjja2": "jinja2",
    "pip-tool": "pip-tools",
    "setup-tools": "setuptools",
}


def add(m, options):
    """All families of this module."""
    dependencies(m)
    upgrades(m)
    versions(m)
    ages(m)
    names(m)
    bulk(m, options.big)


def dependencies(m):
    """Who needs whom."""
    m.expect("syn-diamond", "ok", "left needs base>=1,<3, right needs base>=2: base 2.0")
    for v in ("1.0", "2.0", "3.0"):
        m.wheel("syn-base", v)
    m.wheel("syn-left", requires=["syn-base>=1,<3"])
    m.wheel("syn-right", requires=["syn-base>=2"])
    m.wheel("syn-diamond", requires=["syn-left", "syn-right"])

    m.expect("syn-conflict", "no-resolution", "needs syn-base==1.0 by one way and ==2.0 by another")
    m.expect("syn-needs1", "ok", "needs syn-base==1.0: not to be had together with syn-needs2")
    m.expect("syn-needs2", "ok", "needs syn-base==2.0: not to be had together with syn-needs1")
    m.wheel("syn-needs1", requires=["syn-base==1.0"])
    m.wheel("syn-needs2", requires=["syn-base==2.0"])
    m.wheel("syn-conflict", requires=["syn-needs1", "syn-needs2"])

    m.expect("syn-backtrack", "ok", "10 versions of a, only 0.1 works with b: has to go back")
    for i in range(1, 11):
        m.wheel("syn-bt-a", f"0.{i}", requires=[] if i == 1 else ["syn-bt-c>=2"])
    for v in ("1.0", "2.0"):
        m.wheel("syn-bt-c", v)
    m.wheel("syn-bt-b", requires=["syn-bt-c<2"])
    m.wheel("syn-backtrack", requires=["syn-bt-a", "syn-bt-b"])

    m.expect("syn-cycle", "ok", "two packages that need each other")
    m.wheel("syn-cycle", requires=["syn-cycle-b"])
    m.wheel("syn-cycle-b", requires=["syn-cycle"])

    m.expect("syn-missing-dep", "no-resolution", "needs a project the index does not have")
    m.wheel("syn-missing-dep", requires=["syn-no-such-project>=1"])

    why = "extras color, all (refers to itself), Bad-Name normalised to bad-name"
    m.expect("syn-extras", "ok", why)
    m.wheel("syn-color")
    m.wheel(
        "syn-extras",
        extras=["color", "all", "bad-name"],
        requires=[
            'syn-color ; extra == "color"',
            'syn-base==1.0 ; extra == "bad-name"',
            'syn-extras[color,bad-name] ; extra == "all"',
        ],
    )

    m.expect("syn-markers", "ok", "only syn-linux and syn-py3 apply; the others do not exist")
    m.wheel("syn-linux")
    m.wheel("syn-py3")
    m.wheel(
        "syn-markers",
        requires=[
            'syn-linux ; sys_platform == "linux"',
            'syn-py3 ; python_version >= "3.0"',
            'syn-base==99 ; sys_platform == "win32"',
            'syn-base==98 ; python_version < "3.0"',
            'syn-base==97 ; implementation_name == "pypy"',
        ],
    )


def upgrades(m):
    """Pairs for additive changes and upgrades, which depend on no real package."""
    m.expect("syn-app", "ok", "needs syn-lib>=1: additive, also beside syn-lib 1.0")
    m.expect("syn-lib", "ok", "1.0 and 2.0: to 2.0 is an upgrade, so not additive")
    m.wheel("syn-app", requires=["syn-lib>=1"])
    for v in ("1.0", "2.0"):
        m.wheel("syn-lib", v)

    m.expect("syn-upgrade", "ok", "2.0 swaps a file, a script and a dependency: leftovers show")
    for version, word, needs in (("1.0", "old", "syn-color"), ("2.0", "new", "syn-linux")):
        scripts = f"[console_scripts]\nsyn-{word} = syn_upgrade:main\n"
        m.wheel(
            "syn-upgrade",
            version,
            body=f"def main(): print('{word}')\n",
            files={
                f"syn_upgrade/{word}.py": f"{word.upper()} = 1\n",
                f"syn_upgrade-{version}.dist-info/entry_points.txt": scripts,
            },
            requires=[needs],
        )


def versions(m):
    """Which version, and which file of it."""
    m.expect("syn-yanked", "ok", "1.1 is yanked: 1.0 is chosen, ==1.1 still works with a warning")
    m.wheel("syn-yanked", "1.0")
    m.wheel("syn-yanked", "1.1", ix={"yanked": 'broken <release> & "withdrawn"'})
    m.expect("syn-yanked-all", "no-resolution", "every version is yanked; an exact pin installs it")
    m.wheel("syn-yanked-all", "1.0", ix={"yanked": True})

    m.expect("syn-pre", "ok", "1.0.post1 by default; pre-releases only on demand")
    for v in ("1.0", "1.0.post1", "1.1a1", "1.1rc1", "2.0.dev1"):
        m.wheel("syn-pre", v)
    m.expect("syn-only-pre", "ok", "only pre-releases exist, so they are used")
    m.wheel("syn-only-pre", "0.1b1")
    m.expect("syn-epoch", "ok", "1!0.1 beats 2.0; 1.0+local.1 is a local version")
    for v in ("1.0", "1.0+local.1", "2.0", "1!0.1"):
        m.wheel("syn-epoch", v)

    m.expect("syn-pyver", "ok", "2.0 needs Python >=3.99, 0.9 Python <3: 1.0 is chosen")
    for v, needs in (("0.9", "<3"), ("1.0", ">=3.6"), ("2.0", ">=3.99")):
        m.wheel("syn-pyver", v, requires_python=needs)
    m.expect("syn-pyfuture", "no-resolution", "no version for this Python")
    m.wheel("syn-pyfuture", requires_python=">=3.99")

    m.expect("syn-othertags", "no-resolution", "wheels for other platforms and Pythons, no sdist")
    for tag in (
        "cp27-cp27mu-manylinux1_x86_64",
        "cp311-cp311-win_amd64",
        "cp311-cp311-macosx_11_0_arm64",
        "cp399-cp399-manylinux_2_17_x86_64",
    ):
        m.wheel("syn-othertags", tag=tag)
    m.expect("syn-buildtag", "ok", "two builds of one version: the higher wins (BUILD is 2)")
    for build in ("1", "2"):
        m.wheel("syn-buildtag", build_tag=build, body=f"BUILD = {build}\n")


def ages(m):
    """Upload times. Those given as an age are counted from the start of the server."""
    m.expect("syn-fresh", "policy", "1.1 was uploaded just now, 1.0 in 2020: a cooldown keeps 1.0")
    m.wheel("syn-fresh", "1.0")
    m.wheel("syn-fresh", "1.1", ix={"age": 0})
    m.expect("syn-week", "policy", "1.1 was uploaded seven days ago")
    m.wheel("syn-week", "1.0")
    m.wheel("syn-week", "1.1", ix={"age": 7 * 86400})
    m.expect("syn-fresh-dep", "policy", "old itself, but needs syn-fresh>=1.1")
    m.wheel("syn-fresh-dep", requires=["syn-fresh>=1.1"])
    m.expect("syn-notime", "policy", "the index gives no upload-time and no size")
    m.wheel("syn-notime")
    if m.making:
        for record in m.index.find("syn-notime"):
            record["uploaded"] = record["size"] = None


def names(m):
    """Spelling, dependency confusion, lookalikes."""
    m.expect("syn.mixed_Case--Name", "ok", "name normalisation: syn-mixed-case-name")
    m.wheel("Syn.Mixed_Case--Name", ix={"project": "syn-mixed-case-name"})
    m.expect("syn-internal", "policy", "1.0 in private/, 99.0 in pypi/: dependency confusion")
    m.wheel("syn-internal", "99.0", body="ORIGIN = 'public'\n")
    m.wheel("syn-internal", "1.0", body="ORIGIN = 'private'\n", private=True)
    m.expect("syn-private-only", "ok", "only in private/")
    m.wheel("syn-private-only", private=True)
    for bad, good in LOOKALIKES.items():
        m.expect(bad, "policy", f"looks like {good}")
        m.wheel(bad, body=f"raise ImportError('this is {bad}, not {good}')\n")


def bulk(m, huge):
    """Many at once, and much at once."""
    why = f"one of {MANY} tiny ones without dependencies, for many installs at once"
    for i in range(MANY):
        m.expect(f"syn-many-{i:02}", "ok", why)
        m.wheel(f"syn-many-{i:02}")

    m.expect("syn-big", "ok", f"{BIG_MIB} MiB that do not compress: to be killed half way through")
    stored_blocks(m, "syn-big", BIG_MIB, seed=3)
    if huge:
        m.expect("syn-huge-download", "limits", "200 MB to download")
        stored_blocks(m, "syn-huge-download", 200, seed=2)

    m.expect("syn-manyfiles", "ok", "3000 files")
    if m.making:
        wheel = m.open_wheel("syn-manyfiles")
        wheel.add("syn_manyfiles/__init__.py", "")
        for i in range(3000):
            wheel.add(f"syn_manyfiles/d{i // 100:02}/f{i:04}.py", f"N = {i}\n")
        m.finish(wheel)

    m.expect("syn-huge", "limits", "200 files of 1 MB each unpacked, a few MB to download")
    if m.making:
        noise, wheel = random.Random(1), m.open_wheel("syn-huge")
        wheel.add("syn_huge/__init__.py", "")
        for i in range(200):
            wheel.add(f"syn_huge/b{i:03}.bin", noise.randbytes(16384) * 64)
        m.finish(wheel)


def stored_blocks(m, name, mib, seed):
    """A wheel of so many MiB of noise, one file each."""
    if not m.making:
        return
    noise, wheel = random.Random(seed), m.open_wheel(name)
    module = name.replace("-", "_")
    wheel.add(f"{module}/__init__.py", "__version__ = '1.0'\n")
    for i in range(mib):
        wheel.add(f"{module}/b{i:03}.bin", noise.randbytes(1 << 20), store=True)
    m.finish(wheel)
