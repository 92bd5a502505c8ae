/* boxed PURPOSE [OPTION...] -- COMMAND [ARGUMENT...]: one command in a sandbox of any purpose, as the product runs it.
 *
 * --ro DIR, --rw DIR, --mask PATH, --tree DIR PREFIX, --tree-rw, --env NAME=VALUE, --cwd DIR, --limit NAME=N,
 * --network RULES AUDIT (files of pkg-proxy), --cancel MS. The home is the environment's PKGD_HOME. Exit status: the
 * command's, 128+N for signal N; 99 with "boxed: KIND: MESSAGE" when the run was refused or stopped. */
#include "core/home.h"
#include "core/path.h"
#include "core/time.h"
#include "egress/session.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOUNTS_MAX 64

struct boxed {
	struct pkg_home home;
	struct sandbox_profile profile;
	struct sandbox_mount mounts[MOUNTS_MAX];
	struct pkg_argv *command;
	struct pkg_argv *env;
	struct egress_session *session;
	int cancel_ms; /* 0: never */
	int cancel[2];
};

static void
fail(const char *kind, const char *message)
{
	fprintf(stderr, "boxed: %s: %s\n", kind, message);
	exit(99);
}

static void
check(int rc, const struct pkg_error *err)
{
	if (rc < 0)
		fail(pkg_error_kind_name(err->kind), err->message ? err->message : "");
}

static void
take_purpose(struct boxed *boxed, const char *name)
{
	for (int i = 0; i < SANDBOX_PURPOSE_COUNT; i++) {
		if (strcmp(sandbox_purpose_name((enum sandbox_purpose)i), name) == 0) {
			boxed->profile.purpose = (enum sandbox_purpose)i;
			return;
		}
	}
	fail("usage", "no such purpose");
}

static void
take_limit(struct boxed *boxed, const char *text)
{
	static const struct {
		const char *name;
		size_t offset;
	} names[] = { { "wall_ms", offsetof(struct sandbox_limits, wall_ms) },
		{ "cpu_s", offsetof(struct sandbox_limits, cpu_s) },
		{ "memory", offsetof(struct sandbox_limits, memory) },
		{ "processes", offsetof(struct sandbox_limits, processes) },
		{ "file_size", offsetof(struct sandbox_limits, file_size) },
		{ "open_files", offsetof(struct sandbox_limits, open_files) },
		{ "disk", offsetof(struct sandbox_limits, disk) },
		{ "output", offsetof(struct sandbox_limits, output) } };
	size_t len = strcspn(text, "=");

	for (size_t i = 0; i < PKG_ARRAY_LEN(names); i++) {
		int64_t value = text[len] ? atoll(text + len + 1) : 0;

		if (strlen(names[i].name) != len || strncmp(names[i].name, text, len) != 0)
			continue;
		memcpy((char *)&boxed->profile.limits + names[i].offset, &value, sizeof(value));
		return;
	}
	fail("usage", "no such limit");
}

static void
add_mount(struct boxed *boxed, enum sandbox_mount_kind kind, const char *path)
{
	struct sandbox_mount *mount = &boxed->mounts[boxed->profile.mount_count++];

	if (boxed->profile.mount_count > MOUNTS_MAX)
		fail("usage", "too many mounts");
	mount->kind = kind;
	if (kind == SANDBOX_MOUNT_MASK)
		mount->target = path;
	else
		mount->source = path;
}

/* How many words an option takes, itself included; 0: it is none. */
static int
take_option(struct boxed *boxed, char **argv, int left)
{
	const char *name = argv[0];
	const char *value = left > 1 ? argv[1] : "";
	struct pkg_error err = { 0 };

	if (strcmp(name, "--tree-rw") == 0) {
		boxed->profile.tree_writable = true;
		return 1;
	}
	if (strcmp(name, "--ro") == 0)
		add_mount(boxed, SANDBOX_MOUNT_RO, value);
	else if (strcmp(name, "--rw") == 0)
		add_mount(boxed, SANDBOX_MOUNT_RW, value);
	else if (strcmp(name, "--mask") == 0)
		add_mount(boxed, SANDBOX_MOUNT_MASK, value);
	else if (strcmp(name, "--env") == 0)
		pkg_argv_add(boxed->env, value);
	else if (strcmp(name, "--cwd") == 0)
		boxed->profile.cwd = value;
	else if (strcmp(name, "--limit") == 0)
		take_limit(boxed, value);
	else if (strcmp(name, "--cancel") == 0)
		boxed->cancel_ms = atoi(value);
	else if (strcmp(name, "--tree") == 0 && left > 2) {
		boxed->profile.tree = value;
		boxed->profile.prefix = argv[2];
		return 3;
	} else if (strcmp(name, "--network") == 0 && left > 2) {
		check(egress_session_start(
			      boxed->home.libexec, value, argv[2], &boxed->session, &err),
			&err);
		boxed->profile.shim_fd = egress_session_shim_fd(boxed->session);
		return 3;
	} else {
		return 0;
	}
	return 2;
}

static void *
cancel_later(void *context)
{
	const struct boxed *boxed = context;

	pkg_sleep_ms(boxed->cancel_ms);
	(void)!write(boxed->cancel[1], "x", 1);
	return NULL;
}

static void
forward(void *context, int stream, const char *data, size_t len)
{
	(void)context;
	(void)!write(stream, data, len);
}

static int
run(struct boxed *boxed)
{
	pkg_cleanup_run struct pkg_run one = PKG_RUN_INIT;
	struct pkg_error err = { 0 };
	struct sandbox *sandbox = sandbox_open(&boxed->home, NULL, &err);
	pthread_t thread;
	int rc;

	check(sandbox ? 0 : -1, &err);
	one.on_output = forward;
	if (boxed->cancel_ms > 0) {
		check(pipe2(boxed->cancel, O_CLOEXEC), &err);
		one.cancel_fd = boxed->cancel[0];
		(void)pthread_create(&thread, NULL, cancel_later, boxed);
	}
	rc = sandbox_run(sandbox, &boxed->profile, &one, &err);
	(void)egress_session_finish(boxed->session, NULL, NULL);
	sandbox_free(sandbox);
	check(rc, &err);
	return pkg_process_status(one.wait_status);
}

int
main(int argc, char **argv)
{
	struct boxed boxed = { .profile.shim_fd = -1 };
	struct pkg_error err = { 0 };
	int i = 2;

	if (argc < 4)
		fail("usage", "boxed PURPOSE [OPTION...] -- COMMAND [ARGUMENT...]");
	check(pkg_home_find(false, &boxed.home, &err), &err);
	check(pkg_home_make(&boxed.home, &err), &err);
	boxed.command = pkg_argv_new();
	boxed.env = pkg_argv_new();
	take_purpose(&boxed, argv[1]);
	while (i < argc && strcmp(argv[i], "--") != 0) {
		int words = take_option(&boxed, argv + i, argc - i);

		if (words == 0)
			fail("usage", argv[i]);
		i += words;
	}
	for (i++; i < argc; i++)
		pkg_argv_add(boxed.command, argv[i]);
	boxed.profile.mounts = boxed.mounts;
	boxed.profile.command = boxed.command;
	boxed.profile.env = boxed.env;
	return run(&boxed);
}
