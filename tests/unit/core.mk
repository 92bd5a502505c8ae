# One name in the list and one pair of lines below for each module.
UNIT_CORE = \
	tests/unit/test_core_argv \
	tests/unit/test_core_buf \
	tests/unit/test_core_error \
	tests/unit/test_core_file \
	tests/unit/test_core_home \
	tests/unit/test_core_identity \
	tests/unit/test_core_json \
	tests/unit/test_core_lock \
	tests/unit/test_core_path \
	tests/unit/test_core_process \
	tests/unit/test_core_run \
	tests/unit/test_core_sha256 \
	tests/unit/test_core_sock \
	tests/unit/test_core_text \
	tests/unit/test_core_time \
	tests/unit/test_core_tree \
	tests/unit/test_core_url
check_PROGRAMS += $(UNIT_CORE)
TESTS += $(UNIT_CORE)
UNIT_CORE_LIBS = $(CORE_LIBS) $(CMOCKA_LIBS)
tests_unit_test_core_argv_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_core_argv_LDADD = $(UNIT_CORE_LIBS)
tests_unit_test_core_buf_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_core_buf_LDADD = $(UNIT_CORE_LIBS)
tests_unit_test_core_error_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_core_error_LDADD = $(UNIT_CORE_LIBS)
tests_unit_test_core_file_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_core_file_LDADD = $(UNIT_CORE_LIBS)
tests_unit_test_core_home_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_core_home_LDADD = $(UNIT_CORE_LIBS)
tests_unit_test_core_identity_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_core_identity_LDADD = $(UNIT_CORE_LIBS)
tests_unit_test_core_json_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_core_json_LDADD = $(UNIT_CORE_LIBS)
tests_unit_test_core_lock_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_core_lock_LDADD = $(UNIT_CORE_LIBS)
tests_unit_test_core_path_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_core_path_LDADD = $(UNIT_CORE_LIBS)
tests_unit_test_core_process_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_core_process_LDADD = $(UNIT_CORE_LIBS)
tests_unit_test_core_run_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_core_run_LDADD = $(UNIT_CORE_LIBS)
tests_unit_test_core_sha256_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_core_sha256_LDADD = $(UNIT_CORE_LIBS)
tests_unit_test_core_sock_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_core_sock_LDADD = $(UNIT_CORE_LIBS)
tests_unit_test_core_text_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_core_text_LDADD = $(UNIT_CORE_LIBS)
tests_unit_test_core_time_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_core_time_LDADD = $(UNIT_CORE_LIBS)
tests_unit_test_core_tree_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_core_tree_LDADD = $(UNIT_CORE_LIBS)
tests_unit_test_core_url_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_core_url_LDADD = $(UNIT_CORE_LIBS)
