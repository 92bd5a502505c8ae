"""One CRAN-like repository: src/contrib with PACKAGES, and the Archive."""
import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import tarfile

from .common import EPOCH, vkey, write_atomic

LISTED_FIELDS = ("Depends", "Imports", "LinkingTo", "Suggests", "Enhances", "OS_type", "License")
R_SAVE = (
    "a<-commandArgs(TRUE);m<-read.dcf(a[1]);rownames(m)<-m[,'Package'];"
    "saveRDS(m,a[2],compress='xz')"
)


def dcf(text):
    """The fields of one DESCRIPTION."""
    fields, key = {}, None
    for line in text.splitlines():
        if line[:1] in " \t" and key:
            fields[key] += "\n" + line.strip() if line.strip() else ""
        elif ":" in line:
            key, value = line.split(":", 1)
            fields[key] = value.strip()
    return fields


def r_description(path):
    """(top folder, DESCRIPTION fields, has src/) of an R source tarball."""
    top, fields, has_src = None, None, False
    with tarfile.open(path) as tar:
        for m in tar:
            parts = m.name.split("/")
            if len(parts) == 2 and parts[1] == "DESCRIPTION" and m.isfile():
                top = parts[0]
                fields = dcf(tar.extractfile(m).read().decode("utf-8", "replace"))
            has_src = has_src or (len(parts) > 2 and parts[1] == "src")
    return top, fields, has_src


class Cran:
    """OUT/cran: src/contrib has one version of each package, Archive/<package>/ the others."""

    def __init__(self, out):
        self.contrib = os.path.join(out, "cran", "src", "contrib")
        self.db = os.path.join(out, "cran", "packages.json")
        self.packages = []
        if os.path.exists(self.db):
            with open(self.db, encoding="utf-8") as f:
                self.packages = json.load(f)

    def path_of(self, record):
        """Where a package's tarball is."""
        sub = ["Archive", record["Package"]] if record["archive"] else []
        return os.path.join(self.contrib, *sub, record["file"])

    def forget(self, origin):
        """Drop the records of an origin; write() removes the files that are not added again."""
        self.packages = [r for r in self.packages if not r["origin"].startswith(origin)]

    def add(self, path, desc, archive=False, origin="", **over):
        """Copy a source tarball in. over: record fields set to something untrue, for tests."""
        fields = {k: desc[k] for k in (*LISTED_FIELDS, "NeedsCompilation") if k in desc}
        with open(path, "rb") as f:
            md5 = hashlib.md5(f.read()).hexdigest()
        record = {
            "Package": desc["Package"],
            "Version": desc["Version"],
            "file": f"{desc['Package']}_{desc['Version']}.tar.gz",
            "archive": archive,
            "origin": origin,
            "fields": fields,
            "md5": md5,
            **over,
        }
        dst = self.path_of(record)
        os.makedirs(os.path.dirname(dst), exist_ok=True)
        tmp = f"{dst}.tmp{os.getpid()}"
        shutil.copyfile(path, tmp)
        os.utime(tmp, (EPOCH, EPOCH))
        os.replace(tmp, dst)
        same = record["Package"], record["Version"]
        self.packages = [r for r in self.packages if (r["Package"], r["Version"]) != same]
        self.packages.append(record)
        return record

    def write(self):
        """Write packages.json and the PACKAGES files; remove what no record names."""
        self.packages.sort(key=lambda r: (r["Package"], vkey(r["Version"])))
        write_atomic(self.db, json.dumps(self.packages, indent=0))
        current = [r for r in self.packages if not r["archive"]]
        text = "\n".join(stanza(r) for r in current).encode()
        plain = os.path.join(self.contrib, "PACKAGES")
        write_atomic(plain, text)
        write_atomic(plain + ".gz", gzip.compress(text, mtime=EPOCH))
        self._write_rds(plain)
        keep = {self.path_of(r) for r in self.packages}
        for folder, _, names in os.walk(self.contrib):
            for name in names:
                path = os.path.join(folder, name)
                if name.endswith(".tar.gz") and path not in keep:
                    os.unlink(path)

    def _write_rds(self, plain):
        """Real CRAN has PACKAGES.rds too; without R the client falls back to PACKAGES.gz."""
        rds = plain + ".rds"
        if shutil.which("Rscript") and os.path.getsize(plain):
            tmp = f"{rds}.tmp{os.getpid()}"
            subprocess.run(["Rscript", "--vanilla", "-e", R_SAVE, plain, tmp], check=True)
            os.replace(tmp, rds)
        elif os.path.exists(rds):
            os.unlink(rds)


def stanza(record):
    """One package's part of PACKAGES."""
    lines = [f"Package: {record['Package']}", f"Version: {record['Version']}"]
    for key in LISTED_FIELDS:
        if key in record["fields"]:
            lines.append(f"{key}: " + re.sub(r"\s*\n\s*", "\n        ", record["fields"][key]))
    lines.append(f"MD5sum: {record['md5']}")
    lines.append(f"NeedsCompilation: {record['fields']['NeedsCompilation']}")
    return "\n".join(lines) + "\n"
