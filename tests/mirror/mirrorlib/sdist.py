"""Upstream tarballs as sdists, and whether pip can build them from this index alone."""
import glob
import os
import re
import shutil
import tarfile
import tempfile
import time

from .common import EPOCH, clean_env, fname, run
from .tarball import is_pkg_info, retar, sdist_metadata
from .wheel import headers_of

BACKEND = r"""
import importlib, os, sys, tomllib
out = sys.argv[1]
backend, path = "setuptools.build_meta:__legacy__", []
if os.path.exists("pyproject.toml"):
    table = tomllib.load(open("pyproject.toml", "rb")).get("build-system", {})
    backend, path = table.get("build-backend", backend), table.get("backend-path", [])
sys.path[:0] = [os.path.abspath(p) for p in path]
module, _, attrs = backend.partition(":")
obj = importlib.import_module(module)
for attr in filter(None, attrs.split(".")):
    obj = getattr(obj, attr)
print("MADE " + obj.build_sdist(out))
"""


def to_sdist(tar, outdir, python):
    """Turn an orig tarball into a PEP 625 sdist in outdir. Returns (file name, how, date).

    One that holds a PKG-INFO is an sdist already; another one is handed to its own build backend,
    which `python` has to have.
    """
    with tarfile.open(tar) as t:
        members = t.getmembers()
        tops = {m.name.split("/")[0] for m in members if m.name not in (".", "./")}
        date = int(min(max(m.mtime for m in members), time.time()))
        info = next((m for m in members if is_pkg_info(m)), None)
        meta = t.extractfile(info).read() if info else None
    if len(tops) != 1:
        raise ValueError("more than one top folder")
    top = tops.pop()
    if not meta:
        return build_sdist(tar, top, outdir, python), "made by its backend", date
    headers = headers_of(meta.replace(b"\r", b""))
    filename = f"{fname(headers['Name'].strip())}-{headers['Version'].strip()}.tar.gz"
    if tar.endswith(".tar.gz"):
        shutil.copyfile(tar, os.path.join(outdir, filename))
        return filename, "verbatim", date
    retar(tar, os.path.join(outdir, filename), top)
    return filename, "recompressed", date


def build_sdist(tar, top, outdir, python):
    """Have the project's own backend make its sdist; returns the file name."""
    with tempfile.TemporaryDirectory(prefix="sd.", dir=outdir) as tmp:
        with tarfile.open(tar) as t:
            safe = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
            t.extractall(tmp, **safe)
        out = os.path.join(tmp, "out")
        os.makedirs(out)
        cmd = [python, "-c", BACKEND, out]
        result = run(cmd, cwd=os.path.join(tmp, top), env=clean_env(), timeout=120)
        made = re.search(r"^MADE (.*)$", result.stdout, re.M)
        if result.returncode or not made:
            why = (result.stderr.strip().splitlines() or ["?"])[-1][:150]
            raise ValueError("its backend makes no sdist: " + why)
        path = os.path.join(out, made[1])
        headers = headers_of(sdist_metadata(path) or b"")
        name, version = headers["Name"], headers["Version"]
        if not name or version in ("0", "0.0.0", None) or re.search(r"\.dev|\+", version):
            raise ValueError("its backend makes an sdist without a usable version")
        stem = f"{fname(name)}-{version}"
        retar(path, os.path.join(outdir, stem + ".tar.gz"), stem, mtime=EPOCH)
        return stem + ".tar.gz"


def pip_builds(path, outdir, python, index_url):
    """Have pip build an sdist with nothing but this index; returns the names of the wheels."""
    with tempfile.TemporaryDirectory() as home:
        cmd = [python, "-m", "pip", "wheel", "-q", "--no-deps", "--no-cache-dir"]
        cmd += ["--index-url", index_url, "-w", outdir, path]
        result = run(cmd, env=clean_env(HOME=home, TMPDIR=home), timeout=300)
    if result.returncode:
        lines = [x for x in result.stderr.splitlines() if "rror" in x][-2:]
        raise ValueError("pip does not build it: " + " ".join(lines)[-200:])
    return [os.path.basename(x) for x in glob.glob(outdir + "/*.whl")]
