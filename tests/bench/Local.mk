# Built by the benches that need them.
EXTRA_PROGRAMS += tests/bench/launch tests/bench/origin tests/bench/tunload
tests_bench_launch_SOURCES = tests/bench/launch.c
tests_bench_launch_LDADD = libpkgsandbox.a libpkgegress.a $(POLICY_LIBS) $(SECCOMP_LIBS)
tests_bench_origin_SOURCES = tests/bench/origin.c
tests_bench_tunload_SOURCES = tests/bench/tunload.c
