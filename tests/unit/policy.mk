check_PROGRAMS += tests/unit/test_policy_hostrule
TESTS += tests/unit/test_policy_hostrule
tests_unit_test_policy_hostrule_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_policy_hostrule_LDADD = libpkgpolicy.a $(CORE_LIBS) $(CMOCKA_LIBS)
check_PROGRAMS += tests/unit/test_policy_config
TESTS += tests/unit/test_policy_config
tests_unit_test_policy_config_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_policy_config_LDADD = $(POLICY_LIBS) $(CMOCKA_LIBS)
