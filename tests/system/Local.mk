# What the system tests need beside the product.
check_PROGRAMS += tests/system/boxed
tests_system_boxed_SOURCES = tests/system/boxed.c
tests_system_boxed_LDADD = libpkgsandbox.a libpkgegress.a $(POLICY_LIBS) $(SECCOMP_LIBS)
