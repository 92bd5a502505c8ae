#include "lang/python_tags.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "lang/python_facts.h"

#define MINOR_MAX 999 /* of a C library or a Python: nothing real comes near */

struct tag {
	const char *text; /* borrowed from the list */
	int rank;
};

struct lang_python_tags {
	struct pkg_argv *list; /* owned */
	struct tag *sorted; /* owned; by text */
	size_t count;
};

void
lang_python_tags_free(struct lang_python_tags *tags)
{
	if (!tags)
		return;
	pkg_argv_free(tags->list);
	free(tags->sorted);
	free(tags);
}

const struct pkg_argv *
lang_python_tags_list(const struct lang_python_tags *tags)
{
	return tags->list;
}

static int
compare_tags(const void *a, const void *b)
{
	return strcmp(((const struct tag *)a)->text, ((const struct tag *)b)->text);
}

int
lang_python_tags_rank(const struct lang_python_tags *tags, const struct pkg_argv *wheel)
{
	int best = -1;

	for (size_t i = 0; i < wheel->count; i++) {
		const struct tag key = { .text = wheel->items[i] };
		const struct tag *found = bsearch(
			&key, tags->sorted, tags->count, sizeof(*tags->sorted), compare_tags);

		if (found && (best < 0 || found->rank < best))
			best = found->rank;
	}
	return best;
}

#define PARTS_MAX 32 /* dotted parts of one of the three */
#define TAG_MAX 255

struct part {
	const char *text;
	size_t len;
};

static size_t
split_dots(const char *text, size_t len, struct part *out)
{
	size_t count = 0, start = 0;

	for (size_t i = 0; i <= len && count < PARTS_MAX; i++) {
		if (i < len && text[i] != '.')
			continue;
		out[count++] = (struct part){ .text = text + start, .len = i - start };
		start = i + 1;
	}
	return count;
}

static int
rank_one(const struct lang_python_tags *tags, const struct part *python, const struct part *abi,
	const struct part *platform)
{
	char text[TAG_MAX + 1];
	const struct tag key = { .text = text };
	const struct tag *found;
	int len = snprintf(text, sizeof(text), "%.*s-%.*s-%.*s", (int)python->len, python->text,
		(int)abi->len, abi->text, (int)platform->len, platform->text);

	if (len < 0 || len > TAG_MAX)
		return -1;
	for (char *c = text; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	found = bsearch(&key, tags->sorted, tags->count, sizeof(*tags->sorted), compare_tags);
	return found ? found->rank : -1;
}

int
lang_python_tags_rank_text(const struct lang_python_tags *tags, const char *text, size_t len)
{
	const char *first = memchr(text, '-', len);
	const char *second =
		first ? memchr(first + 1, '-', len - (size_t)(first + 1 - text)) : NULL;
	struct part parts[3][PARTS_MAX];
	size_t counts[3];
	int best = -1;

	if (!second)
		return -1;
	counts[0] = split_dots(text, (size_t)(first - text), parts[0]);
	counts[1] = split_dots(first + 1, (size_t)(second - first - 1), parts[1]);
	counts[2] = split_dots(second + 1, len - (size_t)(second + 1 - text), parts[2]);
	for (size_t i = 0; i < counts[0]; i++)
		for (size_t j = 0; j < counts[1]; j++)
			for (size_t k = 0; k < counts[2]; k++) {
				int rank = rank_one(tags, &parts[0][i], &parts[1][j], &parts[2][k]);

				if (rank >= 0 && (best < 0 || rank < best))
					best = rank;
			}
	return best;
}

/* --- platforms --- */

/* "linux-x86_64" as "linux_x86_64". Given. */
static char *
normalize(const char *text)
{
	char *out = pkg_xstrdup(text);

	for (char *c = out; *c; c++)
		*c = strchr(".- ", *c) ? '_' : (char)tolower((unsigned char)*c);
	return out;
}

/* PEP 600. Below these no interpreter that we take was ever built. */
static void
add_manylinux(const char *arch, int major, int minor, struct pkg_argv *out)
{
	static const struct {
		int minor;
		const char *name;
	} legacy[] = { { 17, "manylinux2014" }, { 12, "manylinux2010" }, { 5, "manylinux1" } };
	static const char *const known[] = { "x86_64", "i686", "aarch64", "armv7l", "armv8l",
		"ppc64", "ppc64le", "s390x", "loongarch64", "riscv64" };
	bool intel = strcmp(arch, "x86_64") == 0 || strcmp(arch, "i686") == 0;
	int oldest = intel ? 5 : 17;
	bool has = false;

	for (size_t i = 0; i < PKG_ARRAY_LEN(known); i++)
		has = has || strcmp(known[i], arch) == 0;
	if (!has || major != 2)
		return;
	for (; minor >= oldest; minor--) {
		pkg_argv_addf(out, "manylinux_2_%d_%s", minor, arch);
		for (size_t i = 0; i < PKG_ARRAY_LEN(legacy); i++)
			if (legacy[i].minor == minor)
				pkg_argv_addf(out, "%s_%s", legacy[i].name, arch);
	}
}

static void
add_libc(struct json_object *facts, const char *arch, struct pkg_argv *out)
{
	struct json_object *libc = pkg_json_get(facts, "libc");
	const char *name = libc ? pkg_json_str_or(libc, "name", "") : "";
	int major = 0, minor = 0;

	if (!libc || sscanf(pkg_json_str_or(libc, "version", ""), "%d.%d", &major, &minor) != 2 ||
		minor > MINOR_MAX || major < 0)
		return;
	if (strcmp(name, "glibc") == 0)
		add_manylinux(arch, major, minor, out);
	for (; strcmp(name, "musl") == 0 && minor >= 0; minor--)
		pkg_argv_addf(out, "musllinux_%d_%d_%s", major, minor, arch);
}

/* Best first. Given. */
static struct pkg_argv *
platforms_of(struct json_object *facts)
{
	struct pkg_argv *out = pkg_argv_new();
	pkg_autofree char *platform = normalize(pkg_json_str_or(facts, "platform", ""));
	bool narrow = pkg_json_int(facts, "pointer_bits", 64) == 32;
	const char *archs[2] = { NULL, NULL };

	if (!pkg_text_has_prefix(platform, "linux_")) {
		if (*platform)
			pkg_argv_add(out, platform);
		return out;
	}
	archs[0] = platform + strlen("linux_");
	/* A 32-bit interpreter on a 64-bit kernel. */
	if (narrow && strcmp(archs[0], "x86_64") == 0)
		archs[0] = "i686";
	else if (narrow && strcmp(archs[0], "aarch64") == 0)
		archs[0] = "armv8l";
	if (strcmp(archs[0], "armv8l") == 0)
		archs[1] = "armv7l";
	for (size_t i = 0; i < 2 && archs[i]; i++)
		add_libc(facts, archs[i], out);
	for (size_t i = 0; i < 2 && archs[i]; i++)
		pkg_argv_addf(out, "linux_%s", archs[i]);
	return out;
}

/* --- interpreters --- */

struct builder {
	struct json_object *facts;
	struct pkg_argv *platforms; /* owned */
	struct pkg_argv *out;
	int major, minor;
};

static void
add_each(const struct builder *builder, const char *python, const char *abi)
{
	for (size_t i = 0; i < builder->platforms->count; i++)
		pkg_argv_addf(builder->out, "%s-%s-%s", python, abi, builder->platforms->items[i]);
}

/* The interpreter's own ABI, then those that it also loads. */
static struct pkg_argv *
cpython_abis(const struct builder *builder)
{
	struct pkg_argv *abis = pkg_argv_new();
	bool debug = pkg_json_bool(builder->facts, "debug", false);
	bool old = builder->major == 3 && builder->minor < 8;
	const char *flags = pkg_json_str_or(builder->facts, "abiflags", "");
	const char *threads = lang_python_free_threaded(builder->facts) ? "t" : "";

	pkg_argv_addf(abis, "cp%d%d%s%s%s", builder->major, builder->minor, threads,
		debug ? "d" : "", old && strchr(flags, 'm') ? "m" : "");
	if (debug && !old)
		pkg_argv_addf(abis, "cp%d%d%s", builder->major, builder->minor, threads);
	return abis;
}

static void
add_cpython(const struct builder *builder)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *abis = cpython_abis(builder);
	pkg_autofree char *python = pkg_xasprintf("cp%d%d", builder->major, builder->minor);
	/* Without the lock there is no stable ABI (PEP 703). */
	bool stable = !lang_python_free_threaded(builder->facts);

	for (size_t i = 0; i < abis->count; i++)
		add_each(builder, python, abis->items[i]);
	if (stable)
		add_each(builder, python, "abi3");
	add_each(builder, python, "none");
	for (int minor = builder->minor - 1; stable && minor > 1; minor--) {
		pkg_autofree char *older = pkg_xasprintf("cp%d%d", builder->major, minor);

		add_each(builder, older, "abi3");
	}
}

/* ".pypy310-pp73-x86_64-linux-gnu.so": the first two parts. */
static void
add_other(const struct builder *builder, const char *prefix)
{
	const char *suffix = pkg_json_str_or(builder->facts, "ext_suffix", "");
	pkg_autofree char *python = pkg_xasprintf("%s%d%d", prefix, builder->major, builder->minor);
	pkg_autofree char *part = NULL;
	pkg_autofree char *abi = NULL;
	char *dash;

	suffix += *suffix == '.';
	part = pkg_xstrndup(suffix, strcspn(suffix, "."));
	dash = strchr(part, '-');
	dash = dash ? strchr(dash + 1, '-') : NULL;
	if (dash)
		*dash = '\0';
	abi = normalize(part);
	if (*abi)
		add_each(builder, python, abi);
	add_each(builder, python, "none");
}

/* What any Python of that version can use. */
static void
add_compatible(const struct builder *builder, const char *interpreter)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *range = pkg_argv_new();

	pkg_argv_addf(range, "py%d%d", builder->major, builder->minor);
	pkg_argv_addf(range, "py%d", builder->major);
	for (int minor = builder->minor - 1; minor >= 0; minor--)
		pkg_argv_addf(range, "py%d%d", builder->major, minor);
	for (size_t i = 0; i < range->count; i++)
		add_each(builder, range->items[i], "none");
	if (interpreter)
		pkg_argv_addf(builder->out, "%s-none-any", interpreter);
	for (size_t i = 0; i < range->count; i++)
		pkg_argv_addf(builder->out, "%s-none-any", range->items[i]);
}

static void
add_all(const struct builder *builder)
{
	struct lang_marker_env env;
	pkg_autofree char *cpython = NULL;

	lang_python_marker_env(builder->facts, &env);
	if (strcmp(env.implementation_name, "cpython") == 0) {
		cpython = pkg_xasprintf("cp%d%d", builder->major, builder->minor);
		add_cpython(builder);
		add_compatible(builder, cpython);
	} else if (strcmp(env.implementation_name, "pypy") == 0) {
		add_other(builder, "pp");
		add_compatible(builder, "pp3");
	} else {
		add_compatible(builder, NULL);
	}
}

struct lang_python_tags *
lang_python_tags_new(struct json_object *facts)
{
	struct lang_python_tags *tags = pkg_xcalloc(1, sizeof(*tags));
	struct builder builder = { .facts = facts, .platforms = platforms_of(facts) };

	tags->list = builder.out = pkg_argv_new();
	lang_python_version_info(facts, &builder.major, &builder.minor);
	if (builder.minor > MINOR_MAX)
		builder.minor = MINOR_MAX;
	add_all(&builder);
	pkg_argv_free(builder.platforms);
	tags->count = tags->list->count;
	tags->sorted = pkg_xcalloc(tags->count + 1, sizeof(*tags->sorted));
	for (size_t i = 0; i < tags->count; i++)
		tags->sorted[i] = (struct tag){ .text = tags->list->items[i], .rank = (int)i };
	qsort(tags->sorted, tags->count, sizeof(*tags->sorted), compare_tags);
	return tags;
}
