"""What the families of synthetic packages are written with."""
import os
import tarfile
import time

from ..common import fname
from ..cran import Cran, dcf
from ..index import Index
from ..tarball import tar_gz
from ..wheel import Wheel, entry, raw_zip

ORIGIN = "synth"
SETUP = "from setuptools import setup\nsetup(name={0!r}, version={1!r}, packages=[{2!r}])\n"
SETUP_EXTENSION = (
    "from setuptools import setup, Extension\n"
    "setup(name={0!r}, version='1.0', packages=[{1!r}],\n"
    "      ext_modules=[Extension({1!r} + '._x', ['x.c'])])\n"
)
# What a careful installer does with a package.
OUTCOMES = ("ok", "build", "no-resolution", "reject", "policy", "limits")


def setup_of(name, version="1.0"):
    """A plain setup.py."""
    return SETUP.format(name, version, fname(name))


def extension_setup_of(name):
    """A setup.py with an extension module _x made of x.c."""
    return SETUP_EXTENSION.format(name, fname(name))


def special(name, kind, link="", device=(0, 0)):
    """A tar member that is no plain file."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = kind, link, 0o666
    info.devmajor, info.devminor = device
    return info


class Maker:
    """Collects expectations and, unless only a list is wanted, writes the packages.

    expected   project -> {"expect": one of OUTCOMES, "why": text}
    making     False: methods that write do nothing
    """

    def __init__(self, out, tmp, making=True):
        self.tmp, self.making, self.expected = tmp, making, {}
        self.now = int(time.time())
        if making:
            self.index, self.private, self.cran = Index(out), Index(out, "private"), Cran(out)
            for part in (self.index, self.private, self.cran):
                part.forget(ORIGIN)

    def expect(self, name, outcome, why):
        """Say what a careful installer does with a project, and why."""
        assert outcome in OUTCOMES, outcome
        self.expected[name] = {"expect": outcome, "why": why}

    def publish(self, path, **fields):
        """Put a finished file into the public index."""
        self.index.add(path, origin=ORIGIN, **fields)

    def wheel(
        self,
        name,
        version="1.0",
        body=None,
        files=None,
        private=False,
        record="good",
        ix=None,
        **kw,
    ):
        """One wheel: the module NAME with __version__ (or body), and more files.

        files    path -> data or (data, mode)
        ix       fields for the index, true or not
        kw       for Wheel
        """
        if not self.making:
            return
        wheel = Wheel(self.tmp, name, version, **kw)
        body = f"__version__ = {version!r}\n" if body is None else body
        wheel.add(f"{fname(name)}/__init__.py", body)
        for path, data in (files or {}).items():
            data, mode = data if isinstance(data, tuple) else (data, 0o100644)
            wheel.add(path, data, mode)
        wheel.close(record=record)
        (self.private if private else self.index).add(wheel.path, origin=ORIGIN, **(ix or {}))

    def open_wheel(self, name):
        """A Wheel NAME 1.0 for more than wheel() can do; for finish()."""
        return Wheel(self.tmp, name, "1.0")

    def finish(self, wheel):
        """Close a Wheel and publish it."""
        wheel.close()
        self.publish(wheel.path)

    def raw_wheel(self, name, entries, bare=False):
        """A wheel written by hand: entries as raw_zip takes them, a dist-info (unless bare)."""
        if not self.making:
            return
        entries = list(entries)
        if not bare:
            entries += self._dist_info(name, entries)
        path = os.path.join(self.tmp, f"{fname(name)}-1.0-py3-none-any.whl")
        self.publish(raw_zip(path, entries))

    @staticmethod
    def _dist_info(name, entries):
        di = f"{fname(name)}-1.0.dist-info"
        record = "".join(f"{n},,{size}\n" for n, _, _, _, size, *_ in entries)
        record += f"{di}/METADATA,,\n{di}/WHEEL,,\n{di}/RECORD,,\n"
        wheel = "Wheel-Version: 1.0\nGenerator: synth\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n\n"
        parts = (("METADATA", metadata), ("WHEEL", wheel), ("RECORD", record))
        return [entry(f"{di}/{n}", data)[:5] for n, data in parts]

    def sdist(self, name, version="1.0", setup=None, pyproject=None, files=None, pkginfo=None):
        """One sdist. files: as for tar_gz; names that climb or are absolute stay as they are."""
        if not self.making:
            return
        stem = f"{fname(name)}-{version}"
        default = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nSummary: synthetic\n"
        content = {f"{stem}/PKG-INFO": pkginfo or default}
        if setup is not None:
            content[f"{stem}/setup.py"] = setup
        if pyproject is not None:
            content[f"{stem}/pyproject.toml"] = pyproject
        content[f"{stem}/{fname(name)}/__init__.py"] = f"__version__ = {version!r}\n"
        content.update(self._below(stem, files))
        self.publish(tar_gz(os.path.join(self.tmp, stem + ".tar.gz"), content))

    @staticmethod
    def _below(top, files):
        def place(name, data):
            as_is = isinstance(data, tarfile.TarInfo) or name.startswith(("/", ".."))
            return name if as_is else f"{top}/{name}"

        return {place(n, d): d for n, d in (files or {}).items()}

    def r_package(
        self,
        name,
        version="1.0",
        code='hello <- function() "hello from {0} {1}"\n',
        fields="",
        files=None,
        archive=False,
        namespace="export(hello)\n",
        **over,
    ):
        """One R source package. over: record fields set to something untrue."""
        if not self.making:
            return
        compiled = any(k.startswith("src/") for k in files or {})
        description = (
            f"Package: {name}\nVersion: {version}\nTitle: Synthetic\n"
            "Description: Synthetic test package.\nAuthor: Nobody\n"
            f"Maintainer: Nobody <nobody@example.invalid>\nLicense: GPL-3\n{fields}"
            f"NeedsCompilation: {'yes' if compiled else 'no'}\n"
            "Packaged: 2020-01-01 00:00:00 UTC; nobody\nRepository: CRAN\n"
            "Date/Publication: 2020-01-01 00:00:00 UTC\n"
        )
        content = {
            f"{name}/DESCRIPTION": description,
            f"{name}/NAMESPACE": namespace,
            f"{name}/R/a.R": code.replace("{0}", name).replace("{1}", version),
        }
        content.update(self._below(name, files))
        path = tar_gz(os.path.join(self.tmp, f"{name}_{version}.tar.gz"), content)
        self.cran.add(path, dcf(description), archive=archive, origin=ORIGIN, **over)

    def write(self):
        """Write all indexes."""
        for part in (self.index, self.private, self.cran):
            part.write()
