#include "install/names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/path.h"
#include "core/sha256.h"

/* Not isalnum(): what is a letter must not depend on the locale. */
static bool
is_letter_or_digit(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool
install_name_is_valid(const char *name)
{
	size_t len = strlen(name);

	if (len == 0 || len > INSTALL_NAME_MAX || !is_letter_or_digit(name[0]))
		return false;
	for (size_t i = 1; i < len; i++) {
		char c = name[i];

		if (!is_letter_or_digit(c) && c != '.' && c != '_' && c != '-')
			return false;
	}
	return true;
}

static int
check_part(const char *what, const char *value, struct pkg_error *err)
{
	if (install_name_is_valid(value))
		return 0;
	pkg_error_set(err, PKG_E_INVALID,
		"%s '%.80s' is not a name: it has 1 to %d letters, digits, '.', '_' or '-', and "
		"begins "
		"with a letter or digit",
		what, value, INSTALL_NAME_MAX);
	return -1;
}

static const char *
or_default(const char *value, const char *fallback)
{
	return value == NULL || strcasecmp(value, "default") == 0 ? fallback : value;
}

int
install_key_resolve(const char *project, const char *language, const char *name,
	struct install_key *out, struct pkg_error *err)
{
	const char *lang = or_default(language, "python");

	if (strcmp(lang, "python") != 0 && strcmp(lang, "r") != 0)
		return pkg_error_set(err, PKG_E_INVALID,
			"language '%.80s' is not known: it is 'python' or 'r'", lang);
	project = or_default(project, "default");
	name = or_default(name, lang);
	if (check_part("project", project, err) < 0 || check_part("environment", name, err) < 0)
		return -1;
	out->project = pkg_xstrdup(project);
	out->language = pkg_xstrdup(lang);
	out->name = pkg_xstrdup(name);
	return 0;
}

void
install_key_clear(struct install_key *key)
{
	free(key->project);
	free(key->language);
	free(key->name);
	*key = (struct install_key){ 0 };
}

struct store_env_key
install_key_borrow(const struct install_key *key)
{
	return (struct store_env_key){ key->project, key->language, key->name };
}

char *
install_path_prefix(
	const struct pkg_home *home, const char *project, const char *language, const char *name)
{
	return pkg_path_joinf(home->data, "envs/%s/%s/%s", project, language, name);
}

char *
install_path_generation(const struct pkg_home *home, int64_t env, int64_t number)
{
	return pkg_path_joinf(home->data, "generations/%" PRId64 "/%" PRId64, env, number);
}

char *
install_path_staging(const struct pkg_home *home, int64_t job)
{
	return pkg_path_joinf(home->data, "staging/%" PRId64, job);
}

char *
install_path_trash(const struct pkg_home *home)
{
	return pkg_path_join(home->data, "trash");
}

char *
install_path_job(const struct pkg_home *home, int64_t job)
{
	return pkg_path_joinf(home->state, "jobs/%" PRId64, job);
}

char *
install_path_lock(
	const struct pkg_home *home, const char *project, const char *language, const char *name)
{
	pkg_autofree char *key = pkg_xasprintf("%s/%s/%s", project, language, name);
	char hex[PKG_SHA256_HEX];

	pkg_sha256_hex(key, strlen(key), hex);
	return pkg_path_joinf(home->state, "locks/%.32s.lock", hex);
}
