noinst_LIBRARIES += libpkgdaemon.a
libpkgdaemon_a_SOURCES = \
	src/daemon/daemon.c src/daemon/daemon.h \
	src/daemon/http.c src/daemon/http.h \
	src/daemon/render.c src/daemon/render.h \
	src/daemon/routes.c src/daemon/routes.h \
	src/daemon/routes_cards.c src/daemon/routes_envs.c \
	src/daemon/routes_jobs.c src/daemon/routes_system.c \
	src/daemon/sockets.c src/daemon/sockets.h \
	src/daemon/stream.c src/daemon/stream.h \
	src/daemon/submit.c src/daemon/submit.h \
	src/daemon/supervise.c src/daemon/supervise.h \
	src/daemon/worker.c src/daemon/worker.h
