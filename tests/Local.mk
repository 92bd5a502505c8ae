# Unit tests: one cmocka program per module, named tests/unit/test_<module>.c, listed by its room.
TEST_EXTENSIONS = .t
AM_TESTS_ENVIRONMENT = CMOCKA_MESSAGE_OUTPUT=TAP; export CMOCKA_MESSAGE_OUTPUT; \
	PKGD_TEST_SRCDIR=$(abs_top_srcdir); export PKGD_TEST_SRCDIR;
LOG_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
UNIT_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
EXTRA_DIST += tests/unit/unit.h
include tests/unit/core.mk
include tests/unit/store.mk
include tests/unit/policy.mk
include tests/unit/sandbox.mk
include tests/unit/egress.mk
include tests/unit/fetch.mk
include tests/unit/lang.mk
include tests/unit/install.mk
include tests/unit/daemon.mk
include tests/unit/cli.mk
# Built on demand only: ./dev fuzz, ./dev bench.
EXTRA_PROGRAMS =
include tests/fuzz/Local.mk
include tests/system/Local.mk
include tests/bench/Local.mk
# The crash tests need the points.
AM_DISTCHECK_CONFIGURE_FLAGS = --enable-fault-points
# Trees of scripts and data go as they are in the source: a build directory has objects where they are.
DIST_TREES = tests/system tests/mirror tests/bench
dist-hook:
	cd $(srcdir) && find $(DIST_TREES) \( -name __pycache__ -o -name .deps \) -prune -o \
		-type f ! -name '*.o' ! -name .dirstamp -print > '$(abs_builddir)/dist-trees'
	while read -r file; do \
		$(MKDIR_P) "$(distdir)/$$(dirname "$$file")" && \
			cp -p "$(srcdir)/$$file" "$(distdir)/$$file" || exit 1; \
	done < dist-trees
	rm -f dist-trees && cd '$(distdir)' && rm -f $(check_PROGRAMS) $(EXTRA_PROGRAMS)
