pkglibexec_PROGRAMS += pkg-proxy pkg-shim
# Not EGRESS_LIBS: libcurl and sqlite would cost more to load than the proxy itself.
pkg_proxy_SOURCES = src/bin/pkg-proxy.c
pkg_proxy_LDADD = libpkgegress.a libpkgpolicy.a libpkgcore.a $(JSON_LIBS)
# Linked without a C library where that works (bare.c says why), else statically, so that they run in a root
# without libraries.
pkg_shim_SOURCES = src/bin/pkg-shim.c src/bin/say.h src/egress/shim.c
pkg_enter_SOURCES = src/bin/pkg-enter.c src/bin/say.h
if BARE
FLAGS_BARE = $(AM_CFLAGS) -ffreestanding -fno-stack-protector -fno-builtin -fno-pie \
	-U_FORTIFY_SOURCE -fno-sanitize=all $(BARE_NO_LOOPS)
LINK_BARE = -static -nostdlib -nostartfiles -Wl,-z,noexecstack -Wl,--build-id=none
pkg_shim_SOURCES += src/bin/bare.c
pkg_shim_CFLAGS = $(FLAGS_BARE)
pkg_shim_LDFLAGS = $(LINK_BARE)
pkg_enter_SOURCES += src/bin/bare.c
pkg_enter_CFLAGS = $(FLAGS_BARE)
pkg_enter_LDFLAGS = $(LINK_BARE)
else
EXTRA_DIST += src/bin/bare.c
pkg_shim_CFLAGS = $(AM_CFLAGS)
pkg_shim_LDFLAGS = $(AM_LDFLAGS) $(PKGD_STATIC)
pkg_enter_CFLAGS = $(AM_CFLAGS) -fno-sanitize=all
pkg_enter_LDFLAGS = $(AM_LDFLAGS) $(PKGD_STATIC) -fno-sanitize=all
endif
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
bin_PROGRAMS += pkgd
pkgd_SOURCES = src/bin/pkgd.c
pkgd_LDADD = $(DAEMON_LIBS)
bin_PROGRAMS += pkg
pkg_SOURCES = src/bin/pkg.c
pkg_LDADD = $(CLI_LIBS)
