noinst_LIBRARIES += libpkgcli.a
libpkgcli_a_SOURCES = \
	src/cli/ask.c src/cli/ask.h \
	src/cli/autostart.c src/cli/autostart.h \
	src/cli/cli.c src/cli/cli.h \
	src/cli/client.c src/cli/client.h \
	src/cli/cmd_cards.c src/cli/cmd_config.c src/cli/cmd_doctor.c src/cli/cmd_env.c \
	src/cli/cmd_freeze.c \
	src/cli/cmd_install.c src/cli/cmd_jobs.c src/cli/cmd_list.c src/cli/cmd_run.c \
	src/cli/cmd_system.c \
	src/cli/commands.c \
	src/cli/follow.c src/cli/follow.h \
	src/cli/i18n.h \
	src/cli/options.c src/cli/options.h \
	src/cli/progress.c src/cli/progress.h \
	src/cli/request.c src/cli/request.h \
	src/cli/result.c src/cli/result.h \
	src/cli/sse.c src/cli/sse.h \
	src/cli/stream.c src/cli/stream.h \
	src/cli/table.c src/cli/table.h \
	src/cli/term.c src/cli/term.h
