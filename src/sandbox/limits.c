#include "sandbox/limits.h"

#include "sandbox/purpose.h"

#include <limits.h>
#include <sys/resource.h>

static int64_t
least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int
choose(int64_t asked, int64_t configured, int64_t standard, int64_t *out, const char *what,
	struct pkg_error *err)
{
	if (asked < 0 || configured < 0)
		return pkg_error_set(err, PKG_E_INVALID, "sandbox limit '%s' is negative", what);
	*out = asked ? asked : configured ? configured : standard;
	return 0;
}

int
sandbox_limits_resolve(const struct sandbox_profile *profile,
	const struct sandbox_limits *configured, int64_t ram, struct sandbox_limits *out,
	struct pkg_error *err)
{
	static const struct sandbox_limits none = { 0 };
	const struct sandbox_limits *standard = &sandbox_purpose_row(profile->purpose)->limits;
	const struct sandbox_limits *asked = &profile->limits;
	int64_t memory = standard->memory;

	if (!configured)
		configured = &none;
	if (memory == SANDBOX_UNLIMITED && ram > 0)
		memory = ram / 4 * 3;
#define CHOOSE(field, value)                                                                       \
	if (choose(asked->field, configured->field, value, &out->field, #field, err) < 0)          \
	return -1
	CHOOSE(wall_ms, standard->wall_ms);
	CHOOSE(cpu_s, standard->cpu_s);
	CHOOSE(memory, memory);
	CHOOSE(processes, standard->processes);
	CHOOSE(file_size, standard->file_size);
	CHOOSE(open_files, standard->open_files);
	CHOOSE(disk, standard->disk);
	CHOOSE(output, standard->output);
#undef CHOOSE
	return 0;
}

int64_t
sandbox_limits_tmp(const struct sandbox_profile *profile, int64_t ram)
{
	int64_t bytes = sandbox_purpose_row(profile->purpose)->tmp;

	if (profile->limits.memory > 0 && profile->limits.memory != SANDBOX_UNLIMITED)
		bytes = least(bytes, profile->limits.memory / 2);
	if (ram > 0)
		bytes = least(bytes, ram / 4);
	return bytes;
}

/* Memory per process is RLIMIT_DATA, which counts what can be written to and is private. RLIMIT_AS
 * would count address space, and runtimes that only reserve it (V8, Go, sanitizers) would not
 * start. RLIMIT_NPROC is not here: set before the user namespace is made, it counts every process
 * of the user on the machine. The number of processes is watched, or kept by a cgroup. */
size_t
sandbox_limits_rlimits(const struct sandbox_limits *limits, struct pkg_rlimit out[SANDBOX_RLIMITS])
{
	const struct {
		int resource;
		int64_t value;
	} all[] = {
		{ RLIMIT_CPU, limits->cpu_s },
		{ RLIMIT_DATA, limits->memory },
		{ RLIMIT_FSIZE, limits->file_size },
		{ RLIMIT_NOFILE, limits->open_files },
	};
	size_t count = 0;

	for (size_t i = 0; i < PKG_ARRAY_LEN(all); i++) {
		if (all[i].value <= 0 || all[i].value == SANDBOX_UNLIMITED ||
			(SANDBOX_SANITIZED && all[i].resource == RLIMIT_DATA))
			continue;
		out[count++] = (struct pkg_rlimit){ all[i].resource, (rlim_t)all[i].value };
	}
	out[count++] = (struct pkg_rlimit){ RLIMIT_CORE, 0 };
	return count;
}
