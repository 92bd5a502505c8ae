noinst_LIBRARIES += libpkgsandbox.a
libpkgsandbox_a_SOURCES = \
	src/sandbox/argv.c src/sandbox/argv.h \
	src/sandbox/boundary.c src/sandbox/boundary.h \
	src/sandbox/cgroup.c src/sandbox/cgroup.h \
	src/sandbox/environ.c src/sandbox/environ.h \
	src/sandbox/etc.c src/sandbox/etc.h \
	src/sandbox/host.c src/sandbox/host.h \
	src/sandbox/interactive.c \
	src/sandbox/launch.c src/sandbox/launch.h \
	src/sandbox/limits.c src/sandbox/limits.h \
	src/sandbox/paths.c src/sandbox/paths.h \
	src/sandbox/pin.c src/sandbox/pin.h \
	src/sandbox/profile.h \
	src/sandbox/purpose.c src/sandbox/purpose.h \
	src/sandbox/remedy.c src/sandbox/remedy.h \
	src/sandbox/sandbox.c src/sandbox/sandbox.h \
	src/sandbox/scan.c src/sandbox/scan.h \
	src/sandbox/seccomp.c src/sandbox/seccomp.h \
	src/sandbox/unconfined.c src/sandbox/unconfined.h \
	src/sandbox/watch.c src/sandbox/watch.h
