"""pkg-unpack, the program that opens wheels inside the apply sandbox."""
import base64
import hashlib
import json
import os
import stat
import subprocess
import zipfile

from conftest import ROOT

PROGRAM = ROOT / "libexec" / "pkgd" / "pkg-unpack"
INFO = "demo_pkg-1.0.dist-info"
NAME = "demo_pkg-1.0-py3-none-any.whl"


def make_wheel(path, extra=None, method=zipfile.ZIP_DEFLATED):
    """A wheel as Python's zipfile writes it; files in `extra` are not in RECORD."""
    files = {
        "demo_pkg/__init__.py": b"x = 1\n",
        "demo_pkg/naïve.txt": "ï".encode(),
        f"{INFO}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{INFO}/METADATA": b"Metadata-Version: 2.1\nName: demo-pkg\nVersion: 1.0\n",
    }
    record = "".join(
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip('=')},{len(data)}\n"
        for name, data in files.items())
    with zipfile.ZipFile(path, "w", method) as wheel:
        for name, data in {**files, **(extra or {})}.items():
            wheel.writestr(name, data)
        wheel.writestr(f"{INFO}/RECORD", f"{record}{INFO}/RECORD,,\n")
    return path


def unpack(*jobs):
    """Jobs are (wheel's path, directory): (exit status, the lines it printed, stderr)."""
    handles = [open(wheel, "rb") for wheel, _ in jobs]
    argv = [str(PROGRAM), "wheel"]
    for handle, (_, directory) in zip(handles, jobs):
        directory.mkdir()
        argv += [NAME, str(handle.fileno()), str(directory)]
    done = subprocess.run(argv, capture_output=True, text=True, pass_fds=[h.fileno() for h in handles], env={},
                          timeout=60)
    for handle in handles:
        handle.close()
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def test_a_wheel_becomes_read_only_files_and_a_report(tmp_path):
    old = os.umask(0o077)
    try:
        status, lines, err = unpack((make_wheel(tmp_path / "w"), tmp_path / "out"))
    finally:
        os.umask(old)
    assert (status, err) == (0, "")
    assert [f["path"] for f in lines[0]["files"]][-2:] == ["demo_pkg/__init__.py", "demo_pkg/naïve.txt"]
    file = tmp_path / "out" / "demo_pkg" / "__init__.py"
    assert file.read_bytes() == b"x = 1\n"
    # Whatever the umask of who started it.
    assert stat.S_IMODE(file.stat().st_mode) == 0o444
    assert lines[0]["name"] == "demo-pkg" and lines[0]["tags"] == ["py3-none-any"]
    assert lines[0]["files"][-2]["sha256"] == hashlib.sha256(b"x = 1\n").hexdigest()


def test_several_wheels_go_in_one_run_until_the_first_bad_one(tmp_path):
    good = make_wheel(tmp_path / "good", method=zipfile.ZIP_STORED)
    bad = make_wheel(tmp_path / "bad", {"hidden.py": b"evil"})
    status, lines, err = unpack((good, tmp_path / "1"), (bad, tmp_path / "2"), (good, tmp_path / "3"))
    assert (status, err) == (1, "")
    assert lines[0]["dist_info"] == INFO and len(lines) == 2
    assert lines[1]["error"] == {"kind": "corrupt-archive", "cure": None,
                                 "message": f"{NAME}: 'hidden.py' is not in RECORD"}
    # Known before the first byte was written.
    assert list((tmp_path / "2").iterdir()) == [] == list((tmp_path / "3").iterdir())


def test_misuse_is_a_usage_error(tmp_path):
    for argv in ([], ["wheel"], ["wheel", NAME, "0"], ["wheel", NAME, "x", str(tmp_path)],
                 ["sdist", NAME, "0", str(tmp_path)], ["wheel", NAME, "-1", str(tmp_path)]):
        done = subprocess.run([str(PROGRAM), *argv], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("usage: pkg-unpack")


def test_what_is_no_file_is_refused(tmp_path):
    done = subprocess.run([str(PROGRAM), "wheel", NAME, "9", str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["kind"] == "io-error"
    done = subprocess.run([str(PROGRAM), "wheel", NAME, "0", str(tmp_path)], capture_output=True, text=True,
                          input="not a file")
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["message"] == f"{NAME}: not a regular file"
