noinst_LIBRARIES += libpkginstall.a
libpkginstall_a_SOURCES = \
	src/install/additive.c src/install/additive.h \
	src/install/apply.c src/install/apply.h \
	src/install/asked.c src/install/asked.h \
	src/install/cache.c src/install/cache.h \
	src/install/card.c src/install/card.h \
	src/install/commit.c src/install/commit.h src/install/overlay.c \
	src/install/events.c src/install/events.h \
	src/install/hosts.c src/install/hosts.h \
	src/install/journal.c src/install/journal.h \
	src/install/kernel.c src/install/kernel.h \
	src/install/names.c src/install/names.h \
	src/install/pipeline.c src/install/pipeline.h \
	src/install/plan.c src/install/plan.h \
	src/install/planner.c src/install/planner.h \
	src/install/reconcile.c src/install/reconcile.h \
	src/install/resolution.c src/install/resolution.h \
	src/install/tools.c src/install/tools.h \
	src/install/worker.c src/install/worker.h
