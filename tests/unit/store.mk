UNIT_STORE = tests/unit/test_store_open tests/unit/test_store_env tests/unit/test_store_job \
	tests/unit/test_store_card tests/unit/test_store_history
check_PROGRAMS += $(UNIT_STORE)
TESTS += $(UNIT_STORE)
EXTRA_DIST += tests/unit/test_store_common.h
tests_unit_test_store_open_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_store_open_LDADD = $(STORE_LIBS) $(CMOCKA_LIBS)
tests_unit_test_store_env_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_store_env_LDADD = $(STORE_LIBS) $(CMOCKA_LIBS)
tests_unit_test_store_job_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_store_job_LDADD = $(STORE_LIBS) $(CMOCKA_LIBS)
tests_unit_test_store_card_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_store_card_LDADD = $(STORE_LIBS) $(CMOCKA_LIBS)
tests_unit_test_store_history_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_store_history_LDADD = $(STORE_LIBS) $(CMOCKA_LIBS)
