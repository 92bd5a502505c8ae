pkglibexec_PROGRAMS += pkg-proxy pkg-shim
# Not EGRESS_LIBS: libcurl and sqlite would cost more to load than the proxy itself.
pkg_proxy_SOURCES = src/bin/pkg-proxy.c
pkg_proxy_LDADD = libpkgegress.a libpkgpolicy.a libpkgcore.a $(JSON_LIBS)
# PKGD_STATIC is -static where configure found that it links, so that the shim runs in a root without libraries.
pkg_shim_SOURCES = src/bin/pkg-shim.c
pkg_shim_LDADD = libpkgegress.a
pkg_shim_LDFLAGS = $(AM_LDFLAGS) $(PKGD_STATIC)
pkglibexec_PROGRAMS += pkg-unpack
# No libcurl: this program starts once for each install, in a sandbox without network.
pkg_unpack_SOURCES = src/bin/pkg-unpack.c
pkg_unpack_LDADD = libpkglang.a libpkgfetch.a libpkgcore.a $(JSON_LIBS) $(ZLIB_LIBS) $(CRYPTO_LIBS)
pkglibexec_PROGRAMS += pkg-worker
pkg_worker_SOURCES = src/bin/pkg-worker.c
pkg_worker_LDADD = $(INSTALL_LIBS)
pkglibexec_PROGRAMS += pkg-probe pkg-enter
# They run beneath the boundary's own limits and filter, where a sanitizer's runtime cannot start.
pkg_probe_SOURCES = src/bin/pkg-probe.c
pkg_probe_CFLAGS = $(AM_CFLAGS) -fno-sanitize=all
pkg_probe_LDFLAGS = $(AM_LDFLAGS) $(PKGD_STATIC) -fno-sanitize=all
pkg_enter_SOURCES = src/bin/pkg-enter.c
pkg_enter_CFLAGS = $(AM_CFLAGS) -fno-sanitize=all
pkg_enter_LDFLAGS = $(AM_LDFLAGS) $(PKGD_STATIC) -fno-sanitize=all
bin_PROGRAMS += pkgd
pkgd_SOURCES = src/bin/pkgd.c
pkgd_LDADD = $(DAEMON_LIBS)
bin_PROGRAMS += pkg
pkg_SOURCES = src/bin/pkg.c
pkg_LDADD = $(CLI_LIBS)
