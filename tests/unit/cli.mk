UNIT_CLI = \
	tests/unit/test_cli_ask \
	tests/unit/test_cli_client \
	tests/unit/test_cli_commands \
	tests/unit/test_cli_options \
	tests/unit/test_cli_progress \
	tests/unit/test_cli_request \
	tests/unit/test_cli_result \
	tests/unit/test_cli_sse \
	tests/unit/test_cli_term
check_PROGRAMS += $(UNIT_CLI)
TESTS += $(UNIT_CLI)
EXTRA_DIST += tests/unit/cli_daemon.h
UNIT_CLI_LIBS = $(CLI_LIBS) $(CMOCKA_LIBS)
tests_unit_test_cli_ask_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_cli_ask_LDADD = $(UNIT_CLI_LIBS)
tests_unit_test_cli_client_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_cli_client_LDADD = $(UNIT_CLI_LIBS)
tests_unit_test_cli_commands_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_cli_commands_LDADD = $(UNIT_CLI_LIBS)
tests_unit_test_cli_options_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_cli_options_LDADD = $(UNIT_CLI_LIBS)
tests_unit_test_cli_progress_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_cli_progress_LDADD = $(UNIT_CLI_LIBS)
tests_unit_test_cli_request_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_cli_request_LDADD = $(UNIT_CLI_LIBS)
tests_unit_test_cli_result_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_cli_result_LDADD = $(UNIT_CLI_LIBS)
tests_unit_test_cli_sse_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_cli_sse_LDADD = $(UNIT_CLI_LIBS)
tests_unit_test_cli_term_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_cli_term_LDADD = $(UNIT_CLI_LIBS)
