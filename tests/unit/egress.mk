UNIT_EGRESS = \
	tests/unit/test_egress_audit \
	tests/unit/test_egress_chunked \
	tests/unit/test_egress_dial \
	tests/unit/test_egress_head \
	tests/unit/test_egress_hello \
	tests/unit/test_egress_rules \
	tests/unit/test_egress_session \
	tests/unit/test_egress_upstream
check_PROGRAMS += $(UNIT_EGRESS)
TESTS += $(UNIT_EGRESS)
UNIT_EGRESS_LIBS = libpkgegress.a libpkgpolicy.a $(CORE_LIBS) $(CMOCKA_LIBS)
tests_unit_test_egress_audit_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_egress_audit_LDADD = $(UNIT_EGRESS_LIBS)
tests_unit_test_egress_chunked_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_egress_chunked_LDADD = $(UNIT_EGRESS_LIBS)
tests_unit_test_egress_dial_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_egress_dial_LDADD = $(UNIT_EGRESS_LIBS)
tests_unit_test_egress_head_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_egress_head_LDADD = $(UNIT_EGRESS_LIBS)
tests_unit_test_egress_hello_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_egress_hello_LDADD = $(UNIT_EGRESS_LIBS)
tests_unit_test_egress_rules_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_egress_rules_LDADD = $(UNIT_EGRESS_LIBS)
tests_unit_test_egress_session_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_egress_session_LDADD = $(UNIT_EGRESS_LIBS)
# It starts the real programs.
EXTRA_tests_unit_test_egress_session_DEPENDENCIES = pkg-proxy pkg-shim
tests_unit_test_egress_upstream_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_egress_upstream_LDADD = $(UNIT_EGRESS_LIBS)
