"""A throwaway CA and a server certificate, made with openssl."""
import fcntl
import os
import ssl
import subprocess
import tempfile
import time

NAMES = ["localhost", "127.0.0.1", "::1"]
DAYS, RENEW_AFTER = 30, 20 * 86400
KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
CA_EXTENSIONS = ["basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign,cRLSign"]
SERVER_EXTENSIONS = (
    "basicConstraints=critical,CA:FALSE\nextendedKeyUsage=serverAuth\n"
    "subjectKeyIdentifier=hash\nauthorityKeyIdentifier=keyid,issuer\n"
)


def _openssl(*args):
    result = subprocess.run(["openssl", *args], capture_output=True, text=True)
    if result.returncode:
        raise SystemExit("serve: openssl failed: " + result.stderr[-500:])


def _make(folder, san):
    """ca.pem, server.pem and server.key in folder; the key of the CA is not kept."""
    with tempfile.TemporaryDirectory(dir=folder) as tmp:

        def at(name):
            return os.path.join(tmp, name)

        days = ["-days", str(DAYS)]
        more = [x for e in CA_EXTENSIONS for x in ("-addext", e)]
        subject = ["-subj", "/CN=mirror test CA"]
        out = ["-keyout", at("ca.key"), "-out", at("ca.pem")]
        _openssl("req", "-x509", *KEY, *out, *days, *subject, *more)
        out = ["-keyout", at("server.key"), "-out", at("csr")]
        _openssl("req", *KEY, *out, "-subj", "/CN=localhost")
        with open(at("ext"), "w", encoding="utf-8") as f:
            f.write(f"subjectAltName={san}\n{SERVER_EXTENSIONS}")
        signer = ["-CA", at("ca.pem"), "-CAkey", at("ca.key"), "-CAcreateserial"]
        files = ["-in", at("csr"), "-out", at("server.pem"), "-extfile", at("ext")]
        _openssl("x509", "-req", *signer, *files, *days)
        os.chmod(at("server.key"), 0o600)
        for name in ("ca.pem", "server.pem", "server.key"):
            os.replace(at(name), os.path.join(folder, name))
    with open(os.path.join(folder, "san"), "w", encoding="utf-8") as f:
        f.write(san)


def _usable(folder, san):
    """Whether the certificate there is for these names and young enough."""
    stamp = os.path.join(folder, "san")
    try:
        with open(stamp, encoding="utf-8") as f:
            return f.read() == san and time.time() - os.path.getmtime(stamp) < RENEW_AFTER
    except OSError:
        return False


def server_context(folder, more_names=(), fresh=False):
    """(SSL context, bytes of the CA certificate). Several servers may use one folder at once."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    names = [*NAMES, *more_names]
    kinds = ["IP" if n.replace(".", "").isdigit() or ":" in n else "DNS" for n in names]
    san = ",".join(f"{kind}:{name}" for kind, name in zip(kinds, names))
    with open(os.path.join(folder, "lock"), "w", encoding="utf-8") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        if fresh or not _usable(folder, san):
            _make(folder, san)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        pem, key = (os.path.join(folder, n) for n in ("server.pem", "server.key"))
        context.load_cert_chain(pem, key)
        with open(os.path.join(folder, "ca.pem"), "rb") as f:
            return context, f.read()
