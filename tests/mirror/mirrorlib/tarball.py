"""Write and read source tarballs."""
import gzip
import io
import os
import tarfile

from .common import EPOCH


def _write_gz(path, data, mtime):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f, gzip.GzipFile("", "wb", 6, f, mtime) as g:
        g.write(data)
    return path


def tar_gz(path, files, mtime=EPOCH):
    """A .tar.gz, the same bytes each time. files: name -> bytes|str|(bytes|str, mode)|TarInfo."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, data in files.items():
            if isinstance(data, tarfile.TarInfo):
                data.mtime = mtime
                tar.addfile(data)
                continue
            data, mode = data if isinstance(data, tuple) else (data, 0o644)
            data = data.encode() if isinstance(data, str) else data
            info = tarfile.TarInfo(name)
            info.size, info.mode, info.mtime = len(data), mode, mtime
            tar.addfile(info, io.BytesIO(data))
    return _write_gz(path, raw.getvalue(), mtime)


def retar(src, dst, top, drop=(), mtime=None):
    """Rewrite a tar as a .tar.gz whose only top folder is `top`; mtime: that of every member."""
    raw = io.BytesIO()
    with tarfile.open(src) as old, tarfile.open(
        fileobj=raw, mode="w", format=tarfile.PAX_FORMAT
    ) as new:
        for m in old:
            rest = m.name.split("/", 1)[1] if "/" in m.name else ""
            if (not rest and not m.isdir()) or rest in drop:
                continue
            m.name = f"{top}/{rest}".rstrip("/")
            m.uid = m.gid = 0
            m.uname = m.gname = ""
            m.pax_headers = {}
            m.mtime = int(m.mtime) if mtime is None else mtime
            new.addfile(m, old.extractfile(m) if m.isfile() else None)
    return _write_gz(dst, raw.getvalue(), EPOCH)


def is_pkg_info(member):
    """Whether a member of a tarball is the PKG-INFO of an sdist."""
    return member.isfile() and member.name.count("/") == 1 and member.name.endswith("/PKG-INFO")


def sdist_metadata(path):
    """The PKG-INFO of an sdist, or None."""
    try:
        with tarfile.open(path) as tar:
            for m in tar:
                if is_pkg_info(m):
                    return tar.extractfile(m).read()
    except (tarfile.TarError, OSError, EOFError):
        pass
    return None
