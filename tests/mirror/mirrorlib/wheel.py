"""Write wheels and hand-made zips, and read the metadata of wheels."""
import base64
import csv
import email.parser
import hashlib
import io
import os
import re
import struct
import zipfile
import zlib

from .common import fname

ZIPDATE = (2020, 1, 1, 0, 0, 0)
ZIPDATE_DOS = 0x5021  # the same day in a zip header
STORED, DEFLATED = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED


def record_hash(digest):
    """A digest in the notation of RECORD."""
    return "sha256=" + base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def headers_of(metadata):
    """METADATA or PKG-INFO bytes as an email message."""
    return email.parser.HeaderParser().parsestr(metadata.decode("utf-8", "replace"))


class Wheel:
    """Writes one wheel: entries in the order of the calls, fixed dates, a right RECORD last."""

    def __init__(
        self,
        outdir,
        name,
        version,
        tag="py3-none-any",
        fn_name=None,
        meta_name=None,
        meta_version=None,
        requires=(),
        extras=(),
        requires_python=None,
        headers="",
        build_tag=None,
    ):
        stem = f"{fn_name or fname(name)}-{version.replace('-', '_')}"
        self.name, self.version, self.tag = name, version, tag
        self.di = stem + ".dist-info"
        build = build_tag + "-" if build_tag else ""
        self.path = os.path.join(outdir, f"{stem}-{build}{tag}.whl")
        os.makedirs(outdir, exist_ok=True)
        self.zip = zipfile.ZipFile(self.path, "w", DEFLATED, compresslevel=6)
        self.rows = []
        lines = ["Metadata-Version: 2.1", f"Name: {meta_name or name}"]
        lines += [f"Version: {meta_version or version}", *headers.splitlines()]
        lines += [f"Requires-Python: {requires_python}"] if requires_python else []
        lines += [f"Provides-Extra: {e}" for e in extras]
        lines += [f"Requires-Dist: {r}" for r in requires]
        self.metadata = "\n".join(lines) + "\n\n"

    def _info(self, arc, mode=0o100644, method=DEFLATED):
        info = zipfile.ZipInfo(arc, ZIPDATE)
        info.external_attr = mode << 16
        info.create_system = 3
        info.compress_type = method
        return info

    def add(self, arc, data, mode=0o100644, record=True, store=False):
        """One file. record=False leaves it out of RECORD, store=True does not compress it."""
        if isinstance(data, str):
            data = data.encode()
        self.zip.writestr(self._info(arc, mode, STORED if store else DEFLATED), data)
        if record:
            self.rows.append((arc, record_hash(hashlib.sha256(data).digest()), len(data)))

    def _wheel_file(self, pure, generator):
        python, abi, platform = (x.split(".") for x in self.tag.split("-"))
        tags = [f"Tag: {p}-{a}-{m}\n" for p in python for a in abi for m in platform]
        return (
            f"Wheel-Version: 1.0\nGenerator: {generator}\n"
            f"Root-Is-Purelib: {str(pure).lower()}\n{''.join(tags)}"
        )

    def close(self, metadata=None, record="good", generator="mirror"):
        """Write the dist-info. record: 'good', 'bad' (a wrong hash) or 'none' (no RECORD)."""
        pure = self.tag.endswith("-none-any")
        self.add(self.di + "/METADATA", self.metadata if metadata is None else metadata)
        self.add(self.di + "/WHEEL", self._wheel_file(pure, generator))
        rows = list(self.rows)
        if record == "bad":
            rows[0] = (rows[0][0], record_hash(bytes(32)), rows[0][2])
        if record != "none":
            text = io.StringIO()
            own = (self.di + "/RECORD", "", "")
            csv.writer(text, lineterminator="\n").writerows(rows + [own])
            self.zip.writestr(self._info(self.di + "/RECORD"), text.getvalue())
        self.zip.close()
        return self.path


def wheel_metadata(path):
    """The METADATA of a wheel, or None if there is none to read."""
    try:
        with zipfile.ZipFile(path) as z:
            for name in z.namelist():
                if re.fullmatch(r"[^/]+\.dist-info/METADATA", name):
                    return z.read(name)
    except (zipfile.BadZipFile, OSError, EOFError, zlib.error):
        pass
    return None


# ---- zips by hand, for bombs and lies


def deflate(data):
    """A raw deflate stream of data."""
    c = zlib.compressobj(9, zlib.DEFLATED, -15)
    return c.compress(data) + c.flush()


def zeros(n, prefix=b""):
    """(raw deflate stream, crc) of prefix and n zero bytes, n in MiB steps: one block, repeated."""
    c, mib = zlib.compressobj(9, zlib.DEFLATED, -15), bytes(1 << 20)
    head = c.compress(prefix) + c.flush(zlib.Z_FULL_FLUSH)
    block = c.compress(mib) + c.flush(zlib.Z_FULL_FLUSH)
    crc = zlib.crc32(prefix)
    for _ in range(n >> 20):
        crc = zlib.crc32(mib, crc)
    return head + block * (n >> 20) + c.flush(), crc


def entry(name, data, mode=0o100644):
    """An honest entry for raw_zip."""
    data = data if isinstance(data, bytes) else data.encode()
    return name, deflate(data), DEFLATED, zlib.crc32(data), len(data), mode


def raw_zip(path, entries):
    """Write a zip of (name, raw bytes, method, crc, declared size[, mode]), checking nothing."""
    directory, offset = b"", 0
    with open(path, "wb") as f:
        for name, raw, method, crc, size, *mode in entries:
            encoded = name.encode()
            common = struct.pack(
                "<5H3L2H", 20, 0x800, method, 0, ZIPDATE_DOS, crc, len(raw), size, len(encoded), 0
            )
            f.write(b"PK\3\4" + common + encoded + raw)
            attr = (mode[0] if mode else 0o100644) << 16
            directory += b"PK\1\2" + struct.pack("<H", 0x314) + common
            directory += struct.pack("<3H2L", 0, 0, 0, attr, offset) + encoded
            offset += 30 + len(encoded) + len(raw)
        n = len(entries)
        f.write(directory)
        f.write(struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, n, n, len(directory), offset, 0))
    return path
