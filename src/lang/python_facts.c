#include "lang/python_facts.h"

#include <stdlib.h>
#include <string.h>

#include "core/path.h"
#include "core/sha256.h"
#include "core/text.h"

#define TEXT_MAX 4096
#define ITEMS_MAX 1024
#define DEPTH_MAX 4

/* Facts that an interpreter young enough to be used has, with their types. */
static const struct {
	const char *object; /* NULL: at the top */
	const char *key;
	json_type type;
} needed[] = {
	{ NULL, "abiflags", json_type_string },
	{ NULL, "base_exec_prefix", json_type_string },
	{ NULL, "base_prefix", json_type_string },
	{ NULL, "cache_tag", json_type_string },
	{ NULL, "exec_prefix", json_type_string },
	{ NULL, "executable", json_type_string },
	{ NULL, "ext_suffix", json_type_string },
	{ NULL, "free_threaded", json_type_boolean },
	{ NULL, "inherited", json_type_array },
	{ NULL, "layout", json_type_object },
	{ NULL, "lib_dirs", json_type_array },
	{ NULL, "libc", json_type_object },
	{ NULL, "magic", json_type_string },
	{ NULL, "markers", json_type_object },
	{ NULL, "pip_wheels", json_type_array },
	{ NULL, "platform", json_type_string },
	{ NULL, "pointer_bits", json_type_int },
	{ NULL, "prefix", json_type_string },
	{ NULL, "real_executable", json_type_string },
	{ NULL, "soabi", json_type_string },
	{ NULL, "stdlib", json_type_string },
	{ NULL, "sys_path", json_type_array },
	{ NULL, "venv", json_type_boolean },
	{ "layout", "data", json_type_string },
	{ "layout", "headers", json_type_string },
	{ "layout", "platlib", json_type_string },
	{ "layout", "purelib", json_type_string },
	{ "layout", "python", json_type_string },
	{ "layout", "scripts", json_type_string },
	{ "libc", "name", json_type_string },
	{ "libc", "version", json_type_string },
	{ "markers", "implementation_name", json_type_string },
	{ "markers", "implementation_version", json_type_string },
	{ "markers", "os_name", json_type_string },
	{ "markers", "platform_machine", json_type_string },
	{ "markers", "platform_python_implementation", json_type_string },
	{ "markers", "platform_release", json_type_string },
	{ "markers", "platform_system", json_type_string },
	{ "markers", "platform_version", json_type_string },
	{ "markers", "python_full_version", json_type_string },
	{ "markers", "python_version", json_type_string },
	{ "markers", "sys_platform", json_type_string },
};

/* Single paths and lists of them, which must be absolute whatever else they are. */
static const char *const absolute[] = { "base_exec_prefix", "base_prefix", "exec_prefix",
	"executable", "prefix", "real_executable", "stdlib" };
static const char *const absolute_lists[] = { "inherited", "lib_dirs", "pip_wheels", "sys_path" };

static bool
is_absolute(const char *path)
{
	bool drive = path[0] >= 'A' && path[0] <= 'z' && path[1] == ':' && path[2] == '/';

	return path[0] == '/' || drive;
}

static int
check_text(const char *key, const char *text, size_t len, struct pkg_error *err)
{
	pkg_autofree char *clean = NULL;

	if (len > TEXT_MAX)
		return pkg_error_set(
			err, PKG_E_INVALID, "its '%s' is longer than %d bytes", key, TEXT_MAX);
	clean = pkg_text_clean(text, len, TEXT_MAX + 1, false);
	if (strlen(clean) != len || memcmp(clean, text, len) != 0)
		return pkg_error_set(
			err, PKG_E_INVALID, "its '%s' holds characters that no path has", key);
	return 0;
}

/* Every text in it, however deep: these are printed, compared and mounted later on. */
static int
check_values(const char *key, struct json_object *value, int depth, struct pkg_error *err)
{
	if (depth > DEPTH_MAX)
		return pkg_error_set(err, PKG_E_INVALID, "its '%s' is nested too deep", key);
	if (json_object_is_type(value, json_type_string))
		return check_text(key, json_object_get_string(value),
			(size_t)json_object_get_string_len(value), err);
	if (json_object_is_type(value, json_type_array)) {
		if (json_object_array_length(value) > ITEMS_MAX)
			return pkg_error_set(err, PKG_E_INVALID, "its '%s' has more than %d items",
				key, ITEMS_MAX);
		for (size_t i = 0; i < json_object_array_length(value); i++)
			if (check_values(key, json_object_array_get_idx(value, i), depth + 1, err) <
				0)
				return -1;
	}
	if (json_object_is_type(value, json_type_object)) {
		if (json_object_object_length(value) > ITEMS_MAX)
			return pkg_error_set(err, PKG_E_INVALID, "its '%s' has more than %d items",
				key, ITEMS_MAX);
		json_object_object_foreach(value, name, member)
		{
			if (check_text("name of a fact", name, strlen(name), err) < 0 ||
				check_values(name, member, depth + 1, err) < 0)
				return -1;
		}
	}
	return 0;
}

static int
check_version(struct json_object *facts, struct pkg_error *err)
{
	struct json_object *info = pkg_json_array(facts, "version_info");

	if (!pkg_json_need_str(facts, "version", err))
		return -1;
	if (!info || json_object_array_length(info) < 3)
		return pkg_error_set(err, PKG_E_INVALID, "its 'version_info' is no version");
	for (size_t i = 0; i < 3; i++) {
		struct json_object *number = json_object_array_get_idx(info, i);

		if (!json_object_is_type(number, json_type_int) ||
			json_object_get_int64(number) < 0 || json_object_get_int64(number) > 9999)
			return pkg_error_set(
				err, PKG_E_INVALID, "its 'version_info' is no version");
	}
	return 0;
}

static int
check_paths(struct json_object *facts, struct pkg_error *err)
{
	for (size_t i = 0; i < PKG_ARRAY_LEN(absolute); i++)
		if (!is_absolute(pkg_json_str_or(facts, absolute[i], "")))
			return pkg_error_set(err, PKG_E_INVALID,
				"its '%s' is no absolute path: '%s'", absolute[i],
				pkg_json_str_or(facts, absolute[i], ""));
	for (size_t i = 0; i < PKG_ARRAY_LEN(absolute_lists); i++) {
		struct json_object *list = pkg_json_array(facts, absolute_lists[i]);

		for (size_t j = 0; j < json_object_array_length(list); j++) {
			struct json_object *item = json_object_array_get_idx(list, j);

			if (!json_object_is_type(item, json_type_string) ||
				!is_absolute(json_object_get_string(item)))
				return pkg_error_set(err, PKG_E_INVALID,
					"its '%s' holds what is no absolute path",
					absolute_lists[i]);
		}
	}
	return 0;
}

static int
check_complete(struct json_object *facts, struct pkg_error *err)
{
	for (size_t i = 0; i < PKG_ARRAY_LEN(needed); i++) {
		struct json_object *in =
			needed[i].object ? pkg_json_get(facts, needed[i].object) : facts;
		struct json_object *value = pkg_json_get(in, needed[i].key);

		if (!value || !json_object_is_type(value, needed[i].type))
			return pkg_error_set(err, PKG_E_INVALID, "it says no '%s%s%s'",
				needed[i].object ? needed[i].object : "",
				needed[i].object ? "." : "", needed[i].key);
	}
	return check_paths(facts, err);
}

/* The probe's line is the last that begins like an object: whatever the interpreter's start-up
 * printed stands before it. */
static const char *
find_line(const char *text, size_t len, size_t *line_len)
{
	const char *found = NULL;

	for (size_t at = 0; at < len;) {
		const char *end = memchr(text + at, '\n', len - at);
		size_t n = end ? (size_t)(end - text) - at : len - at;

		if (n > 0 && text[at] == '{') {
			found = text + at;
			*line_len = n;
		}
		at += n + 1;
	}
	return found;
}

struct json_object *
lang_python_output(const char *text, size_t len)
{
	size_t line_len = 0;
	const char *line = find_line(text, len, &line_len);
	struct json_object *value = line ? pkg_json_parse(line, line_len, NULL) : NULL;

	if (json_object_is_type(value, json_type_object))
		return value;
	json_object_put(value);
	return NULL;
}

struct json_object *
lang_python_facts_parse(const char *text, size_t len, struct pkg_error *err)
{
	pkg_cleanup(pkg_json_put) struct json_object *facts = NULL;

	if (len > LANG_PYTHON_FACTS_MAX) {
		pkg_error_set(
			err, PKG_E_INVALID, "it printed more than %d bytes", LANG_PYTHON_FACTS_MAX);
		return NULL;
	}
	facts = lang_python_output(text, len);
	if (!facts) {
		pkg_error_set(err, PKG_E_INVALID, "what it printed is not JSON");
		return NULL;
	}
	if (check_values("facts", facts, 0, err) < 0 || check_version(facts, err) < 0)
		return NULL;
	if (lang_python_facts_complete(facts) && check_complete(facts, err) < 0)
		return NULL;
	return pkg_steal_ptr(&facts);
}

bool
lang_python_facts_complete(struct json_object *facts)
{
	return pkg_json_get(facts, "layout") && !pkg_json_get(facts, "error");
}

const char *
lang_python_version(struct json_object *facts)
{
	return pkg_json_str_or(facts, "version", "");
}

void
lang_python_version_info(struct json_object *facts, int *major, int *minor)
{
	struct json_object *info = pkg_json_array(facts, "version_info");

	*major = info ? json_object_get_int(json_object_array_get_idx(info, 0)) : 0;
	*minor = info ? json_object_get_int(json_object_array_get_idx(info, 1)) : 0;
}

static const char *
inner(struct json_object *facts, const char *object, const char *key)
{
	struct json_object *in = pkg_json_get(facts, object);

	return in ? pkg_json_str_or(in, key, "") : "";
}

char *
lang_python_describe(struct json_object *facts)
{
	const char *name = inner(facts, "markers", "platform_python_implementation");

	return pkg_xasprintf("%s %s (%s)", *name ? name : "Python", lang_python_version(facts),
		lang_python_executable(facts));
}

const char *
lang_python_executable(struct json_object *facts)
{
	const char *measured = pkg_json_str(facts, "path");

	return measured ? measured : pkg_json_str_or(facts, "real_executable", "");
}

const char *
lang_python_base(struct json_object *facts)
{
	const char *measured = pkg_json_str(facts, "base");

	return measured ? measured : pkg_json_str_or(facts, "base_prefix", "");
}

const char *
lang_python_cache_tag(struct json_object *facts)
{
	return pkg_json_str_or(facts, "cache_tag", "");
}

const char *
lang_python_magic(struct json_object *facts)
{
	return pkg_json_str_or(facts, "magic", "");
}

const char *
lang_python_soabi(struct json_object *facts)
{
	return pkg_json_str_or(facts, "soabi", "");
}

bool
lang_python_free_threaded(struct json_object *facts)
{
	return pkg_json_bool(facts, "free_threaded", false);
}

void
lang_python_marker_env(struct json_object *facts, struct lang_marker_env *out)
{
#define MARKER(name) .name = inner(facts, "markers", #name)
	*out = (struct lang_marker_env){
		MARKER(python_version),
		MARKER(python_full_version),
		MARKER(os_name),
		MARKER(sys_platform),
		MARKER(platform_release),
		MARKER(platform_system),
		MARKER(platform_version),
		MARKER(platform_machine),
		MARKER(platform_python_implementation),
		MARKER(implementation_name),
		MARKER(implementation_version),
	};
#undef MARKER
}

char *
lang_python_key(struct json_object *facts)
{
	static const char *const parts[] = { "abiflags", "base", "ext_suffix", "free_threaded",
		"libc", "magic", "path", "platform", "real_executable", "soabi", "version" };
	pkg_cleanup(pkg_json_put) struct json_object *identity = json_object_new_object();
	pkg_autofree char *text = NULL;
	char hex[PKG_SHA256_HEX];

	for (size_t i = 0; i < PKG_ARRAY_LEN(parts); i++)
		pkg_json_set(identity, parts[i], json_object_get(pkg_json_get(facts, parts[i])));
	pkg_json_set_str(
		identity, "implementation", inner(facts, "markers", "implementation_name"));
	text = pkg_json_canonical(identity);
	pkg_sha256_hex(text, strlen(text), hex);
	return pkg_xstrdup(hex);
}

/* Texts of an array; anything else in it was refused when the facts were read. */
static void
add_list(struct json_object *facts, const char *key, struct pkg_argv *out)
{
	struct json_object *list = pkg_json_array(facts, key);

	for (size_t i = 0; list && i < json_object_array_length(list); i++)
		pkg_argv_add(out, json_object_get_string(json_object_array_get_idx(list, i)));
}

void
lang_python_pip_wheels(struct json_object *facts, struct pkg_argv *out)
{
	add_list(facts, "pip_wheels", out);
}

void
lang_python_inherited(struct json_object *facts, struct pkg_argv *out)
{
	add_list(facts, "inherited", out);
}

const char *
lang_python_site(struct json_object *facts)
{
	return inner(facts, "layout", "purelib");
}

const char *
lang_python_platlib(struct json_object *facts)
{
	return inner(facts, "layout", "platlib");
}

const char *
lang_python_scripts(struct json_object *facts)
{
	return inner(facts, "layout", "scripts");
}

const char *
lang_python_data(struct json_object *facts)
{
	return inner(facts, "layout", "data");
}

char *
lang_python_headers(struct json_object *facts, const char *name)
{
	return pkg_path_join(inner(facts, "layout", "headers"), name);
}

const char *
lang_python_interpreter(struct json_object *facts)
{
	return inner(facts, "layout", "python");
}
