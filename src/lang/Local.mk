noinst_LIBRARIES += libpkglang.a
libpkglang_a_SOURCES = \
	src/lang/entry_points.c src/lang/entry_points.h \
	src/lang/marker.c src/lang/marker.h \
	src/lang/metadata.c src/lang/metadata.h \
	src/lang/pep440.c src/lang/pep440.h \
	src/lang/pep440_set.c src/lang/pep440_set.h \
	src/lang/pep503.c src/lang/pep503.h \
	src/lang/pep508.c src/lang/pep508.h \
	src/lang/record.c src/lang/record.h \
	src/lang/requirements_file.c src/lang/requirements_file.h \
	src/lang/scan.h \
	src/lang/wheelname.c src/lang/wheelname.h
libpkglang_a_SOURCES += src/lang/wheel_verify.c src/lang/wheel_verify.h
libpkglang_a_SOURCES += \
	src/lang/lang.c src/lang/lang.h \
	src/lang/lang_find.c \
	src/lang/mounts.c src/lang/mounts.h \
	src/lang/python.c src/lang/python.h \
	src/lang/python_accept.c src/lang/python_accept.h \
	src/lang/python_check.c \
	src/lang/python_create.c \
	src/lang/python_discover.c \
	src/lang/python_facts.c src/lang/python_facts.h \
	src/lang/python_inventory.c src/lang/python_inventory.h \
	src/lang/python_mounts.c src/lang/python_mounts.h \
	src/lang/python_needs.c \
	src/lang/python_probe.c src/lang/python_probe.h \
	src/lang/python_search.c src/lang/python_search.h \
	src/lang/python_shadows.c \
	src/lang/python_template.c src/lang/python_template.h
libpkglang_a_SOURCES += \
	src/lang/python_inspect.c \
	src/lang/python_layout.c src/lang/python_layout.h \
	src/lang/python_prepare.c \
	src/lang/python_scripts.c src/lang/python_scripts.h \
	src/lang/python_stage.c \
	src/lang/python_store.c src/lang/python_store.h \
	src/lang/python_unstage.c
libpkglang_a_SOURCES += \
	src/lang/python_build.c \
	src/lang/python_explain.c src/lang/python_explain.h \
	src/lang/python_explain_build.c \
	src/lang/python_explain_missing.c \
	src/lang/python_files.c src/lang/python_files.h \
	src/lang/python_harvest.c src/lang/python_harvest.h \
	src/lang/python_index.c src/lang/python_index.h \
	src/lang/python_inputs.c src/lang/python_inputs.h \
	src/lang/python_pip.c src/lang/python_pip.h \
	src/lang/python_plan.c \
	src/lang/python_report.c src/lang/python_report.h \
	src/lang/python_run.c src/lang/python_run.h
libpkglang_a_SOURCES += \
	src/lang/pubgrub.c src/lang/pubgrub.h \
	src/lang/pubgrub_explain.c src/lang/pubgrub_terms.h \
	src/lang/python_candidates.c src/lang/python_candidates.h \
	src/lang/python_client.c src/lang/python_client.h \
	src/lang/python_engine.c src/lang/python_engine.h \
	src/lang/python_native.c src/lang/python_native.h \
	src/lang/python_pages.c src/lang/python_pages.h \
	src/lang/python_provider.c src/lang/python_provider.h \
	src/lang/python_provider_impl.h \
	src/lang/python_provider_solve.c \
	src/lang/python_provider_why.c \
	src/lang/python_tags.c src/lang/python_tags.h \
	src/lang/python_wheel_metadata.c src/lang/python_wheel_metadata.h \
	src/lang/python_why.c src/lang/python_why.h \
	src/lang/sdist_metadata.c src/lang/sdist_metadata.h \
	src/lang/simple_html.c src/lang/simple_html.h \
	src/lang/simple_index.c src/lang/simple_index.h
libpkglang_a_SOURCES += \
	src/lang/r.c src/lang/r.h \
	src/lang/r_build.c src/lang/r_build.h \
	src/lang/r_check.c \
	src/lang/r_choose.c \
	src/lang/r_create.c \
	src/lang/r_dcf.c src/lang/r_dcf.h \
	src/lang/r_description.c src/lang/r_description.h \
	src/lang/r_discover.c \
	src/lang/r_entries.c \
	src/lang/r_explain.c src/lang/r_explain.h \
	src/lang/r_facts.c src/lang/r_facts.h \
	src/lang/r_files.c src/lang/r_files.h \
	src/lang/r_graph.c \
	src/lang/r_installed.h \
	src/lang/r_inventory.c src/lang/r_inventory.h \
	src/lang/r_load.c \
	src/lang/r_lock.c src/lang/r_lock.h \
	src/lang/r_needs.c \
	src/lang/r_pack.c \
	src/lang/r_packages.c src/lang/r_packages.h \
	src/lang/r_plan.c \
	src/lang/r_probe.c src/lang/r_probe.h \
	src/lang/r_request.c src/lang/r_request.h \
	src/lang/r_run.c src/lang/r_run.h \
	src/lang/r_solve.c src/lang/r_solve.h \
	src/lang/r_stage.c \
	src/lang/r_sysreqs.c src/lang/r_sysreqs.h \
	src/lang/r_tarball.c \
	src/lang/r_version.c src/lang/r_version.h
