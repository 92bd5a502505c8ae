"""Print every distribution that this interpreter resolves, as one line of JSON.

Runs as PREFIX/bin/python -I inventory.py [--overlay DIRECTORY...] inside the verify sandbox. An overlay
directory stands before all of sys.path: what is in it is what the environment is about to have.

The search is that of importlib.metadata (the first of a name in the order of sys.path wins), without
importing it: its parsers cost more than all the reading. Only the head of each metadata file is read.
"""

import json
import os
import re
import sys

HEAD = 64 * 1024
MOST = 100000


def header(path):
    """Name and Version of a metadata file; None where it does not say."""
    with open(path, "rb") as stream:
        text = stream.read(HEAD).decode("utf-8", "replace")
    name = version = None
    for line in text.splitlines():
        if not line.strip():
            break
        key, colon, value = line.partition(":")
        if not colon:
            continue
        key = key.lower()
        if key == "name" and name is None:
            name = value.strip()
        elif key == "version" and version is None:
            version = value.strip()
        if name and version:
            break
    return name, version


def metadata_of(path):
    """The file in which a .dist-info or .egg-info (a directory or a file) says what it is."""
    if os.path.isfile(path):
        return path
    for name in ("METADATA", "PKG-INFO"):
        file = os.path.join(path, name)
        if os.path.isfile(file):
            return file
    return None


def candidates(entry):
    """Metadata directories and files of one entry of sys.path."""
    try:
        names = sorted(os.listdir(entry))
    except OSError:
        return
    if os.path.basename(entry).endswith(".egg") and "EGG-INFO" in names:
        yield os.path.join(entry, "EGG-INFO")
    for name in names:
        if name.lower().endswith((".dist-info", ".egg-info")):
            yield os.path.join(entry, name)


def main(arguments):
    overlays = [path for path in arguments if path != "--overlay"]
    found = {}
    skipped = []
    seen = set()
    for entry in overlays + sys.path:
        # Beneath lib64, which is a link to lib, things would have a second place.
        entry = os.path.realpath(entry) if entry else ""
        if not entry or entry in seen:
            continue
        seen.add(entry)
        for path in candidates(entry):
            if len(found) >= MOST:
                break
            note = None
            try:
                file = metadata_of(path)
                name, version = header(file) if file else (None, None)
                if not file:
                    note = "no metadata in it"
                elif not name or not version:
                    note = "its metadata has no name or no version"
            except OSError as error:
                note = str(error.strerror)
            if note:
                if len(skipped) < 100:
                    skipped.append({"location": path, "note": note})
                continue
            key = re.sub(r"[-_.]+", "-", name).lower()
            if key not in found:
                found[key] = {"name": name, "version": version, "location": path}
    facts = {
        "prefix": sys.prefix,
        "base_prefix": sys.base_prefix,
        "version": "%d.%d.%d" % sys.version_info[:3],
        "sys_path": [path for path in sys.path if path],
        "distributions": [found[key] for key in sorted(found)],
        "skipped": skipped,
    }
    sys.stdout.write("\n" + json.dumps(facts) + "\n")


main(sys.argv[1:])
