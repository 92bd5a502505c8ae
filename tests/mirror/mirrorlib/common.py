"""Small helpers that every part of the mirror uses."""
import hashlib
import os
import re
import subprocess
import time

EPOCH = 1577836800  # 2020-01-01: the date of every generated archive member
PYTHON = "/usr/bin/python3"  # PATH's python3 need not be the distribution's
HIDDEN_PREFIXES = ("PIP_", "PYTHON", "VIRTUAL_ENV", "R_")
HIDDEN_NAMES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR")


def norm(name):
    """A project name as PEP 503 normalises it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def fname(name):
    """A project name as it stands in file names."""
    return re.sub(r"[-_.]+", "_", name).lower()


def vkey(version):
    """The numeric parts of a version, good enough to sort plain releases."""
    return [int(x) for x in re.split(r"[.-]", version) if x.isdigit()]


def iso(timestamp):
    """Seconds since 1970 as an ISO 8601 time."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(timestamp))


def sha256_file(path):
    """The hex digest of a file, read in pieces."""
    digest = hashlib.sha256()
    with open(path, "rb") as f:
        for block in iter(lambda: f.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def write_atomic(path, data):
    """Write bytes or text under a temporary name, then rename: readers see all or nothing."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    tmp = f"{path}.tmp{os.getpid()}"
    with open(tmp, "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())
    os.replace(tmp, path)


def run(cmd, **kw):
    """Run a command and capture its output as text; the caller looks at the return code."""
    return subprocess.run(cmd, capture_output=True, text=True, errors="replace", **kw)


def clean_env(**extra):
    """This environment without what steers pip, Python, R and TLS from outside."""
    env = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(HIDDEN_PREFIXES) and k not in HIDDEN_NAMES
    }
    env.update(
        PIP_CONFIG_FILE=os.devnull,
        PIP_DISABLE_PIP_VERSION_CHECK="1",
        PYTHONDONTWRITEBYTECODE="1",
        PYTHONNOUSERSITE="1",
        SOURCE_DATE_EPOCH=str(EPOCH),
        LC_ALL="C.UTF-8",
    )
    env.update(extra)
    return env
