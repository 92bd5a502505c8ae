"""A Debian binary package as wheels: one for each distribution and Python version inside."""
import csv
import glob
import os
import platform
import re
import shutil
import subprocess
import tempfile

from .common import EPOCH, fname
from .elf import OLDEST_GLIBC, SYSTEM, read_elf
from .recipes import project_of
from .wheel import Wheel, headers_of

INFO_DIR = re.compile(r"[^/]+\.(dist|egg)-info(/|$)")
EXTENSION = re.compile(r"\.cpython-(\d)(\d+)(d?)-[^/]*\.so$")
KEPT_INFO = ("entry_points.txt", "top_level.txt", "namespace_packages.txt")


# ---- metadata


def requires_from_txt(text):
    """setuptools' requires.txt as Requires-Dist and Provides-Extra lines."""
    lines, extra, marker = [], None, None
    for line in map(str.strip, text.splitlines()):
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            extra, _, marker = line[1:-1].partition(":")
            if extra:
                lines.append(f"Provides-Extra: {extra}")
            continue
        conditions = [f"({marker})" if extra else marker] if marker else []
        conditions += [f'extra == "{extra}"'] if extra else []
        tail = " ; " + " and ".join(conditions) if conditions else ""
        lines.append(f"Requires-Dist: {line}{tail}")
    return list(dict.fromkeys(lines))


def add_headers(meta, lines):
    """METADATA with more header lines at the end of its header."""
    head, _, body = meta.partition(b"\n\n")
    return head.rstrip(b"\n") + "".join(f"\n{x}" for x in lines).encode() + b"\n\n" + body


def read_bytes(path):
    """A whole file."""
    with open(path, "rb") as f:
        return f.read()


def read_info(path):
    """(METADATA, {name: bytes} worth keeping) of a .dist-info or .egg-info folder or file."""
    keep = {}
    if os.path.isfile(path):
        return read_bytes(path), keep
    for name in KEPT_INFO:
        file = os.path.join(path, name)
        if os.path.isfile(file) and read_bytes(file).strip():
            keep[name] = read_bytes(file)
    if path.endswith(".dist-info"):
        return read_bytes(os.path.join(path, "METADATA")), keep
    meta = read_bytes(os.path.join(path, "PKG-INFO"))
    requires = os.path.join(path, "requires.txt")
    if os.path.isfile(requires) and b"\nRequires-Dist:" not in meta:
        have = meta.partition(b"\n\n")[0].decode("utf-8", "replace").splitlines()
        lines = requires_from_txt(read_bytes(requires).decode())
        meta = add_headers(meta, [x for x in lines if x not in have])
    return meta, keep


def upstream_version(debian_version):
    """A Debian version without epoch, revision and repacking suffix."""
    version = re.sub(r"^\d+:", "", debian_version)
    version = version.rsplit("-", 1)[0] if "-" in version else version
    return re.sub(r"[+~.]?(dfsg|ds|repack|really).*$", "", version)


class Distribution:
    """One Python distribution found in a deb: its metadata, with what Debian took out put back."""

    def __init__(self, info, path, recipe, debian_version, alone):
        self.info = info
        meta, self.keep = read_info(path)
        headers = headers_of(meta)
        self.name, self.version = headers["Name"], headers["Version"]
        if "+" in self.version or re.fullmatch(r"0(\.0)*", self.version):
            # what the distribution's repacking did to the version
            self.version = upstream_version(debian_version)
            line = b"Version: " + self.version.encode()
            meta = re.sub(rb"(?m)^Version: .*$", line, meta, count=1)
        if alone:
            all_of_it = headers.get_all("Requires-Dist") or []
            have = {project_of(r) for r in all_of_it if "extra" not in r}
            more = recipe.requirements(self.version, have)
            meta = add_headers(meta, [f"Requires-Dist: {r}" for r in more]) if more else meta
        self.metadata = meta
        self.tops = self._tops(path)

    def _tops(self, path):
        """Top-level names that belong to it."""
        tops = self.keep.get("top_level.txt", b"").decode().split()
        record = os.path.join(path, "RECORD")
        if os.path.isfile(record):
            with open(record, encoding="utf-8", newline="") as f:
                rows = [r for r in csv.reader(f) if r and not r[0].startswith("..")]
            tops += [r[0].split("/")[0] for r in rows]
        return [*tops, self.name, fname(self.name)]


# ---- the unpacked package


class DebTree:
    """Debs unpacked beside each other: `r` what becomes a wheel, `l` the libraries to vendor."""

    def __init__(self, root, debs, libdebs):
        self.root = root
        for deb in debs:
            subprocess.run(["dpkg-deb", "-x", deb, root + "/r"], check=True)
        for deb in libdebs:
            subprocess.run(["dpkg-deb", "-x", deb, root + "/l"], check=True)
        pattern = root + "/r/usr/lib/python3*/dist-packages"
        self.site_dirs = [d for d in glob.glob(pattern) if os.path.isdir(d)]
        self.files = {}  # path in the wheel -> file on disk
        for folder in self.site_dirs:
            self._walk(folder, "")

    def map_folder(self, source, target):
        """Take one more folder of the deb in."""
        self._walk(os.path.join(self.root, "r", source), target + "/")

    def _real(self, path):
        """Resolve a symlink inside the unpacked tree; None if it leads out."""
        inside = self.root + "/r"
        for _ in range(8):
            if not os.path.islink(path):
                return path
            target = os.readlink(path)
            base = inside if target.startswith("/") else os.path.dirname(path)
            path = os.path.normpath(f"{base}/{target}")
            if not path.startswith(inside + "/"):
                return None
        return None

    def _walk(self, folder, prefix):
        for name in sorted(os.listdir(folder)):
            path = self._real(os.path.join(folder, name))
            if name == "__pycache__" or not path or not os.path.exists(path):
                continue
            if os.path.isdir(path):
                self._walk(path, f"{prefix}{name}/")
            else:
                self.files[prefix + name] = path

    def libraries(self):
        """soname -> file of the shared objects to vendor."""
        found = {}
        for folder, _, names in os.walk(self.root + "/l"):
            for name in names:
                path = os.path.join(folder, name)
                if ".so" in name and not os.path.islink(path) and os.path.isfile(path):
                    info = read_elf(path)
                    if info:
                        found[info[0] or name] = path
        return found

    def distributions(self, recipe, debian_version):
        """The Distributions inside."""
        infos = sorted({w.split("/")[0] for w in self.files if INFO_DIR.match(w)})
        if not infos:
            raise ValueError("no dist-info or egg-info inside")
        result = []
        for info in infos:
            paths = [os.path.join(d, info) for d in self.site_dirs]
            path = next(p for p in paths if os.path.exists(p))
            result.append(Distribution(info, path, recipe, debian_version, len(infos) == 1))
        return result

    def files_of(self, dist, all_dists):
        """The files of one of the distributions inside."""
        files = {w: p for w, p in self.files.items() if not INFO_DIR.match(w)}
        if len(all_dists) == 1:
            return files
        owner = {}
        for d in all_dists:
            for top in d.tops:
                owner.setdefault(top, d.info)

        def owner_of(arc):
            top = arc.split("/")[0]
            return owner.get(top, owner.get(top.split(".")[0]))

        return {w: p for w, p in files.items() if owner_of(w) == dist.info}


# ---- binary wheels


class Binaries:
    """The shared objects of one wheel: its tag, and the libraries that go in with it."""

    def __init__(self, files, objects, libraries, vendor_dir):
        self.files, self.objects = files, objects
        self.libraries, self.vendor_dir = libraries, vendor_dir
        self.glibc, self.vendored, self.warnings = OLDEST_GLIBC, {}, []
        self.todo = [(w, files[w]) for w in files if w in objects]
        self.elves = []
        names_inside = {os.path.basename(w) for w in files}
        for arc, path in self.todo:  # grows as vendored objects bring their own needs
            self._look_at(arc, path, names_inside)

    def _look_at(self, arc, path, names_inside):
        info = read_elf(path)
        if not info:
            return
        self.elves.append((arc, path))
        self.glibc = max(self.glibc, info[2])
        needed = [n for n in info[1] if not SYSTEM.match(n)]
        missing = [n for n in needed if n not in self.libraries and n not in names_inside]
        if missing:
            self.warnings.append(f"{os.path.basename(arc)} needs {' '.join(missing)} of the host")
        for name in needed:
            if name in self.libraries and name not in self.vendored:
                self.vendored[name] = f"{self.vendor_dir}/{name}"
                self.todo.append((self.vendored[name], self.libraries[name]))

    def vendor(self, workdir, patchelf):
        """Copies of the objects with an rpath to the vendored ones: {path in wheel: file}."""
        if not self.vendored:
            return {}
        if not patchelf:
            self.warnings.append("no patchelf: the libraries it needs are those of the host")
            return {}
        copies = {}
        for arc, path in self.elves:
            copy = os.path.join(workdir, arc.replace("/", "!"))
            shutil.copyfile(path, copy)
            up = "../" * arc.count("/")
            inside = arc in self.vendored.values()
            rpath = "$ORIGIN" if inside else f"$ORIGIN/{up}{self.vendor_dir}"
            # one change a call: patchelf 0.14 mixes them up
            subprocess.run([patchelf, "--set-rpath", rpath, copy], check=True)
            copies[arc] = copy
        return copies

    def tag(self, python):
        """The wheel's tag; python: '311', 'abi3' or None (no extension module)."""
        where = f"manylinux_2_{self.glibc}_{platform.machine()}"
        if python == "abi3":
            return f"cp38-abi3-{where}"
        return f"cp{python}-cp{python}-{where}" if python else f"py3-none-{where}"


def python_of(arc):
    """'311' for an extension module of Python 3.11, '311d' for a debug one, None for others."""
    m = EXTENSION.search(arc)
    return m[1] + m[2] + m[3] if m else None


def wheels_of(dist, files, libraries, recipe, patchelf, outdir, root):
    """Write the wheels of one distribution. Returns [(path, date)] and warnings."""
    objects = {w for w in files if w.endswith(".so") or ".so." in w}
    pythons = {python_of(w) for w in objects} - {None}
    pythons = sorted((p for p in pythons if not p.endswith("d")), key=int)
    abi3 = not pythons and any(".abi3." in w for w in objects)
    made, warnings = [], []
    for python in pythons or ["abi3" if abi3 else None]:
        chosen = {w: p for w, p in files.items() if python_of(w) in (None, python)}
        tag, copies = "py3-none-any", {}
        if objects:
            binaries = Binaries(chosen, objects, libraries, fname(dist.name) + ".libs")
            copies = binaries.vendor(tempfile.mkdtemp(dir=root), patchelf)
            tag = binaries.tag(python)
            warnings += binaries.warnings
        made.append(write_wheel(dist, {**chosen, **copies}, tag, recipe, outdir, root, warnings))
    return made, warnings


def write_wheel(dist, files, tag, recipe, outdir, root, warnings):
    """Write one wheel; returns (path, date of its newest packaged file)."""
    fn_name = re.sub(r"[-_.]+", "_", dist.name)  # keeps upper case, as the real ones do
    wheel = Wheel(outdir, dist.name, dist.version, tag, fn_name=fn_name)
    date = EPOCH
    for arc in sorted(files):
        data = read_bytes(files[arc])
        for file, old, new in recipe.sub:
            if file == arc:
                if old.encode() not in data:
                    warnings.append(f"sub= text not found in {file}")
                data = data.replace(old.encode(), new.encode())
        if files[arc].startswith(root + "/r"):
            date = max(date, int(os.path.getmtime(files[arc])))
        wheel.add(arc, data, 0o100755 if os.access(files[arc], os.X_OK) else 0o100644)
    for name, data in sorted(dist.keep.items()):
        wheel.add(f"{wheel.di}/{name}", data)
    return wheel.close(metadata=dist.metadata, generator="repacked-from-deb"), date


def deb_to_wheels(recipe, debian_version, debs, libdebs, patchelf, outdir):
    """Repack debs. Returns [(file name, date)] of the wheels in outdir, and warnings."""
    root = tempfile.mkdtemp(prefix="deb.", dir=os.path.dirname(outdir))
    made, warnings = [], []
    try:
        tree = DebTree(root, debs, libdebs)
        for source, target in recipe.map:
            tree.map_folder(source, target)
        libraries = tree.libraries()
        dists = tree.distributions(recipe, debian_version)
        for dist in dists:
            files = tree.files_of(dist, dists)
            wheels, more = wheels_of(dist, files, libraries, recipe, patchelf, outdir, root)
            made += wheels
            warnings += more
    finally:
        shutil.rmtree(root, ignore_errors=True)
    return [(os.path.basename(f), d) for f, d in made], sorted(set(warnings))
