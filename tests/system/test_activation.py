"""Socket activation (sd_listen_fds(3), sd_notify(3)) and the sockets' own rules."""
import os
import socket
import stat
import subprocess
import sys

from conftest import ROOT

# Becomes pkgd with the sockets at 3 and 4, as systemd would hand them over.
ACTIVATE = """
import os, sys
ask, control = int(sys.argv[1]), int(sys.argv[2])
high = [os.dup2(fd, 60 + i) for i, fd in enumerate((ask, control))]
for i, fd in enumerate(high):
    os.dup2(fd, 3 + i)
    os.close(fd)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="2", LISTEN_FDNAMES=sys.argv[3])
os.execv(sys.argv[4], [sys.argv[4]])
"""


def listen(path):
    sock = socket.socket(socket.AF_UNIX)
    sock.bind(str(path))
    sock.listen()
    return sock


def activated(pkg, names="pkgd.sock:control.sock", **env):
    run = pkg.home / "run"
    run.mkdir(parents=True)
    run.chmod(0o700)
    sockets = [listen(run / "pkgd.sock"), listen(run / "control.sock")]
    fds = [s.fileno() for s in sockets]
    for fd in fds:
        os.set_inheritable(fd, True)
    pkg.daemon_process = subprocess.Popen(
        [sys.executable, "-c", ACTIVATE, *map(str, fds), names, str(ROOT / "bin" / "pkgd")],
        env={**pkg.env, **env}, pass_fds=fds, stderr=subprocess.PIPE, text=True,
    )
    return sockets


def test_the_daemon_serves_the_sockets_that_systemd_hands_over(make_pkg):
    pkg = make_pkg()
    sockets = activated(pkg)
    assert pkg.json("jobs", "list")["jobs"] == []
    for sock in sockets:
        sock.close()
    assert pkg.json("jobs", "list")["jobs"] == [], "the listener is the daemon's own copy"


def test_a_socket_of_an_unknown_name_is_refused(make_pkg):
    pkg = make_pkg()
    activated(pkg, names="pkgd.sock:other.sock")
    assert pkg.daemon_process.wait(10) != 0
    assert "other.sock" in pkg.daemon_process.stderr.read()
    pkg.daemon_process = None


def test_readiness_is_told_to_systemd(make_pkg, tmp_path):
    pkg = make_pkg()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
        told.bind(str(tmp_path / "notify"))
        told.settimeout(10)
        pkg.start(NOTIFY_SOCKET=str(tmp_path / "notify"))
        assert told.recv(100) == b"READY=1"
        pkg.stop()
        assert told.recv(100) == b"STOPPING=1"


def test_sockets_belong_to_their_user_alone(pkg):
    for name in ("pkgd.sock", "control.sock"):
        mode = stat.S_IMODE((pkg.home / "run" / name).stat().st_mode)
        assert mode == 0o600, name


def test_a_second_daemon_of_the_same_home_leaves(pkg):
    second = subprocess.run([ROOT / "bin" / "pkgd"], env=pkg.env, capture_output=True, text=True, timeout=20)
    assert second.returncode == 1
    assert "pkgd" in second.stderr
    assert pkg.json("jobs", "list")["jobs"] == [], "the first one goes on"


def test_a_home_whose_path_is_longer_than_a_socket_address_works(make_pkg):
    pkg = make_pkg()
    deep = pkg.root / ("d" * 100) / ("e" * 60)
    deep.mkdir(parents=True)
    pkg.home.rename(deep / "pkgd")
    pkg.home = deep / "pkgd"
    pkg.env["PKGD_HOME"] = str(pkg.home)
    pkg.start()
    assert pkg.json("jobs", "list")["jobs"] == []
