/* PACKAGES, DESCRIPTION, an archive's page and a lock file: what comes out is names, versions
 * and URLs below the repository's own. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lang/r_lock.h"
#include "lang/r_packages.h"
#include "lang/r_version.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define URL "http://h/cran"

static void
check_entries(const struct lang_r_entries *entries)
{
	for (size_t i = 0; i < entries->count; i++) {
		const struct lang_r_entry *entry = &entries->items[i];

		if (!lang_r_name_is(entry->name) || !lang_r_version_is(entry->version, false) ||
			strncmp(entry->url, URL "/src/contrib/", strlen(URL "/src/contrib/")) !=
				0 ||
			strstr(entry->url, "/../") || strchr(entry->file, '/'))
			abort();
	}
}

static void
check_requirements(const struct pkg_argv *requirements)
{
	for (size_t i = 0; i < requirements->count; i++) {
		lang_cleanup_r_need struct lang_r_need need = { 0 };
		pkg_autofree char *text = NULL;

		if (lang_r_need_parse(requirements->items[i], &need, NULL) < 0)
			abort();
		text = lang_r_need_text(&need);
		if (strcmp(text, requirements->items[i]) != 0)
			abort();
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	struct lang_r_entries entries = { 0 };
	lang_cleanup_r_description struct lang_r_description description = { 0 };
	pkg_cleanup(pkg_argv_free) struct pkg_argv *versions = pkg_argv_new();
	pkg_cleanup(pkg_argv_free) struct pkg_argv *requirements = pkg_argv_new();
	pkg_cleanup(pkg_argv_free) struct pkg_argv *repos = pkg_argv_new();

	if (lang_r_entries_parse(text, size, URL, 0, &entries, NULL) == 0)
		check_entries(&entries);
	lang_r_entries_clear(&entries);
	if (lang_r_description_parse(text, size, &description, NULL) == 0 &&
		!lang_r_name_is(description.package))
		abort();
	lang_r_archive_versions(text, size, "cli", versions);
	for (size_t i = 0; i < versions->count; i++)
		if (!lang_r_version_is(versions->items[i], false))
			abort();
	if (lang_r_lock_parse(text, size, requirements, repos, NULL) == 0)
		check_requirements(requirements);
	return 0;
}
