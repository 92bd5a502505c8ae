noinst_LIBRARIES += libpkgstore.a
libpkgstore_a_SOURCES = \
	src/store/audit.c \
	src/store/card.c src/store/card.h \
	src/store/claim.c \
	src/store/env.c src/store/env.h \
	src/store/final.c src/store/final.h \
	src/store/history.c src/store/history.h \
	src/store/job.c src/store/job.h \
	src/store/journal.c src/store/journal.h \
	src/store/kernel.c \
	src/store/packages.c \
	src/store/schema.c \
	src/store/statements.c src/store/statements.h \
	src/store/store.c src/store/store.h
