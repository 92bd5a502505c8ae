#include "lang/python_accept.h"

#include <stdio.h>
#include <string.h>

#include "core/path.h"
#include "lang/python_facts.h"
#include "lang/scan.h"

/* The policy. An interpreter is accepted when
 *
 *  1. it is at least the configured minimum (an old one says no more than that);
 *  2. it told everything about itself;
 *  3. it can make virtual environments and is not inside one;
 *  4. the environments that it makes have the layout of the platform, measured, because an MSYS or
 *     Cygwin Python on Windows makes ones that nothing else understands;
 *  5. the directory that has to be shown to sandboxes for it to run is its own: it contains the
 *     program and is neither a system root nor somebody's home.
 */

static bool
same(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

static int
numbers(const char *text, int out[3])
{
	int count = 0;

	while (count < 3) {
		int value = 0;
		int digits = 0;

		for (; lang_is_digit(*text) && digits < 4; text++, digits++)
			value = value * 10 + (*text - '0');
		if (digits == 0)
			return 0;
		out[count++] = value;
		if (*text != '.')
			break;
		text++;
	}
	return *text ? 0 : count;
}

static void
version_numbers(struct json_object *facts, int out[3])
{
	struct json_object *info = pkg_json_array(facts, "version_info");

	for (size_t i = 0; i < 3; i++)
		out[i] = info ? json_object_get_int(json_object_array_get_idx(info, i)) : 0;
}

bool
lang_python_is_wanted_version(const char *text)
{
	int parts[3];

	return numbers(text, parts) > 0;
}

bool
lang_python_is_version(struct json_object *facts, const char *wanted)
{
	int want[3] = { 0 };
	int have[3];
	int count = numbers(wanted, want);

	version_numbers(facts, have);
	return count > 0 && memcmp(want, have, (size_t)count * sizeof(int)) == 0;
}

static bool
is_older(struct json_object *facts, const char *minimum)
{
	int least[3] = { 0 };
	int have[3];

	version_numbers(facts, have);
	(void)numbers(minimum, least);
	for (size_t i = 0; i < 3; i++)
		if (have[i] != least[i])
			return have[i] < least[i];
	return false;
}

static const char *
layout(struct json_object *facts, const char *key)
{
	return pkg_json_str_or(pkg_json_get(facts, "layout"), key, "");
}

/* One way of writing what is expected, for the reason and for the comparison. */
static void
need_layout(
	struct json_object *facts, const char *key, const char *expected, struct pkg_argv *reasons)
{
	const char *found = layout(facts, key);

	if (!same(found, expected))
		pkg_argv_addf(reasons, "its environments would have %s at '%s', not '%s'", key,
			found, expected);
}

/* "lib/python3.11/site-packages", "lib/python3.13t/site-packages", "lib/pypy3.10/site-packages". */
static bool
is_posix_site(struct json_object *facts, const char *path)
{
	char version[32];
	const char *end;
	int have[3];

	version_numbers(facts, have);
	snprintf(version, sizeof(version), "%d.%d", have[0], have[1]);
	if (strncmp(path, "lib/python", 10) == 0)
		end = path + 10;
	else if (strncmp(path, "lib/pypy", 8) == 0)
		end = path + 8;
	else
		return false;
	if (strncmp(end, version, strlen(version)) != 0)
		return false;
	end += strlen(version);
	end += *end == 't';
	return same(end, "/site-packages");
}

static void
judge_posix(struct json_object *facts, struct pkg_argv *reasons)
{
	static const char *const sites[] = { "purelib", "platlib" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(sites); i++) {
		const char *found = layout(facts, sites[i]);

		if (!is_posix_site(facts, found))
			pkg_argv_addf(reasons,
				"its environments would have %s at '%s', not 'lib/pythonX.Y/"
				"site-packages'",
				sites[i], found);
	}
	need_layout(facts, "scripts", "bin", reasons);
	need_layout(facts, "python", "bin/python", reasons);
}

static bool
has_foreign_component(const char *path)
{
	static const char *const foreign[] = { "msys", "msys2", "msys32", "msys64", "mingw",
		"mingw32", "mingw64", "ucrt64", "clang32", "clang64", "clangarm64", "cygwin",
		"cygwin64" };

	while (*path) {
		size_t len = strcspn(path, "/\\");

		for (size_t i = 0; i < PKG_ARRAY_LEN(foreign); i++)
			if (strlen(foreign[i]) == len && strncasecmp(path, foreign[i], len) == 0)
				return true;
		path += len + (path[len] != '\0');
	}
	return false;
}

static void
judge_nt(struct json_object *facts, struct pkg_argv *reasons)
{
	const char *executable = pkg_json_str_or(facts, "executable", "");
	const char *platform = pkg_json_str_or(facts, "platform", "");

	if (has_foreign_component(executable))
		pkg_argv_addf(reasons, "'%s' belongs to MSYS, MinGW or Cygwin", executable);
	if (strncmp(platform, "win-", 4) != 0 && !same(platform, "win32"))
		pkg_argv_addf(reasons, "its platform is '%s', not 'win-…'", platform);
	need_layout(facts, "purelib", "Lib/site-packages", reasons);
	need_layout(facts, "platlib", "Lib/site-packages", reasons);
	need_layout(facts, "scripts", "Scripts", reasons);
	need_layout(facts, "python", "Scripts/python.exe", reasons);
}

static void
judge_platform(
	struct json_object *facts, enum lang_python_platform platform, struct pkg_argv *reasons)
{
	const char *expected = platform == LANG_PYTHON_NT ? "nt" : "posix";
	struct json_object *markers = pkg_json_get(facts, "markers");
	const char *found = pkg_json_str_or(markers, "os_name", "");
	const char *machine = pkg_json_str_or(markers, "platform_machine", "");
	int64_t bits = pkg_json_int(facts, "pointer_bits", 0);

	if (!same(found, expected))
		pkg_argv_addf(reasons, "its os.name is '%s', not '%s'", found, expected);
	if (platform == LANG_PYTHON_NT)
		judge_nt(facts, reasons);
	else
		judge_posix(facts, reasons);
	/* Its markers would promise wheels that it cannot load. */
	if (bits < 64 && strstr(machine, "64"))
		pkg_argv_addf(reasons, "it is a %lld-bit program on a machine that says '%s'",
			(long long)bits, machine);
}

static void
judge_prefix(struct json_object *facts, const char *home, struct pkg_argv *reasons)
{
	const char *base = lang_python_base(facts);
	const char *claimed = pkg_json_str_or(facts, "base_prefix", "");

	/* /usr is what every sandbox shows anyway. */
	if (!same(base, "/usr") && pkg_path_is_broad(base, home))
		pkg_argv_addf(
			reasons, "its directory '%s' is too broad to be shown in a sandbox", base);
	/* Where its file lies was measured by us; a prefix is only a claim. */
	if (!same(base, claimed))
		pkg_argv_addf(
			reasons, "its prefix is '%s', but its program lies in '%s'", claimed, base);
}

void
lang_python_accept(struct json_object *facts, enum lang_python_platform platform,
	const char *minimum, const char *home, struct pkg_argv *reasons)
{
	const char *failure = pkg_json_str(facts, "error");
	const char *prefix = pkg_json_str_or(facts, "prefix", "");
	const char *base = pkg_json_str_or(facts, "base_prefix", "");

	if (is_older(facts, minimum)) {
		pkg_argv_addf(reasons, "it is Python %s, older than python.minimum (%s)",
			lang_python_version(facts), minimum);
		return;
	}
	if (!lang_python_facts_complete(facts)) {
		pkg_argv_addf(reasons, "it could not tell its facts: %s",
			failure ? failure : "no layout");
		return;
	}
	if (!same(prefix, base)) {
		pkg_argv_addf(
			reasons, "it is inside the virtual environment '%s' of '%s'", prefix, base);
		return;
	}
	if (!pkg_json_bool(facts, "venv", false))
		pkg_argv_add(reasons, "its module 'venv' cannot be imported");
	judge_platform(facts, platform, reasons);
	if (platform == LANG_PYTHON_POSIX)
		judge_prefix(facts, home, reasons);
}
