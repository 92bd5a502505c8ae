"""Source distributions: ones to build, ones that fail, ones that misbehave while they are built."""
import io
import os
import tarfile

from ..wheel import zeros
from .maker import SETUP, extension_setup_of, setup_of, special
from .probe import python_probe

OWN_BACKEND = '''
import base64, hashlib, os, zipfile
def row(z, x):
    h = base64.urlsafe_b64encode(hashlib.sha256(z.read(x)).digest()).decode().rstrip("=")
    return f"{x},sha256={h},{z.getinfo(x).file_size}\\n"
def build_wheel(d, config_settings=None, metadata_directory=None):
    n = "syn_sdist_pep517-1.0-py3-none-any.whl"; di = "syn_sdist_pep517-1.0.dist-info/"
    with zipfile.ZipFile(os.path.join(d, n), "w") as z:
        z.write("syn_sdist_pep517/__init__.py")
        meta = "Metadata-Version: 2.1\\nName: syn-sdist-pep517\\nVersion: 1.0\\n"
        wheel = "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"
        z.writestr(di + "METADATA", meta)
        z.writestr(di + "WHEEL", wheel)
    with zipfile.ZipFile(os.path.join(d, n), "a") as z:
        z.writestr(di + "RECORD", "".join(row(z, x) for x in z.namelist()) + di + "RECORD,,\\n")
    return n
'''

EXTENSION = """#include <Python.h>
static PyObject *answer(PyObject *s, PyObject *a) { return PyLong_FromLong(42); }
static PyMethodDef m[] = {{"answer", answer, METH_NOARGS, ""}, {0}};
static struct PyModuleDef d = {PyModuleDef_HEAD_INIT, "_x", 0, -1, m};
PyMODINIT_FUNC PyInit__x(void) { return PyModule_Create(&d); }
"""

# name -> (what its setup.py does before setup(), the code). All are bounded.
BUSY = {
    "hang": ("sleeps an hour", "import time\ntime.sleep(3600)\n"),
    "spin": (
        "burns CPU for ten minutes on one core",
        "import time\nt = time.time() + 600\nwhile time.time() < t: pass\n",
    ),
    "spam": (
        "prints 300 MB",
        "import sys\nfor i in range(300): sys.stdout.write(('x' * 1023 + '\\n') * 1024)\n",
    ),
    "ansi": (
        "prints escape sequences, NUL, a bare CR and bytes that are not UTF-8",
        "import sys\n"
        "sys.stdout.buffer.write(b'\\x1b]0;owned\\x07\\x1b[2J\\x1b[31mred\\x00\\xff\\xfe\\r'\n"
        "                        b'<script>alert(1)</script>\\n')\n"
        "sys.stdout.flush()\n",
    ),
    "memory": (
        "takes up to 2 GiB, touching each page",
        "b = []\nfor i in range(128): b.append(bytearray(b'x') * (16 << 20))\n",
    ),
    "forks": (
        "starts 200 processes that sleep a minute",
        "import os, time\nfor i in range(200):\n    if os.fork() == 0:\n"
        "        time.sleep(60)\n        os._exit(0)\n",
    ),
    "daemon": (
        "leaves a detached process behind for five minutes",
        "import os, time\nif os.fork() == 0:\n    os.setsid()\n"
        "    for f in 0, 1, 2: os.close(f)\n    time.sleep(300)\n    os._exit(0)\n",
    ),
    "disk": (
        "writes up to 2 GiB into its build folder and TMPDIR",
        "import os, tempfile\nfor d in ('.', tempfile.gettempdir()):\n"
        "    with open(os.path.join(d, 'syn-disk'), 'wb') as f:\n"
        "        for i in range(1024): f.write(bytes(1 << 20))\n",
    ),
    "kill": (
        "sends SIGTERM to its parent",
        "import os, signal\nos.kill(os.getppid(), signal.SIGTERM)\n",
    ),
}


def add(m, options):
    """All families of this module."""
    buildable(m)
    failing(m)
    evil(m, options)
    for key, (why, code) in BUSY.items():
        name = "syn-sdist-" + key
        m.expect(name, "limits", "setup.py " + why)
        m.sdist(name, setup=code + setup_of(name))
    hostile_tars(m)
    bomb(m)


def buildable(m):
    """Sdists that build."""
    m.expect("syn-sdist-only", "build", "no wheel, setup.py only: needs setuptools")
    m.sdist("syn-sdist-only", setup=setup_of("syn-sdist-only"))
    m.expect("syn-sdist-pep517", "build", "its own backend in the tree (backend-path)")
    own = '[build-system]\nrequires = []\nbuild-backend = "be"\nbackend-path = ["."]\n'
    m.sdist("syn-sdist-pep517", pyproject=own, files={"be.py": OWN_BACKEND})
    m.expect("syn-sdist-c", "build", "a C extension: needs gcc and the Python headers")
    m.sdist("syn-sdist-c", setup=extension_setup_of("syn-sdist-c"), files={"x.c": EXTENSION})
    m.expect("syn-sdist-dynamic", "build", "its dependencies are known only after a build")
    needs = "packages=['syn_sdist_dynamic'], install_requires=['syn-color']"
    setup = f"setup(name='syn-sdist-dynamic', version='1.0', {needs})\n"
    m.sdist("syn-sdist-dynamic", setup="from setuptools import setup\n" + setup)


def failing(m):
    """Sdists that do not build."""
    m.expect("syn-sdist-cfail", "build", "its C code does not compile")
    m.sdist(
        "syn-sdist-cfail",
        setup=extension_setup_of("syn-sdist-cfail"),
        files={"x.c": "#include <syn_no_such_header.h>\n"},
    )
    m.expect("syn-sdist-needs-header", "build", "its C extension includes a missing foo/bar.h")
    m.sdist(
        "syn-sdist-needs-header",
        setup=extension_setup_of("syn-sdist-needs-header"),
        files={"x.c": "#include <Python.h>\n#include <foo/bar.h>\n"},
    )
    m.expect("syn-sdist-fail", "build", "setup.py raises")
    m.sdist("syn-sdist-fail", setup="raise SystemExit('SYN-SDIST-FAIL on purpose')\n")
    m.expect("syn-sdist-nobackend", "no-resolution", "its build backend is not in the index")
    nope = '[build-system]\nrequires = ["syn-no-such-backend"]\nbuild-backend = "nope"\n'
    m.sdist("syn-sdist-nobackend", pyproject=nope)
    m.expect("syn-sdist-mismatch", "reject", "PKG-INFO and setup.py name another project")
    m.sdist(
        "syn-sdist-mismatch",
        setup=SETUP.format("syn-other", "1.0", "syn_sdist_mismatch"),
        pkginfo="Metadata-Version: 2.1\nName: syn-other\nVersion: 1.0\n",
    )


def evil(m, options):
    """One that looks around while it is built."""
    why = "setup.py tries ~/.ssh, the network, sockets, files; prints SYN-PROBE JSON, keeps it"
    m.expect("syn-evil-sdist", "build", why + " in syn_evil_sdist.result.RESULT")
    keep = (
        "import os, pprint\nr = probe('setup.py')\n"
        "with open(os.path.join('syn_evil_sdist', 'result.py'), 'w') as f:\n"
        "    f.write('RESULT = ' + pprint.pformat(r) + '\\n')\n"
    )
    setup = python_probe(options) + keep + setup_of("syn-evil-sdist")
    m.sdist("syn-evil-sdist", setup=setup)


def hostile_tars(m):
    """Members that want to be elsewhere, or are no files."""
    why = "../.., /abs, a symlink out, a file through it, a hard link out, a fifo, a device"
    m.expect("syn-sdist-traversal", "reject", "tar entries " + why)
    top = "syn_sdist_traversal-1.0"
    members = {
        f"{top}/link": special(f"{top}/link", tarfile.SYMTYPE, "/tmp"),
        "link/syn-tar-through-link": "x",
        f"{top}/hard": special(f"{top}/hard", tarfile.LNKTYPE, "/etc/hostname"),
        f"{top}/fifo": special(f"{top}/fifo", tarfile.FIFOTYPE),
        f"{top}/null": special(f"{top}/null", tarfile.CHRTYPE, device=(1, 3)),
    }
    outside = {"../../syn-tar-relative": "x", "/tmp/syn-tar-absolute": "x"}
    m.sdist(
        "syn-sdist-traversal",
        setup=setup_of("syn-sdist-traversal"),
        files={**outside, **members},
    )


def bomb(m):
    """A tar whose last member is zeros, compressed as one block repeated."""
    m.expect("syn-sdist-bomb", "limits", "1 GiB of zeros in a .tar.gz of 1 MB")
    if not m.making:
        return
    top, size, end_of_archive = "syn_sdist_bomb-1.0", 1 << 30, 1 << 20
    head = io.BytesIO()
    with tarfile.open(fileobj=head, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, data in (
            ("PKG-INFO", b"Metadata-Version: 2.1\nName: syn-sdist-bomb\nVersion: 1.0\n"),
            ("setup.py", setup_of("syn-sdist-bomb").encode()),
            ("syn_sdist_bomb/__init__.py", b""),
        ):
            info = tarfile.TarInfo(f"{top}/{name}")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
        end = tar.offset
    info = tarfile.TarInfo(f"{top}/zeros.bin")
    info.size = size
    prefix = head.getvalue()[:end] + info.tobuf(tarfile.PAX_FORMAT)
    stream, crc = zeros(size + end_of_archive, prefix)
    total = len(prefix) + size + end_of_archive
    path = os.path.join(m.tmp, top + ".tar.gz")
    with open(path, "wb") as f:
        f.write(b"\x1f\x8b\x08\0\0\0\0\0\2\xff" + stream)
        f.write(crc.to_bytes(4, "little") + (total & 0xFFFFFFFF).to_bytes(4, "little"))
    m.publish(path)
