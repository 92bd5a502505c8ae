# The packaging standards need nothing but core, and are linked so that it stays that way.
UNIT_LANG_STANDARDS = \
	tests/unit/test_lang_entry_points \
	tests/unit/test_lang_marker \
	tests/unit/test_lang_metadata \
	tests/unit/test_lang_pep440 \
	tests/unit/test_lang_pep440_set \
	tests/unit/test_lang_pep503 \
	tests/unit/test_lang_pep508 \
	tests/unit/test_lang_record \
	tests/unit/test_lang_requirements_file \
	tests/unit/test_lang_wheelname
check_PROGRAMS += $(UNIT_LANG_STANDARDS)
TESTS += $(UNIT_LANG_STANDARDS)
LANG_STANDARDS_LIBS = libpkglang.a $(CORE_LIBS) $(CMOCKA_LIBS)
tests_unit_test_lang_entry_points_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_lang_entry_points_LDADD = $(LANG_STANDARDS_LIBS)
tests_unit_test_lang_marker_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_lang_marker_LDADD = $(LANG_STANDARDS_LIBS)
tests_unit_test_lang_metadata_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_lang_metadata_LDADD = $(LANG_STANDARDS_LIBS)
tests_unit_test_lang_pep440_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_lang_pep440_LDADD = $(LANG_STANDARDS_LIBS)
tests_unit_test_lang_pep440_set_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_lang_pep440_set_LDADD = $(LANG_STANDARDS_LIBS)
tests_unit_test_lang_pep503_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_lang_pep503_LDADD = $(LANG_STANDARDS_LIBS)
tests_unit_test_lang_pep508_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_lang_pep508_LDADD = $(LANG_STANDARDS_LIBS)
tests_unit_test_lang_record_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_lang_record_LDADD = $(LANG_STANDARDS_LIBS)
tests_unit_test_lang_requirements_file_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_lang_requirements_file_LDADD = $(LANG_STANDARDS_LIBS)
tests_unit_test_lang_wheelname_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_lang_wheelname_LDADD = $(LANG_STANDARDS_LIBS)
UNIT_PYLANG = \
	tests/unit/test_lang_python_accept \
	tests/unit/test_lang_python_check \
	tests/unit/test_lang_python_create \
	tests/unit/test_lang_python_discover \
	tests/unit/test_lang_python_facts \
	tests/unit/test_lang_python_inventory
EXTRA_DIST += tests/unit/lang_python.h
check_PROGRAMS += $(UNIT_PYLANG)
TESTS += $(UNIT_PYLANG)
PYLANG_LIBS = $(LANG_LIBS) $(CMOCKA_LIBS)
tests_unit_test_lang_python_accept_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_lang_python_accept_LDADD = $(PYLANG_LIBS)
tests_unit_test_lang_python_check_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_lang_python_check_LDADD = $(PYLANG_LIBS)
tests_unit_test_lang_python_create_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_lang_python_create_LDADD = $(PYLANG_LIBS)
tests_unit_test_lang_python_discover_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_lang_python_discover_LDADD = $(PYLANG_LIBS)
tests_unit_test_lang_python_facts_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_lang_python_facts_LDADD = $(PYLANG_LIBS)
tests_unit_test_lang_python_inventory_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_lang_python_inventory_LDADD = $(PYLANG_LIBS)
UNIT_PYSTAGE = \
	tests/unit/test_lang_python_layout \
	tests/unit/test_lang_python_scripts \
	tests/unit/test_lang_python_stage
check_PROGRAMS += $(UNIT_PYSTAGE)
TESTS += $(UNIT_PYSTAGE)
tests_unit_test_lang_python_layout_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_lang_python_layout_LDADD = $(PYLANG_LIBS)
tests_unit_test_lang_python_scripts_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_lang_python_scripts_LDADD = $(PYLANG_LIBS)
tests_unit_test_lang_python_stage_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_lang_python_stage_LDADD = $(PYLANG_LIBS)
UNIT_PYPLAN = \
	tests/unit/test_lang_python_explain \
	tests/unit/test_lang_python_harvest \
	tests/unit/test_lang_python_index \
	tests/unit/test_lang_python_report
check_PROGRAMS += $(UNIT_PYPLAN)
TESTS += $(UNIT_PYPLAN)
tests_unit_test_lang_python_explain_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_lang_python_explain_LDADD = $(PYLANG_LIBS)
tests_unit_test_lang_python_harvest_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_lang_python_harvest_LDADD = $(PYLANG_LIBS)
tests_unit_test_lang_python_index_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_lang_python_index_LDADD = $(PYLANG_LIBS)
tests_unit_test_lang_python_report_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_lang_python_report_LDADD = $(PYLANG_LIBS)
UNIT_PYNATIVE = \
	tests/unit/test_lang_pubgrub \
	tests/unit/test_lang_python_tags \
	tests/unit/test_lang_sdist_metadata \
	tests/unit/test_lang_simple_index
check_PROGRAMS += $(UNIT_PYNATIVE)
TESTS += $(UNIT_PYNATIVE)
EXTRA_DIST += tests/cases/resolver
tests_unit_test_lang_pubgrub_SOURCES = tests/unit/test_lang_pubgrub.c \
	tests/unit/resolver_case.c tests/unit/resolver_case.h
tests_unit_test_lang_pubgrub_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_lang_pubgrub_LDADD = $(PYLANG_LIBS)
tests_unit_test_lang_python_tags_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_lang_python_tags_LDADD = $(PYLANG_LIBS)
tests_unit_test_lang_simple_index_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_lang_simple_index_LDADD = $(PYLANG_LIBS)
tests_unit_test_lang_sdist_metadata_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_lang_sdist_metadata_LDADD = $(PYLANG_LIBS)
UNIT_RLANG = \
	tests/unit/test_lang_r_dcf \
	tests/unit/test_lang_r_output \
	tests/unit/test_lang_r_request \
	tests/unit/test_lang_r_tarball \
	tests/unit/test_lang_r_version
check_PROGRAMS += $(UNIT_RLANG)
TESTS += $(UNIT_RLANG)
tests_unit_test_lang_r_dcf_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_lang_r_dcf_LDADD = $(PYLANG_LIBS)
tests_unit_test_lang_r_output_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_lang_r_output_LDADD = $(PYLANG_LIBS)
tests_unit_test_lang_r_request_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_lang_r_request_LDADD = $(PYLANG_LIBS)
tests_unit_test_lang_r_tarball_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_lang_r_tarball_LDADD = $(PYLANG_LIBS)
tests_unit_test_lang_r_version_CFLAGS = $(UNIT_CFLAGS)
tests_unit_test_lang_r_version_LDADD = $(PYLANG_LIBS)
