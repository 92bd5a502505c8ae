"""One PyPI-like simple index: PEP 503 HTML, PEP 691/700 JSON, PEP 658 metadata files."""
import html
import json
import os
import re
import shutil
import time

from .common import EPOCH, iso, norm, sha256_file, write_atomic
from .tarball import sdist_metadata
from .wheel import headers_of, wheel_metadata

API = {"api-version": "1.1"}
HEAD = '<!DOCTYPE html>\n<html><head><meta name="pypi:repository-version" content="1.1">'
TAIL = "\n</body></html>\n"


def split_filename(filename):
    """(project, version) as a wheel's or sdist's file name has them."""
    if filename.endswith(".whl"):
        return filename.split("-")[0], filename.split("-")[1]
    return tuple(re.sub(r"\.tar\.gz$|\.zip$", "", filename).rsplit("-", 1))


def replace_dir(new, old):
    """Put folder `new` where `old` is; who reads meanwhile sees the one or the other."""
    aside = f"{old}.old{os.getpid()}"
    os.makedirs(os.path.dirname(old), exist_ok=True)
    if os.path.isdir(old):
        os.rename(old, aside)
    os.rename(new, old)
    shutil.rmtree(aside, ignore_errors=True)


class Index:
    """OUT/<root>: files.json is the source of truth, the pages are written from it.

    Packages and pages are replaced by renames, and files no record names are removed last, so a
    server may go on answering from OUT meanwhile.
    """

    def __init__(self, out, root="pypi"):
        self.dir = os.path.join(out, root)
        self.packages = os.path.join(self.dir, "packages")
        self.db = os.path.join(self.dir, "files.json")
        self.files = []
        if os.path.exists(self.db):
            with open(self.db, encoding="utf-8") as f:
                self.files = json.load(f)

    def forget(self, origin):
        """Drop the records of an origin; write() removes the files that are not added again."""
        self.files = [r for r in self.files if not r["origin"].startswith(origin)]

    def find(self, project):
        """The records of a project."""
        return [r for r in self.files if r["project"] == project]

    def add(
        self,
        path,
        project=None,
        uploaded=EPOCH,
        age=None,
        yanked=False,
        origin="",
        metadata_bytes=None,
        **over,
    ):
        """Copy a wheel or sdist in and return its record.

        age        seconds before the server's start, in place of a fixed upload time
        over       any field of the record set to something untrue, for tests
        """
        filename = os.path.basename(path)
        is_wheel = filename.endswith(".whl")
        meta = wheel_metadata(path) if is_wheel else sdist_metadata(path)
        named, version = split_filename(filename)
        project = norm(project or named)
        when = uploaded if age is None else int(time.time()) - age
        dst = self._copy(path, project, filename, when)
        record = {
            "project": project,
            "filename": filename,
            "version": version,
            "sha256": sha256_file(dst),
            "size": os.path.getsize(dst),
            "uploaded": iso(when),
            "age": age,
            "yanked": yanked,
            "requires_python": headers_of(meta)["Requires-Python"] if meta else None,
            "metadata": None,
            "origin": origin,
        }
        if is_wheel and meta:
            write_atomic(dst + ".metadata", meta if metadata_bytes is None else metadata_bytes)
            record["metadata"] = sha256_file(dst + ".metadata")
        record.update(over)
        same = project, filename
        self.files = [r for r in self.files if (r["project"], r["filename"]) != same]
        self.files.append(record)
        return record

    def _copy(self, path, project, filename, when):
        """Put a file into packages/ under its final name in one step."""
        dst = os.path.join(self.packages, project, filename)
        os.makedirs(os.path.dirname(dst), exist_ok=True)
        tmp = f"{dst}.tmp{os.getpid()}"
        shutil.copyfile(path, tmp)
        os.utime(tmp, (when, when))
        os.replace(tmp, dst)
        return dst

    def write(self):
        """Write files.json, ages.json and all pages; remove what no record names."""
        self.files.sort(key=lambda r: (r["project"], r["filename"]))
        write_atomic(self.db, json.dumps(self.files, indent=0))
        ages = {r["filename"]: r["age"] for r in self.files if r.get("age") is not None}
        write_atomic(os.path.join(self.dir, "ages.json"), json.dumps(ages, indent=0))
        projects = {}
        for r in self.files:
            projects.setdefault(r["project"], []).append(r)
        new = os.path.join(self.dir, f"simple.new{os.getpid()}")
        for project, records in projects.items():
            write_pages(os.path.join(new, project), *project_pages(project, records))
        write_pages(new, *root_pages(projects))
        replace_dir(new, os.path.join(self.dir, "simple"))
        self._sweep()

    def _sweep(self):
        keep = {(r["project"], r["filename"]) for r in self.files}
        for folder, _, names in os.walk(self.packages):
            project = os.path.basename(folder)
            for name in names:
                if (project, name.removesuffix(".metadata")) not in keep:
                    os.unlink(os.path.join(folder, name))
            if folder != self.packages and not os.listdir(folder):
                os.rmdir(folder)


def write_pages(folder, as_json, as_html):
    """index.json and index.html of one page."""
    os.makedirs(folder, exist_ok=True)
    for name, text in (("index.json", json.dumps(as_json)), ("index.html", as_html)):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(text)


def root_pages(projects):
    """The list of projects, as JSON and HTML."""
    links = [f'<a href="{html.escape(p)}/">{html.escape(p)}</a><br>' for p in projects]
    page = [HEAD + "<title>Simple index</title></head><body>", *links]
    return {"meta": API, "projects": [{"name": p} for p in projects]}, "\n".join(page) + TAIL


def project_pages(project, records):
    """The page of one project, as JSON and HTML."""
    title = f"Links for {html.escape(project)}"
    page = [f"{HEAD}<title>{title}</title></head><body>\n<h1>{title}</h1>"]
    page += [html_link(r) for r in records]
    data = {
        "meta": API,
        "name": project,
        "versions": sorted({r["version"] for r in records}),
        "files": [json_file(r) for r in records],
    }
    return data, "\n".join(page) + TAIL


def url_of(record):
    """Where a file is, as seen from its project's page."""
    return record.get("url") or f"../../packages/{record['project']}/{record['filename']}"


def json_file(record):
    """One entry of "files" in the JSON page."""
    core = {"sha256": record["metadata"]} if record["metadata"] else False
    fields = {
        "filename": record["filename"],
        "url": url_of(record),
        "hashes": {"sha256": record["sha256"]} if record["sha256"] else {},
        "requires-python": record["requires_python"],
        "size": record["size"],
        "upload-time": record["uploaded"],
        "yanked": record["yanked"],
        "core-metadata": core,
        "data-dist-info-metadata": core,
    }
    return {k: v for k, v in fields.items() if v is not None}


def html_link(record):
    """One line of the HTML page."""
    fragment = f"#sha256={record['sha256']}" if record["sha256"] else ""
    attrs = [f'href="{html.escape(url_of(record))}{fragment}"']
    if record["requires_python"]:
        attrs.append(f'data-requires-python="{html.escape(record["requires_python"])}"')
    if record["metadata"]:
        # PyPI also writes the older data-dist-info-metadata; with it pip 23.0.1 refuses names
        # like flit_core.
        attrs.append(f'data-core-metadata="sha256={record["metadata"]}"')
    if record["yanked"]:
        reason = record["yanked"] if isinstance(record["yanked"], str) else ""
        attrs.append(f'data-yanked="{html.escape(reason)}"')
    return f"<a {' '.join(attrs)}>{html.escape(record['filename'])}</a><br>"
