noinst_LIBRARIES += libpkgcore.a
libpkgcore_a_SOURCES = \
	src/core/argv.c src/core/argv.h \
	src/core/buf.c src/core/buf.h \
	src/core/error.c src/core/error.h \
	src/core/fault.c src/core/fault.h \
	src/core/file.c src/core/file.h \
	src/core/home.c src/core/home.h \
	src/core/identity.c src/core/identity.h \
	src/core/json.c src/core/json.h \
	src/core/lock.c src/core/lock.h \
	src/core/log.c src/core/log.h \
	src/core/mem.c src/core/mem.h \
	src/core/path.c src/core/path.h \
	src/core/process.c src/core/process.h \
	src/core/run.c src/core/run.h \
	src/core/sha256.c src/core/sha256.h \
	src/core/sock.c src/core/sock.h \
	src/core/text.c src/core/text.h \
	src/core/time.c src/core/time.h \
	src/core/tree.c src/core/tree.h \
	src/core/tree_entries.c src/core/tree_entries.h \
	src/core/tree_remove.c \
	src/core/tree_walk.c \
	src/core/url.c src/core/url.h
