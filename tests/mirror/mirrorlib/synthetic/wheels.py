"""What a wheel may hold: odd but right layouts, wheels that touch others' files, lies, attacks."""
import os

from ..wheel import DEFLATED, entry, zeros
from .probe import python_probe

SCRIPT, PLAIN = 0o100755, 0o100644


def add(m, options):
    """All families of this module."""
    layouts(m)
    neighbours(m)
    bombs(m)
    hostile_zips(m)
    wrong_records(m)
    hijackers(m)
    m.expect("syn-import-evil", "policy", "harmless to install, probes on import")
    m.wheel("syn-import-evil", body=python_probe(options) + "RESULT = probe('import')\n")


def layouts(m):
    """Unusual, and right."""
    m.expect("syn-layout", "ok", "console and gui scripts, and all five kinds of .data")
    if m.making:
        wheel = m.open_wheel("syn-layout")
        wheel.add("syn_layout/__init__.py", "def main():\n    print('syn-layout main')\n")
        wheel.add("syn_layout/data/table.csv", "a,b\n1,2\n")
        wheel.add(
            wheel.di + "/entry_points.txt",
            "[console_scripts]\nsyn-layout = syn_layout:main\n"
            "[gui_scripts]\nsyn-layout-gui = syn_layout:main\n"
            "[syn.plugins]\none = syn_layout:main\n",
        )
        for name, data, mode in (
            ("scripts/syn-shell", "#!/bin/sh\necho syn-shell\n", SCRIPT),
            ("scripts/syn-py", "#!python\nprint('syn-py')\n", SCRIPT),
            ("scripts/syn-noexec", "#!python\nprint('no x bit in the wheel')\n", PLAIN),
            ("headers/syn_layout.h", "#define SYN 1\n", PLAIN),
            ("data/share/syn-layout/info.txt", "data\n", PLAIN),
            ("data/etc/syn.conf", "x=1\n", PLAIN),
            ("purelib/syn_pure.py", "P = 1\n", PLAIN),
            ("platlib/syn_plat.py", "P = 1\n", PLAIN),
        ):
            wheel.add(f"syn_layout-1.0.data/{name}", data, mode)
        m.finish(wheel)

    m.expect("syn-unicode", "ok", "non-ASCII file names, author and summary")
    m.wheel(
        "syn-unicode",
        files={
            "syn_unicode/módulo_ñandú.py": "X = 'ñ'\n",
            "syn_unicode/日本語.txt": "日本\n",
            "syn_unicode/😀.txt": "x\n",
            "syn_unicode/with space & 'quote'.txt": "x\n",
        },
        headers="Author: Jürgen Ĝis 山田\nSummary: Überprüfung – “quoted” 🎉\n",
    )
    m.expect("syn-longname", "ok", "a path of 200 characters in each of five parts")
    parts = ["syn_longname", *("d" * 200 for _ in range(4)), "f" * 196 + ".txt"]
    m.wheel("syn-longname", files={"/".join(parts): "x"})
    m.expect("syn-casefold", "ok", "Mod.py and mod.py: two files on Linux")
    m.raw_wheel(
        "syn-casefold",
        [
            entry("syn_casefold/__init__.py", ""),
            entry("syn_casefold/Mod.py", "X = 1\n"),
            entry("syn_casefold/mod.py", "X = 2\n"),
        ],
    )


def neighbours(m):
    """Wheels whose files meet those of others."""
    m.expect("syn-overwrite", "reject", "owns syn_color/__init__.py too, which is syn-color's")
    m.wheel("syn-overwrite", files={"syn_color/__init__.py": "__version__ = 'overwritten'\n"})
    m.expect("syn-overwrite-same", "policy", "owns syn_color/__init__.py too, with the same bytes")
    m.wheel("syn-overwrite-same", files={"syn_color/__init__.py": "__version__ = '1.0'\n"})
    m.expect("syn-inherited", "ok", "to be installed in a parent environment, for syn-shadow")
    m.wheel("syn-inherited", body="ORIGIN = 'syn-inherited'\n")
    why = "not additive: ships syn_inherited (of a parent environment) and colorsys (of the stdlib)"
    m.expect("syn-shadow", "policy", why)
    m.wheel(
        "syn-shadow",
        files={
            "syn_inherited/__init__.py": "ORIGIN = 'syn-shadow'\n",
            "colorsys.py": "ORIGIN = 'syn-shadow'\n",
        },
    )
    m.expect("syn-clobber", "reject", "six.py, pip/__init__.py, sitecustomize.py over others")
    clobbered = ("six.py", "pip/__init__.py", "sitecustomize.py")
    m.wheel("syn-clobber", files={name: "CLOBBERED = True\n" for name in clobbered})
    m.expect("syn-pth", "policy", "a .pth file that runs code at every interpreter start")
    m.wheel("syn-pth", files={"syn_pth.pth": "import sys; sys.stderr.write('SYN-PTH-RAN\\n')\n"})


def bombs(m):
    """Much more than it seems."""
    m.expect("syn-bomb", "limits", "4 entries of 1 GiB zeros in a wheel of 4 MB")
    m.expect("syn-bomb-lie", "reject", "the directory says 10 bytes, the stream holds 1 GiB")
    if not m.making:
        return
    size = 1 << 30
    stream, crc = zeros(size)
    files = [(f"syn_bomb/z{i}.bin", stream, DEFLATED, crc, size) for i in range(4)]
    m.raw_wheel("syn-bomb", [entry("syn_bomb/__init__.py", ""), *files])
    lie = ("syn_bomb_lie/z.bin", stream, DEFLATED, crc, 10)
    m.raw_wheel("syn-bomb-lie", [entry("syn_bomb_lie/__init__.py", ""), lie])


def hostile_zips(m):
    """Entries that want to be elsewhere, or twice."""
    m.expect("syn-traversal", "reject", "entries ../../, /abs, ..\\ and a .data folder that climbs")
    m.raw_wheel(
        "syn-traversal",
        [
            entry("syn_traversal/__init__.py", ""),
            entry("../../../../../../tmp/syn-traversal-relative", "x"),
            entry("/tmp/syn-traversal-absolute", "x"),
            entry("..\\..\\syn-traversal-backslash", "x"),
            entry("syn_traversal/../../../syn-traversal-middle", "x"),
            entry("syn_traversal-1.0.data/data/../../../../syn-traversal-data", "x"),
            entry("syn_traversal-1.0.data/scripts/../../syn-traversal-script", "x"),
        ],
    )
    m.expect("syn-symlink", "reject", "symlinks to /etc/passwd and .., a file through a link")
    m.raw_wheel(
        "syn-symlink",
        [
            entry("syn_symlink/__init__.py", ""),
            entry("syn_symlink/passwd", "/etc/passwd", 0o120777),
            entry("syn_symlink/up", "../../../../..", 0o120777),
            entry("syn_symlink/up/tmp/syn-symlink-through", "x"),
        ],
    )
    m.expect("syn-duplicate", "reject", "the same path twice with different contents")
    path = "syn_duplicate/__init__.py"
    m.raw_wheel("syn-duplicate", [entry(path, "WHICH = 1\n"), entry(path, "WHICH = 2\n")])
    m.expect("syn-setuid", "reject", "a script with mode 04755 and a world-writable file")
    m.raw_wheel(
        "syn-setuid",
        [
            entry("syn_setuid/__init__.py", ""),
            entry("syn_setuid-1.0.data/scripts/syn-suid", "#!/bin/sh\nid\n", 0o104755),
            entry("syn_setuid/open.txt", "x", 0o100666),
        ],
    )


def wrong_records(m):
    """RECORD and METADATA that do not fit, and what is no wheel at all."""
    m.expect("syn-badrecord", "reject", "RECORD has a wrong hash for a file (pip does not check)")
    m.wheel("syn-badrecord", record="bad")
    m.expect("syn-norecord", "reject", "no RECORD at all")
    m.wheel("syn-norecord", record="none")
    m.expect("syn-unlisted", "reject", "a file that RECORD does not list")
    if m.making:
        wheel = m.open_wheel("syn-unlisted")
        wheel.add("syn_unlisted/__init__.py", "")
        wheel.add("syn_unlisted/hidden.py", "X = 1\n", record=False)
        m.finish(wheel)
    m.expect("syn-mismatch", "reject", "METADATA names another project than the file name")
    m.wheel("syn-mismatch", meta_name="syn-something-else")
    m.expect("syn-mismatch-version", "reject", "METADATA has version 2.0, the file name 1.0")
    m.wheel("syn-mismatch-version", meta_version="2.0")
    m.expect("syn-nometadata", "reject", "a zip with no dist-info")
    m.raw_wheel("syn-nometadata", [entry("syn_nometadata/__init__.py", "")], bare=True)
    m.expect("syn-notazip", "reject", "a .whl that is plain text")
    if m.making:
        path = os.path.join(m.tmp, "syn_notazip-1.0-py3-none-any.whl")
        with open(path, "w", encoding="utf-8") as f:
            f.write("<html>not a zip</html>\n" * 100)
        m.publish(path)


def hijackers(m):
    """Names that replace parts of the environment."""
    m.expect("syn-ep-evil", "reject", "entry point names ../../syn-ep-escape and python3")
    m.wheel(
        "syn-ep-evil",
        body="def main(): print('evil')\n",
        files={
            "syn_ep_evil-1.0.dist-info/entry_points.txt": "[console_scripts]\n"
            "../../syn-ep-escape = syn_ep_evil:main\npython3 = syn_ep_evil:main\n"
        },
    )
    why = ".data/data/bin/python3 and pyvenv.cfg replace parts of the environment"
    m.expect("syn-data-python", "reject", why)
    m.wheel(
        "syn-data-python",
        files={
            "syn_data_python-1.0.data/data/bin/python3": ("#!/bin/sh\necho HIJACKED\n", SCRIPT),
            "syn_data_python-1.0.data/data/pyvenv.cfg": "home = /nowhere\n",
        },
    )
