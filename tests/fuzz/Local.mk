# Each target is a fuzzer (./dev fuzz) and a test: replay_NAME feeds it the files of corpus/fuzz_NAME.
FUZZ_REPLAY = \
	tests/fuzz/replay_bwrap_status \
	tests/fuzz/replay_chunked \
	tests/fuzz/replay_client_hello \
	tests/fuzz/replay_config \
	tests/fuzz/replay_entry_points \
	tests/fuzz/replay_host_rule \
	tests/fuzz/replay_http_head \
	tests/fuzz/replay_metadata \
	tests/fuzz/replay_pep440 \
	tests/fuzz/replay_pep508 \
	tests/fuzz/replay_r_index \
	tests/fuzz/replay_r_tarball \
	tests/fuzz/replay_record \
	tests/fuzz/replay_requirements \
	tests/fuzz/replay_simple_html \
	tests/fuzz/replay_simple_json \
	tests/fuzz/replay_url \
	tests/fuzz/replay_wheel_unpack \
	tests/fuzz/replay_zipdir
check_PROGRAMS += $(FUZZ_REPLAY)
TESTS += $(FUZZ_REPLAY)
FUZZ_ALL = \
	tests/fuzz/fuzz_bwrap_status \
	tests/fuzz/fuzz_chunked \
	tests/fuzz/fuzz_client_hello \
	tests/fuzz/fuzz_config \
	tests/fuzz/fuzz_entry_points \
	tests/fuzz/fuzz_host_rule \
	tests/fuzz/fuzz_http_head \
	tests/fuzz/fuzz_metadata \
	tests/fuzz/fuzz_pep440 \
	tests/fuzz/fuzz_pep508 \
	tests/fuzz/fuzz_r_index \
	tests/fuzz/fuzz_r_tarball \
	tests/fuzz/fuzz_record \
	tests/fuzz/fuzz_requirements \
	tests/fuzz/fuzz_simple_html \
	tests/fuzz/fuzz_simple_json \
	tests/fuzz/fuzz_url \
	tests/fuzz/fuzz_wheel_unpack \
	tests/fuzz/fuzz_zipdir
if FUZZERS
EXTRA_PROGRAMS += $(FUZZ_ALL)
fuzzers: $(FUZZ_ALL)
endif
FUZZ_LINK = $(AM_LDFLAGS) -fsanitize=fuzzer
tests_fuzz_replay_bwrap_status_SOURCES = tests/fuzz/replay.c tests/fuzz/fuzz_bwrap_status.c
tests_fuzz_replay_bwrap_status_LDADD = $(LANG_LIBS)
tests_fuzz_fuzz_bwrap_status_SOURCES = tests/fuzz/fuzz_bwrap_status.c
tests_fuzz_fuzz_bwrap_status_LDADD = $(LANG_LIBS)
tests_fuzz_fuzz_bwrap_status_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_replay_chunked_SOURCES = tests/fuzz/replay.c tests/fuzz/fuzz_chunked.c
tests_fuzz_replay_chunked_LDADD = $(LANG_LIBS)
tests_fuzz_fuzz_chunked_SOURCES = tests/fuzz/fuzz_chunked.c
tests_fuzz_fuzz_chunked_LDADD = $(LANG_LIBS)
tests_fuzz_fuzz_chunked_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_replay_client_hello_SOURCES = tests/fuzz/replay.c tests/fuzz/fuzz_client_hello.c
tests_fuzz_replay_client_hello_LDADD = $(LANG_LIBS)
tests_fuzz_fuzz_client_hello_SOURCES = tests/fuzz/fuzz_client_hello.c
tests_fuzz_fuzz_client_hello_LDADD = $(LANG_LIBS)
tests_fuzz_fuzz_client_hello_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_replay_config_SOURCES = tests/fuzz/replay.c tests/fuzz/fuzz_config.c
tests_fuzz_replay_config_LDADD = $(LANG_LIBS)
tests_fuzz_fuzz_config_SOURCES = tests/fuzz/fuzz_config.c
tests_fuzz_fuzz_config_LDADD = $(LANG_LIBS)
tests_fuzz_fuzz_config_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_replay_entry_points_SOURCES = tests/fuzz/replay.c tests/fuzz/fuzz_entry_points.c
tests_fuzz_replay_entry_points_LDADD = $(LANG_LIBS)
tests_fuzz_fuzz_entry_points_SOURCES = tests/fuzz/fuzz_entry_points.c
tests_fuzz_fuzz_entry_points_LDADD = $(LANG_LIBS)
tests_fuzz_fuzz_entry_points_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_replay_host_rule_SOURCES = tests/fuzz/replay.c tests/fuzz/fuzz_host_rule.c
tests_fuzz_replay_host_rule_LDADD = $(LANG_LIBS)
tests_fuzz_fuzz_host_rule_SOURCES = tests/fuzz/fuzz_host_rule.c
tests_fuzz_fuzz_host_rule_LDADD = $(LANG_LIBS)
tests_fuzz_fuzz_host_rule_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_replay_http_head_SOURCES = tests/fuzz/replay.c tests/fuzz/fuzz_http_head.c
tests_fuzz_replay_http_head_LDADD = $(LANG_LIBS)
tests_fuzz_fuzz_http_head_SOURCES = tests/fuzz/fuzz_http_head.c
tests_fuzz_fuzz_http_head_LDADD = $(LANG_LIBS)
tests_fuzz_fuzz_http_head_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_replay_metadata_SOURCES = tests/fuzz/replay.c tests/fuzz/fuzz_metadata.c
tests_fuzz_replay_metadata_LDADD = $(LANG_LIBS)
tests_fuzz_fuzz_metadata_SOURCES = tests/fuzz/fuzz_metadata.c
tests_fuzz_fuzz_metadata_LDADD = $(LANG_LIBS)
tests_fuzz_fuzz_metadata_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_replay_pep440_SOURCES = tests/fuzz/replay.c tests/fuzz/fuzz_pep440.c
tests_fuzz_replay_pep440_LDADD = $(LANG_LIBS)
tests_fuzz_fuzz_pep440_SOURCES = tests/fuzz/fuzz_pep440.c
tests_fuzz_fuzz_pep440_LDADD = $(LANG_LIBS)
tests_fuzz_fuzz_pep440_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_replay_pep508_SOURCES = tests/fuzz/replay.c tests/fuzz/fuzz_pep508.c
tests_fuzz_replay_pep508_LDADD = $(LANG_LIBS)
tests_fuzz_fuzz_pep508_SOURCES = tests/fuzz/fuzz_pep508.c
tests_fuzz_fuzz_pep508_LDADD = $(LANG_LIBS)
tests_fuzz_fuzz_pep508_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_replay_r_index_SOURCES = tests/fuzz/replay.c tests/fuzz/fuzz_r_index.c
tests_fuzz_replay_r_index_LDADD = $(LANG_LIBS)
tests_fuzz_fuzz_r_index_SOURCES = tests/fuzz/fuzz_r_index.c
tests_fuzz_fuzz_r_index_LDADD = $(LANG_LIBS)
tests_fuzz_fuzz_r_index_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_replay_r_tarball_SOURCES = tests/fuzz/replay.c tests/fuzz/fuzz_r_tarball.c
tests_fuzz_replay_r_tarball_LDADD = $(LANG_LIBS)
tests_fuzz_fuzz_r_tarball_SOURCES = tests/fuzz/fuzz_r_tarball.c
tests_fuzz_fuzz_r_tarball_LDADD = $(LANG_LIBS)
tests_fuzz_fuzz_r_tarball_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_replay_record_SOURCES = tests/fuzz/replay.c tests/fuzz/fuzz_record.c
tests_fuzz_replay_record_LDADD = $(LANG_LIBS)
tests_fuzz_fuzz_record_SOURCES = tests/fuzz/fuzz_record.c
tests_fuzz_fuzz_record_LDADD = $(LANG_LIBS)
tests_fuzz_fuzz_record_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_replay_requirements_SOURCES = tests/fuzz/replay.c tests/fuzz/fuzz_requirements.c
tests_fuzz_replay_requirements_LDADD = $(LANG_LIBS)
tests_fuzz_fuzz_requirements_SOURCES = tests/fuzz/fuzz_requirements.c
tests_fuzz_fuzz_requirements_LDADD = $(LANG_LIBS)
tests_fuzz_fuzz_requirements_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_replay_simple_html_SOURCES = tests/fuzz/replay.c tests/fuzz/fuzz_simple_html.c
tests_fuzz_replay_simple_html_LDADD = $(LANG_LIBS)
tests_fuzz_fuzz_simple_html_SOURCES = tests/fuzz/fuzz_simple_html.c
tests_fuzz_fuzz_simple_html_LDADD = $(LANG_LIBS)
tests_fuzz_fuzz_simple_html_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_replay_simple_json_SOURCES = tests/fuzz/replay.c tests/fuzz/fuzz_simple_json.c
tests_fuzz_replay_simple_json_LDADD = $(LANG_LIBS)
tests_fuzz_fuzz_simple_json_SOURCES = tests/fuzz/fuzz_simple_json.c
tests_fuzz_fuzz_simple_json_LDADD = $(LANG_LIBS)
tests_fuzz_fuzz_simple_json_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_replay_url_SOURCES = tests/fuzz/replay.c tests/fuzz/fuzz_url.c
tests_fuzz_replay_url_LDADD = $(LANG_LIBS)
tests_fuzz_fuzz_url_SOURCES = tests/fuzz/fuzz_url.c
tests_fuzz_fuzz_url_LDADD = $(LANG_LIBS)
tests_fuzz_fuzz_url_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_replay_wheel_unpack_SOURCES = tests/fuzz/replay.c tests/fuzz/fuzz_wheel_unpack.c
tests_fuzz_replay_wheel_unpack_LDADD = $(LANG_LIBS)
tests_fuzz_fuzz_wheel_unpack_SOURCES = tests/fuzz/fuzz_wheel_unpack.c
tests_fuzz_fuzz_wheel_unpack_LDADD = $(LANG_LIBS)
tests_fuzz_fuzz_wheel_unpack_LDFLAGS = $(FUZZ_LINK)
tests_fuzz_replay_zipdir_SOURCES = tests/fuzz/replay.c tests/fuzz/fuzz_zipdir.c
tests_fuzz_replay_zipdir_LDADD = $(LANG_LIBS)
tests_fuzz_fuzz_zipdir_SOURCES = tests/fuzz/fuzz_zipdir.c
tests_fuzz_fuzz_zipdir_LDADD = $(LANG_LIBS)
tests_fuzz_fuzz_zipdir_LDFLAGS = $(FUZZ_LINK)
EXTRA_DIST += tests/fuzz/run tests/fuzz/corpus
