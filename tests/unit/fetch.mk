# The downloads need python3 for the loopback server, else they are skipped.
UNIT_FETCH = \
	tests/unit/test_fetch_cas \
	tests/unit/test_fetch_download \
	tests/unit/test_fetch_query \
	tests/unit/test_fetch_remote_zip \
	tests/unit/test_fetch_unpack \
	tests/unit/test_fetch_wheel \
	tests/unit/test_fetch_zipdir
check_PROGRAMS += $(UNIT_FETCH)
TESTS += $(UNIT_FETCH)
EXTRA_DIST += tests/unit/fetch_server.h tests/unit/fetch_zip.h
UNIT_FETCH_LIBS = libpkgfetch.a $(CORE_LIBS) $(ARCHIVE_LIBS) $(ZLIB_LIBS) $(CMOCKA_LIBS)
tests_unit_test_fetch_cas_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_fetch_cas_LDADD = $(UNIT_FETCH_LIBS)
tests_unit_test_fetch_download_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_fetch_download_LDADD = $(UNIT_FETCH_LIBS)
tests_unit_test_fetch_query_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_fetch_query_LDADD = $(UNIT_FETCH_LIBS)
tests_unit_test_fetch_remote_zip_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_fetch_remote_zip_LDADD = $(UNIT_FETCH_LIBS)
tests_unit_test_fetch_unpack_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_fetch_unpack_LDADD = $(UNIT_FETCH_LIBS)
tests_unit_test_fetch_wheel_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_fetch_wheel_LDADD = libpkglang.a $(UNIT_FETCH_LIBS)
tests_unit_test_fetch_zipdir_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_fetch_zipdir_LDADD = $(UNIT_FETCH_LIBS)
