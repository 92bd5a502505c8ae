UNIT_INSTALL = \
	tests/unit/test_install_additive \
	tests/unit/test_install_card \
	tests/unit/test_install_crash \
	tests/unit/test_install_events \
	tests/unit/test_install_hosts \
	tests/unit/test_install_journal \
	tests/unit/test_install_names \
	tests/unit/test_install_overlay \
	tests/unit/test_install_pipeline \
	tests/unit/test_install_plan \
	tests/unit/test_install_reconcile \
	tests/unit/test_install_resolution
check_PROGRAMS += $(UNIT_INSTALL)
TESTS += $(UNIT_INSTALL)
EXTRA_DIST += tests/unit/test_install_common.h tests/cases/additive
UNIT_INSTALL_LIBS = $(INSTALL_LIBS) $(CMOCKA_LIBS)
# With a language of their own: its lang_find() is found before the library's.
UNIT_FAKE_LANG = tests/unit/fake_lang.c tests/unit/fake_lang.h
tests_unit_test_install_additive_SOURCES = tests/unit/test_install_additive.c $(UNIT_FAKE_LANG)
tests_unit_test_install_additive_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_install_additive_LDADD = $(UNIT_INSTALL_LIBS)
tests_unit_test_install_card_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_install_card_LDADD = $(UNIT_INSTALL_LIBS)
tests_unit_test_install_crash_SOURCES = tests/unit/test_install_crash.c $(UNIT_FAKE_LANG)
tests_unit_test_install_crash_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_install_crash_LDADD = $(UNIT_INSTALL_LIBS)
tests_unit_test_install_events_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_install_events_LDADD = $(UNIT_INSTALL_LIBS)
tests_unit_test_install_hosts_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_install_hosts_LDADD = $(UNIT_INSTALL_LIBS)
tests_unit_test_install_journal_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_install_journal_LDADD = $(UNIT_INSTALL_LIBS)
tests_unit_test_install_names_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_install_names_LDADD = $(UNIT_INSTALL_LIBS)
tests_unit_test_install_overlay_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_install_overlay_LDADD = $(UNIT_INSTALL_LIBS)
tests_unit_test_install_pipeline_SOURCES = tests/unit/test_install_pipeline.c $(UNIT_FAKE_LANG)
tests_unit_test_install_pipeline_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_install_pipeline_LDADD = $(UNIT_INSTALL_LIBS)
tests_unit_test_install_plan_SOURCES = tests/unit/test_install_plan.c $(UNIT_FAKE_LANG)
tests_unit_test_install_plan_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_install_plan_LDADD = $(UNIT_INSTALL_LIBS)
tests_unit_test_install_reconcile_SOURCES = tests/unit/test_install_reconcile.c $(UNIT_FAKE_LANG)
tests_unit_test_install_reconcile_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_install_reconcile_LDADD = $(UNIT_INSTALL_LIBS)
tests_unit_test_install_resolution_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_install_resolution_LDADD = $(UNIT_INSTALL_LIBS)
