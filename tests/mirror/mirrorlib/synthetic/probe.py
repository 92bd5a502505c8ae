"""What the evil packages try. They open files but read none, and connect to loopback only."""
import json

PYTHON_PROBE = r'''
def probe(stage):
    """What code run during an install can reach. Files are opened, never read: only yes/no and
    counts are reported."""
    import json, os, socket, sys
    cfg = json.loads(CONFIG)
    res = {"stage": stage, "uid": os.getuid(), "pid": os.getpid(), "cwd": os.getcwd()}
    home = os.path.expanduser("~")

    def t(key, fn):
        try:
            res[key] = fn()
        except Exception as e:
            res[key] = "%s: %s" % (type(e).__name__, getattr(e, "strerror", None) or "")

    def opens(p):
        os.close(os.open(p, os.O_RDONLY | os.O_CLOEXEC))
        return "OPENED"

    def tcp(hp):
        h, p = hp.rsplit(":", 1)
        socket.create_connection((h.strip("[]"), int(p)), 2).close()
        return "CONNECTED"

    def unix(p):
        s = socket.socket(socket.AF_UNIX)
        s.settimeout(2)
        s.connect("\0" + p[1:] if p[0] == "@" else p)
        s.close()
        return "CONNECTED"

    def write(d):
        p = os.path.join(d, "syn-evil-was-here")
        with open(p, "w") as f:
            f.write("x")
        os.unlink(p)
        return "WROTE"

    def status(field):
        return [l.split()[1] for l in open("/proc/self/status") if l.startswith(field + ":")][0]

    def suspicious(name):
        return any(w in name.upper() for w in ("TOKEN", "SECRET", "PASSW", "SSH_"))

    t("ssh:list", lambda: "LISTED %d" % len(os.listdir(os.path.join(home, ".ssh"))))
    files = [os.path.join(home, x) for x in (".ssh/id_rsa", ".ssh/id_ed25519", ".netrc", ".pypirc")]
    for p in files + ["/etc/shadow", "/proc/1/environ"] + cfg["file"]:
        t("read:" + p, lambda: opens(p))
    for p in ["127.0.0.1:22"] + cfg["tcp"]:
        t("tcp:" + p, lambda: tcp(p))
    for p in ["/run/dbus/system_bus_socket", "/var/run/docker.sock"] + cfg["unix"]:
        t("unix:" + p, lambda: unix(p))
    for d in [home, "/usr/lib", "/etc", "/"]:
        # asked, not tried: root writes anywhere when there is no sandbox
        t("writable:" + d, lambda: "WRITABLE" if os.access(d, os.W_OK) else "no")
    for d in cfg["write"]:
        t("write:" + d, lambda: write(d))
    t("net:interfaces", lambda: sorted(x[1] for x in socket.if_nameindex()))
    t("proc:count", lambda: len([x for x in os.listdir("/proc") if x.isdigit()]))
    t("abstract sockets", lambda: sum("@" in l for l in open("/proc/net/unix")))
    t("env:suspicious", lambda: sorted(k for k in os.environ if suspicious(k)))
    for k in cfg["env"]:
        res["env:" + k] = "SET" if k in os.environ else "unset"
    t("caps", lambda: status("CapEff"))
    t("nonewprivs", lambda: status("NoNewPrivs"))
    t("seccomp", lambda: status("Seccomp"))
    t("tty", lambda: os.ttyname(0))
    line = "SYN-PROBE " + json.dumps(res)
    print(line)
    print(line, file=sys.stderr)
    return res
'''

SHELL_PROBE = r"""#!/bin/sh
say() { echo "SYN-PROBE configure $1 $2"; }
ls ~/.ssh >/dev/null 2>&1 && say ssh LISTED || say ssh no
( : < /etc/shadow ) 2>/dev/null && say shadow READABLE || say shadow no
[ -w /usr/lib ] && say usr WRITABLE || say usr no
[ -w ~ ] && say home WRITABLE || say home no
say interfaces "$(ls /sys/class/net 2>/dev/null | tr '\n' ' ')"
"""

R_PROBE = r"""probe <- function(stage) {
  t <- function(k, e) cat("SYN-PROBE", stage, k,
                          tryCatch(suppressWarnings(e), error = function(x) "no"), "\n")
  t("ssh", { f <- list.files("~/.ssh", all.files = TRUE)
             if (length(f)) paste("LISTED", length(f)) else "no" })
  t("shadow", if (file.access("/etc/shadow", 4) == 0) "READABLE" else "no")
  t("home", if (file.access(path.expand("~"), 2) == 0) "WRITABLE" else "no")
CONNECTS}
probe("install")
.onLoad <- function(libname, pkgname) probe("onLoad")
hello <- function() probe("call")
"""

R_CONNECT = (
    '  t("tcp:HOST:PORT", {{ s <- socketConnection("{host}", {port}, timeout = 2); close(s)\n'
    '             "CONNECTED" }})\n'
)


def python_probe(options):
    """Source of probe(stage), with the targets of the options baked in."""
    targets = {
        "tcp": options.probe_tcp,
        "unix": options.probe_unix,
        "file": options.probe_file,
        "write": options.probe_write,
        "env": options.probe_env,
    }
    return PYTHON_PROBE.replace("CONFIG", repr(json.dumps(targets)))


def r_probe(options):
    """R code that probes when it is installed, loaded and called."""
    connects = []
    for target in options.probe_tcp:
        host, port = target.rsplit(":", 1)
        code = R_CONNECT.format(host=host.strip("[]"), port=port)
        connects.append(code.replace("HOST:PORT", target))
    return R_PROBE.replace("CONNECTS", "".join(connects))
