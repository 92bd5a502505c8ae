noinst_LIBRARIES += libpkgegress.a
libpkgegress_a_SOURCES = \
	src/egress/audit.c src/egress/audit.h \
	src/egress/chunked.c src/egress/chunked.h \
	src/egress/confine.c src/egress/confine.h \
	src/egress/conn.c src/egress/conn.h \
	src/egress/dial.c src/egress/dial.h \
	src/egress/head.c src/egress/head.h \
	src/egress/hello.c src/egress/hello.h \
	src/egress/limits.c src/egress/limits.h \
	src/egress/log.c src/egress/log.h \
	src/egress/loop.c src/egress/loop.h \
	src/egress/proxy.c src/egress/proxy.h \
	src/egress/pump.c src/egress/pump.h \
	src/egress/relay.c \
	src/egress/request.c \
	src/egress/resolve.c src/egress/resolve.h \
	src/egress/rules.c src/egress/rules.h \
	src/egress/session.c src/egress/session.h \
	src/egress/shim.c src/egress/shim.h \
	src/egress/upstream.c src/egress/upstream.h
