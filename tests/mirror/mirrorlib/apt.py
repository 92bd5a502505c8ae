"""The apt client with a state of its own: the system's archive and keys, its lists untouched.

The archive is whatever the system's sources use for the machine's own release. A second, frozen
release of the same archive (OTHER) gives a second version of most packages. What can't be had (the
other release, the sources, the whole archive) is left out with a warning: the index gets smaller.
"""
import concurrent.futures
import dataclasses
import glob
import hashlib
import json
import os
import re
import subprocess
import time

from .common import run, write_atomic

REFERENCE = "bookworm"  # the release packages.list was made on
# Releases whose versions do not move and that live in the same archive, best first.
OTHER = {
    "bookworm": ["trixie"],
    "trixie": ["bookworm"],
    "jammy": ["noble"],
    "noble": ["resolute", "jammy"],
    "resolute": ["noble"],
}
COMPONENTS = ("main", "universe")  # no more is needed, and universe is where Ubuntu has most
LISTS_LIVE = 86400  # seconds before the package lists are asked for again
BATCH = 60


class AptError(Exception):
    """The archive can't be used; the text says why."""


def os_release(path="/etc/os-release"):
    """The fields of os-release."""
    try:
        with open(path, encoding="utf-8") as f:
            return dict(re.findall(r'^(\w+)="?([^"\n]*)', f.read(), re.M))
    except OSError:
        return {}


# ---- which archive


@dataclasses.dataclass
class Archive:
    """One release of one archive, as the system's own sources have it."""

    uri: str
    release: str
    components: list
    options: str  # "" or what goes into the brackets of a sources.list line


def parse_deb822(text):
    """Stanzas of deb822 text as dicts; folded lines keep their line breaks."""
    stanzas = []
    for block in re.split(r"\n\s*\n", text):
        fields, key = {}, None
        for line in block.splitlines():
            if line.startswith("#"):
                continue
            if line[:1] in " \t" and key:
                fields[key] += "\n" + line
            elif ":" in line:
                key, value = line.split(":", 1)
                key = key.strip().lower()
                fields[key] = value.strip()
        if fields:
            stanzas.append(fields)
    return stanzas


def configured_targets(options=()):
    """The binary package lists of the system's sources, in the order of the sources.

    A target says its origin only once its lists were fetched; where they never were (a container
    with emptied lists), it is listed only when told to do without.
    """
    targets = []
    for more in ((), ("--no-release-info",)):
        text = run(["apt-get", *options, *more, "indextargets", "Created-By: Packages"]).stdout
        targets += parse_deb822(text)
    return [t for t in targets if t.get("created-by") == "Packages" and t.get("target-of") == "deb"]


def same(one, other, *keys):
    """Whether two targets agree in these fields."""
    return all(one.get(k) == other.get(k) for k in keys)


def choose_archive(targets, release):
    """The Archive for this machine out of the system's targets. release: os-release fields.

    Its own code name counts first (a derivative may use that of what it derives from), then an
    origin named like the distribution, then the number of lists that come from the same place:
    an add-on archive may well use the same release name, but carries less.
    """
    codes = [release.get(k) for k in ("VERSION_CODENAME", "UBUNTU_CODENAME", "DEBIAN_CODENAME")]
    codes = [c for c in codes if c]
    families = [release.get("ID", ""), *release.get("ID_LIKE", "").split()]

    def rank(target):
        named = {target.get("release"), target.get("codename")} - {None}
        code = next((i for i, c in enumerate(codes) if c in named), len(codes))
        pocket = bool(re.search(r"-(updates|security|backports|proposed)\b|/", target["release"]))
        foreign = target.get("origin", "").lower() not in families
        beside = {(t["release"], t["component"]) for t in targets if same(t, target, "repo-uri")}
        return pocket, code, foreign, -len(beside)

    if not targets:
        raise AptError("the system's apt sources list no packages")
    best = min(targets, key=rank)
    mine = [t for t in targets if same(t, best, "repo-uri", "release")]
    components = [c for c in COMPONENTS if any(t["component"] == c for t in mine)]
    return Archive(
        uri=best["repo-uri"],
        release=best.get("codename") or best["release"],
        components=components or sorted({t["component"] for t in mine}),
        options=best.get("sourcesentry", ""),
    )


def entry_options(sourcesentry, keydir):
    """signed-by and trusted of the source that `file:number` points at, for a sources.list line."""
    path, _, number = sourcesentry.rpartition(":")
    try:
        with open(path, encoding="utf-8") as f:
            text = f.read()
    except OSError:
        return ""
    if path.endswith(".sources"):
        stanza = parse_deb822(text)[int(number) - 1]
        key, trusted = stanza.get("signed-by", ""), stanza.get("trusted", "")
    else:
        line = text.splitlines()[int(number) - 1]
        found = dict(re.findall(r"([\w-]+)=([^\s\]]+)", line.partition("[")[2].partition("]")[0]))
        key, trusted = found.get("signed-by", ""), found.get("trusted", "")
    if "BEGIN PGP" in key:
        lines = [re.sub(r"^ ?\.?$", "", x.strip()) for x in key.strip().splitlines()]
        key = os.path.join(keydir, "archive-key.asc")
        write_atomic(key, "\n".join(lines) + "\n")
    options = [f"signed-by={key}"] if key and not re.search(r"\s", key) else []
    options += [f"trusted={trusted}"] if trusted else []
    return " ".join(options)


# ---- the client


class Apt:
    """Lists and downloads packages of the machine's own release and of another one.

    own, other   the names of the two releases; None where it can't be had
    suites       all usable ones
    warnings     what had to be left out, and why
    """

    def __init__(self, cache, offline=False, refresh=False, sid=False):
        self.release = os_release()
        self.dir = os.path.join(cache, "apt-" + self.release.get("VERSION_CODENAME", "unknown"))
        self.offline, self.sid = offline, sid
        self.warnings = []
        self.last_error = ""
        self.own = self.other = None
        for d in ("lists/partial", "cache/archives/partial", "empty"):
            os.makedirs(os.path.join(self.dir, d), exist_ok=True)
        with open(os.path.join(self.dir, "status"), "a", encoding="utf-8"):
            pass
        self.options = self._client_options()
        self.state_file = os.path.join(self.dir, "state.json")
        state = self._read_state()
        if not (state and (offline or (state["fresh"] and not refresh))):
            state = self._update() or state
        if state:
            self.own, self.other = state["own"], state["other"]
        self.suites = state["suites"] if state else []

    @property
    def reference(self):
        """Whether this is the pair of releases that packages.list was made for."""
        return self.own == REFERENCE and self.other == OTHER[REFERENCE][0]

    def _client_options(self):
        values = {
            "Dir::Etc::SourceList": f"{self.dir}/sources.list",
            "Dir::Etc::SourceParts": f"{self.dir}/empty",
            "Dir::Etc::Preferences": "/dev/null",
            "Dir::Etc::PreferencesParts": f"{self.dir}/empty",
            "Dir::State::Lists": f"{self.dir}/lists",
            "Dir::State::status": f"{self.dir}/status",
            "Dir::Cache": f"{self.dir}/cache",
            "Dir::Cache::pkgcache": "pkgcache.bin",
            "Dir::Cache::srcpkgcache": "srcpkgcache.bin",
            "Acquire::Languages": "none",
            "Acquire::Retries": "2",
            "Acquire::GzipIndexes": "true",
            "Acquire::Check-Valid-Until": "false",
            "APT::Update::Error-Mode": "any",  # else a list that can't be had is only a warning
            "APT::Sandbox::User": "root" if os.geteuid() == 0 else "",
            "APT::Get::List-Cleanup": "false",
        }
        return [x for k, v in values.items() for x in ("-o", f"{k}={v}")]

    def _read_state(self):
        """What the last update found, or None; "fresh" tells whether it will do."""
        try:
            with open(self.state_file, encoding="utf-8") as f:
                state = json.load(f)
        except (OSError, ValueError):
            return None
        young = time.time() - os.path.getmtime(self.state_file) < LISTS_LIVE
        state["fresh"] = young and (not self.sid or "sid" in state["suites"])
        return state

    def _update(self):
        """Fetch package lists, leaving out what the archive does not have. None: nothing at all."""
        try:
            archive = choose_archive(configured_targets(), self.release)
        except AptError as e:
            self.warnings.append(f"no archive: {e}")
            return None
        archive.options = entry_options(archive.options, self.dir)
        own, others = archive.release, OTHER.get(archive.release, [])
        extra = ["sid"] if self.sid else []
        suites = [own, *others[:1], *extra]
        if not self._try_update(archive, dict.fromkeys(suites, True)):
            suites = self._update_one_by_one(archive, own, others, extra)
        if not suites:
            self.warnings.append("apt-get update failed: " + self.last_error.strip()[-300:])
            return None
        other = next((s for s in others if s in suites), None)
        state = {"own": own, "other": other, "suites": suites}
        write_atomic(self.state_file, json.dumps(state))
        return state

    def _update_one_by_one(self, archive, own, others, extra):
        """The suites that can be had, found by trying each, with and without its sources."""
        usable = {}
        for suite in (own, *others, *extra):
            if suite in others and any(s in usable for s in others):
                continue
            for sources in (True, False):
                if self._try_update(archive, {**usable, suite: sources}):
                    usable[suite] = sources
                    break
            else:
                self.warnings.append(f"{suite}: the archive at hand does not serve it")
            if usable.get(suite) is False:
                self.warnings.append(f"{suite}: the archive at hand does not serve its sources")
            if own not in usable:
                return []
        self._try_update(archive, usable)
        return list(usable)

    def _try_update(self, archive, suites):
        """apt-get update with these suites. suites: name -> whether its sources are wanted too."""
        options = f" [{archive.options}]" if archive.options else ""
        lines = []
        for suite, sources in suites.items():
            where = f"{options} {archive.uri} {suite} {' '.join(archive.components)}\n"
            lines += ["deb" + where] + (["deb-src" + where] if sources else [])
        write_atomic(os.path.join(self.dir, "sources.list"), "".join(lines))
        result = run(["apt-get", *self.options, "-q", "update"])
        self.last_error = result.stderr[-2000:]
        return result.returncode == 0

    def versions(self, names):
        """{(name, suite, 'deb'|'src'): version}, the newest of each suite.

        Read off the lists (apt-cache is slow at it) once for each state of the lists.
        """
        files = sorted(glob.glob(os.path.join(self.dir, "lists", "*_*")))
        stamps = [(f, os.stat(f).st_mtime_ns, os.path.getsize(f)) for f in files]
        key = json.dumps([sorted(names), self.suites, stamps])
        digest = hashlib.sha256(key.encode()).hexdigest()[:20]
        cached = os.path.join(self.dir, f"versions-{digest}.json")
        if not os.path.exists(cached):
            for old in glob.glob(os.path.join(self.dir, "versions-*.json")):
                if time.time() - os.path.getmtime(old) > LISTS_LIVE:
                    os.unlink(old)
            rows = [[*k, v] for k, v in self._scan_lists(set(names)).items()]
            write_atomic(cached, json.dumps(rows))
        with open(cached, encoding="utf-8") as f:
            return {tuple(row[:3]): row[3] for row in json.load(f)}

    def _scan_lists(self, names):
        found = {}
        form = "$(CREATED_BY)|$(RELEASE)|$(FILENAME)"
        listing = run(["apt-get", *self.options, "indextargets", "--format", form]).stdout
        targets = [line.split("|") for line in listing.splitlines() if line.count("|") == 2]
        targets = [t for t in targets if t[0] in ("Packages", "Sources") and t[1] in self.suites]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            scans = pool.map(lambda t: self._scan(t[2], names), targets)
            for (kind, suite, _), rows in zip(targets, scans):
                for name, version in rows:
                    key = name, suite, "deb" if kind == "Packages" else "src"
                    if key not in found or newer(version, found[key]):
                        found[key] = version
        return found

    def _scan(self, path, names):
        """(name, version) of each wanted package in one list."""
        cmd = ["/usr/lib/apt/apt-helper", *self.options, "cat-file", path]
        data = subprocess.run(cmd, capture_output=True).stdout
        wanted, rows = {n.encode() for n in names}, []
        for stanza in data.split(b"\n\n"):
            name = stanza[9 : stanza.find(b"\n")]  # after "Package: "
            if name in wanted and b"\nExtra-Source-Only: yes" not in stanza:
                rows.append((name.decode(), re.search(rb"(?m)^Version: (.*)", stanza)[1].decode()))
        return rows

    def fetch(self, verb, specs, dest):
        """Download in batches; what the archive lacks is simply not there afterwards."""
        os.makedirs(dest, exist_ok=True)
        for i in range(0, len(specs), BATCH):
            batch = specs[i : i + BATCH]
            result = run(["apt-get", *self.options, "-q", *verb, *batch], cwd=dest)
            if result.returncode and "Failed to fetch" not in result.stderr:
                for spec in batch:  # one bad name voids its batch
                    run(["apt-get", *self.options, "-q", *verb, spec], cwd=dest)


def newer(version, than):
    """Whether a Debian version is newer than another."""
    return subprocess.run(["dpkg", "--compare-versions", version, "gt", than]).returncode == 0
