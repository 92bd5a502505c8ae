#include "sandbox/purpose.h"

#include "sandbox/sandbox.h"

#include <string.h>
#include <unistd.h>

#define KIB INT64_C(1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)
#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)

/* Who runs what decides the row. probe and verify run an interpreter that may already be hostile
 * and need nothing but time; plan reads an index through the proxy; build is where package code
 * runs and gets room but no view of any environment; apply runs only our helpers; a kernel is a
 * person's own work, so it has no deadline and the machine's memory, less a quarter, is its own. */
static const struct sandbox_purpose_row rows[SANDBOX_PURPOSE_COUNT] = {
	[SANDBOX_PROBE] = { .name = "probe",
		.tmp = 64 * MIB,
		.limits = { .wall_ms = MINUTE,
			.cpu_s = 60,
			.memory = GIB,
			.processes = 64,
			.file_size = 64 * MIB,
			.open_files = 256,
			.disk = 64 * MIB,
			.output = MIB } },
	[SANDBOX_PLAN] = { .name = "plan",
		.network = true,
		.max_writable = 4,
		.tmp = GIB,
		.limits = { .wall_ms = 10 * MINUTE,
			.cpu_s = 600,
			.memory = 2 * GIB,
			.processes = 128,
			.file_size = 4 * GIB,
			.open_files = 1024,
			.disk = 8 * GIB,
			.output = 16 * MIB } },
	[SANDBOX_BUILD] = { .name = "build",
		.network = true,
		.max_writable = 4,
		.tmp = 2 * GIB,
		.limits = { .wall_ms = 60 * MINUTE,
			.cpu_s = 3600,
			.memory = 4 * GIB,
			.processes = 512,
			.file_size = 4 * GIB,
			.open_files = 4096,
			.disk = 16 * GIB,
			.output = 4 * MIB } },
	[SANDBOX_APPLY] = { .name = "apply",
		.tree_writable = true,
		.max_writable = 4,
		.tmp = GIB,
		.limits = { .wall_ms = 30 * MINUTE,
			.cpu_s = 1800,
			.memory = 2 * GIB,
			.processes = 128,
			.file_size = 8 * GIB,
			.open_files = 4096,
			.disk = 32 * GIB,
			.output = 16 * MIB } },
	[SANDBOX_VERIFY] = { .name = "verify",
		.tmp = 256 * MIB,
		.limits = { .wall_ms = 5 * MINUTE,
			.cpu_s = 300,
			.memory = 4 * GIB,
			.processes = 256,
			.file_size = 256 * MIB,
			.open_files = 1024,
			.disk = 256 * MIB,
			.output = 16 * MIB } },
	[SANDBOX_KERNEL] = { .name = "kernel",
		.network = true,
		.interactive = true,
		.max_writable = 1,
		.tmp = 4 * GIB,
		.limits = { .wall_ms = SANDBOX_UNLIMITED,
			.cpu_s = SANDBOX_UNLIMITED,
			.memory = SANDBOX_UNLIMITED,
			.processes = 4096,
			.file_size = SANDBOX_UNLIMITED,
			.open_files = 65536,
			.disk = SANDBOX_UNLIMITED,
			.output = 16 * MIB } },
};

const struct sandbox_purpose_row *
sandbox_purpose_row(enum sandbox_purpose purpose)
{
	if ((int)purpose < 0 || purpose >= SANDBOX_PURPOSE_COUNT)
		pkg_abort("no such sandbox purpose");
	return &rows[purpose];
}

const char *
sandbox_purpose_name(enum sandbox_purpose purpose)
{
	return sandbox_purpose_row(purpose)->name;
}

/* Different sources: one that is shown at two spellings counts once. */
static size_t
count_kind(const struct sandbox_profile *profile, enum sandbox_mount_kind kind)
{
	const struct sandbox_mount *mounts = profile->mounts;
	size_t count = 0;

	for (size_t i = 0; i < profile->mount_count; i++) {
		size_t j = 0;

		if (mounts[i].kind != kind)
			continue;
		while (j < i &&
			(mounts[j].kind != kind || !mounts[j].source || !mounts[i].source ||
				strcmp(mounts[j].source, mounts[i].source) != 0))
			j++;
		count += j == i;
	}
	return count;
}

int
sandbox_purpose_check(const struct sandbox_profile *profile, struct pkg_error *err)
{
	const struct sandbox_purpose_row *row = sandbox_purpose_row(profile->purpose);

	if (!profile->command || profile->command->count == 0 ||
		profile->command->items[0][0] != '/')
		return pkg_error_set(err, PKG_E_INVALID,
			"a %s sandbox needs a command with an absolute path", row->name);
	if (profile->tree && !profile->prefix)
		return pkg_error_set(err, PKG_E_INVALID,
			"a %s sandbox has a tree but no prefix to show it at", row->name);
	if (profile->tree_writable && !row->tree_writable)
		return pkg_error_set(err, PKG_E_INVALID,
			"a %s sandbox may not write to the environment", row->name);
	if (profile->shim_fd >= 0 && !row->network)
		return pkg_error_set(
			err, PKG_E_INVALID, "a %s sandbox may not have network", row->name);
	for (size_t i = 0; i < profile->inherit_count; i++) {
		if (profile->inherit_fds[i] <= STDERR_FILENO || profile->interactive)
			return pkg_error_set(err, PKG_E_INVALID,
				"a %s sandbox may not inherit descriptor %d", row->name,
				profile->inherit_fds[i]);
	}
	if (profile->interactive && !row->interactive)
		return pkg_error_set(
			err, PKG_E_INVALID, "a %s sandbox cannot be interactive", row->name);
	if (count_kind(profile, SANDBOX_MOUNT_RW) > row->max_writable)
		return pkg_error_set(err, PKG_E_INVALID,
			"a %s sandbox may have %zu writable directories, not %zu", row->name,
			row->max_writable, count_kind(profile, SANDBOX_MOUNT_RW));
	if (count_kind(profile, SANDBOX_MOUNT_DEVICE) > 0 && profile->purpose != SANDBOX_KERNEL)
		return pkg_error_set(
			err, PKG_E_INVALID, "a %s sandbox may not have devices", row->name);
	return 0;
}
