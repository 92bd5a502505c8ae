"""R packages. In the table of expectations their names begin with "R:"."""
import os
import tarfile

from .maker import special
from .probe import SHELL_PROBE, r_probe

C_CODE = {
    "src/a.c": "#include <R.h>\n#include <Rinternals.h>\n"
    "SEXP answer(void) { return ScalarInteger(42); }\n"
}
NO_LIBRARY = "#!/bin/sh\necho 'configure: error: libsynthetic was not found' >&2\nexit 1\n"
DETACH = "#!/bin/sh\nsetsid sleep 300 </dev/null >/dev/null 2>&1 &\nexit 0\n"
OTHER_DESCRIPTION = (
    "Package: synr.other\nVersion: 1.0\nTitle: x\nDescription: x.\nAuthor: N\n"
    "Maintainer: N <n@example.invalid>\nLicense: GPL-3\n"
)


def add(m, options):
    """All families of this module."""
    dependencies(m)
    builds(m, options)
    wrong(m)
    content(m)


def configure(text):
    """files= with an executable configure script."""
    return {"configure": (text, 0o755)}


def dependencies(m):
    """Who needs whom."""
    m.expect("R:synr.pure", "ok", "pure R, 1.0 in Archive, 2.0 current")
    m.r_package("synr.pure", "1.0", archive=True)
    m.r_package("synr.pure", "2.0")
    m.expect("R:synr.diamond", "ok", "left and right both import synr.pure")
    m.r_package("synr.left", fields="Imports: synr.pure (>= 1.0)\n")
    m.r_package("synr.right", fields="Imports: synr.pure (>= 2.0)\n")
    m.r_package("synr.diamond", fields="Imports: synr.left, synr.right\n")
    m.expect("R:synr.conflict", "no-resolution", "imports synr.pure (>= 9.0)")
    m.r_package(
        "synr.conflict",
        fields="Imports: synr.pure (>= 9.0)\n",
        code="hi <- function() 1\n",
        namespace="importFrom(synr.pure, hello)\nexport(hi)\n",
    )
    why = "the same, but its NAMESPACE imports nothing: R itself installs it"
    m.expect("R:synr.conflict.lax", "no-resolution", why)
    m.r_package("synr.conflict.lax", fields="Imports: synr.pure (>= 9.0)\n")
    m.expect("R:synr.missingdep", "no-resolution", "imports a package the repository does not have")
    m.r_package("synr.missingdep", fields="Imports: synr.nosuch\n")
    m.expect("R:synr.newr", "no-resolution", "depends on R (>= 99.0)")
    m.r_package("synr.newr", fields="Depends: R (>= 99.0)\n")
    m.expect("R:synr.suggests", "ok", "suggests a missing package: no obstacle")
    m.r_package("synr.suggests", fields="Suggests: synr.nosuch\n")


def builds(m, options):
    """What happens while a package is built and first loaded."""
    m.expect("R:synr.compiled", "build", "C code: needs gcc and the R headers; hello() is 42")
    m.r_package(
        "synr.compiled",
        code='hello <- function() .Call("answer", PACKAGE = "synr.compiled")\n',
        namespace="export(hello)\nuseDynLib(synr.compiled)\n",
        files=C_CODE,
    )
    m.expect("R:synr.compilefail", "build", "C code that does not compile")
    m.r_package(
        "synr.compilefail",
        namespace="export(hello)\nuseDynLib(synr.compilefail)\n",
        files={"src/a.c": "#include <syn_no_such_header.h>\n"},
    )
    why = "SystemRequirements and a configure script that does not find its library"
    m.expect("R:synr.sysreq", "build", why)
    needs = "SystemRequirements: libsynthetic-dev\n"
    m.r_package("synr.sysreq", fields=needs, files=configure(NO_LIBRARY))
    m.expect("R:synr.evil", "build", "configure, install-time code and .onLoad print SYN-PROBE")
    m.r_package("synr.evil", code=r_probe(options), files=configure(SHELL_PROBE))
    m.expect("R:synr.hang", "limits", "configure sleeps an hour")
    m.r_package("synr.hang", files=configure("#!/bin/sh\nsleep 3600\n"))
    m.expect("R:synr.daemon", "limits", "configure leaves a detached process for five minutes")
    m.r_package("synr.daemon", files=configure(DETACH))
    m.expect("R:synr.loadfail", "build", "installs, then fails R's own test load and is removed")
    fails = '.onLoad <- function(l, p) stop("SYN-LOADFAIL on purpose")\nhello <- function() 1\n'
    m.r_package("synr.loadfail", code=fails)


def wrong(m):
    """What the repository or the tarball says that is not so."""
    m.expect("R:synr.badmd5", "reject", "PACKAGES has a wrong MD5sum")
    m.r_package("synr.badmd5", md5="0" * 32)
    m.expect("R:synr.gone", "reject", "in PACKAGES, but the tarball is 404")
    m.r_package("synr.gone")
    if m.making:
        os.unlink(os.path.join(m.cran.contrib, "synr.gone_1.0.tar.gz"))
    m.expect("R:synr.mismatch", "reject", "the tarball's DESCRIPTION is of another package")
    m.r_package("synr.mismatch", files={"DESCRIPTION": OTHER_DESCRIPTION})
    m.expect("R:synr.traversal", "reject", "tar entries ../.., /abs, a symlink, a file through it")
    link = "synr.traversal/link"
    m.r_package(
        "synr.traversal",
        files={
            "../../syn-rtar-relative": "x",
            "/tmp/syn-rtar-absolute": "x",
            link: special(link, tarfile.SYMTYPE, "/tmp"),
            "link/syn-rtar-through": "x",
        },
    )


def content(m):
    """Unusual, and right."""
    m.expect("R:synr.unicode", "ok", "UTF-8 in DESCRIPTION and in a string")
    m.r_package(
        "synr.unicode",
        fields="Encoding: UTF-8\nURL: https://example.invalid/ñ\n",
        code='hello <- function() "Grüße, 世界"\n',
    )
    m.expect("R:synr.manyfiles", "ok", "2000 data files under inst/")
    many = {f"inst/d/f{i:04}.txt": f"{i}\n" for i in range(2000)}
    m.r_package("synr.manyfiles", files=many)
