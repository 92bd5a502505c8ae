#include "lang/r_description.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/file.h"
#include "core/path.h"
#include "core/text.h"
#include "lang/r_version.h"

#define REQUIREMENTS_MAX 2000

void
lang_r_description_clear(struct lang_r_description *description)
{
	free(description->package);
	free(description->version);
	free(description->system_requirements);
	free(description->built_r);
	free(description->built_platform);
	lang_r_needs_clear(&description->needs);
	lang_r_needs_clear(&description->suggests);
	*description = (struct lang_r_description){ 0 };
}

static int
take_name(const struct lang_r_record *record, struct lang_r_description *out, struct pkg_error *err)
{
	const char *package = lang_r_record_get(record, "Package");
	const char *version = lang_r_record_get(record, "Version");

	if (!package || !lang_r_name_is(package))
		return pkg_error_set(err, PKG_E_ARCHIVE, "it does not say which package it is");
	/* Base packages of some builds carry one number. */
	if (!version || !lang_r_version_is(version, true))
		return pkg_error_set(err, PKG_E_ARCHIVE, "%s: its version is none", package);
	out->package = pkg_xstrdup(package);
	out->version = pkg_xstrdup(version);
	return 0;
}

static int
take_needs(
	const struct lang_r_record *record, struct lang_r_description *out, struct pkg_error *err)
{
	static const char *const fields[] = { "Depends", "Imports", "LinkingTo" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(fields); i++) {
		pkg_cleanup_error struct pkg_error why = { 0 };

		if (lang_r_needs_parse(lang_r_record_get(record, fields[i]), &out->needs, &why) ==
			0)
			continue;
		return pkg_error_set(
			err, PKG_E_ARCHIVE, "%s: %s: %s", out->package, fields[i], why.message);
	}
	/* Nobody's installation hangs on these. */
	(void)lang_r_needs_parse(lang_r_record_get(record, "Suggests"), &out->suggests, NULL);
	return 0;
}

/* "R 4.2.2; x86_64-pc-linux-gnu; 2023-01-20 12:00:00 UTC; unix" */
static void
take_built(const char *built, struct lang_r_description *out)
{
	const char *version = built;
	const char *platform;

	if (strncmp(version, "R ", 2) != 0)
		return;
	version += 2;
	platform = version + strcspn(version, ";");
	out->built_r = pkg_xstrndup(version, strcspn(version, "; "));
	platform += *platform == ';';
	platform += strspn(platform, " ");
	out->built_platform = pkg_xstrndup(platform, strcspn(platform, ";"));
}

static bool
is_yes(const char *value)
{
	return value &&
		(strcasecmp(value, "yes") == 0 || strcasecmp(value, "true") == 0 ||
			strcasecmp(value, "T") == 0);
}

static bool
is_no(const char *value)
{
	return value &&
		(strcasecmp(value, "no") == 0 || strcasecmp(value, "false") == 0 ||
			strcasecmp(value, "F") == 0);
}

int
lang_r_description_take(
	const struct lang_r_record *record, struct lang_r_description *out, struct pkg_error *err)
{
	const char *requirements = lang_r_record_get(record, "SystemRequirements");
	const char *built = lang_r_record_get(record, "Built");

	if (take_name(record, out, err) < 0 || take_needs(record, out, err) < 0)
		return -1;
	if (requirements)
		out->system_requirements =
			pkg_text_clean(requirements, strlen(requirements), REQUIREMENTS_MAX, false);
	if (built)
		take_built(built, out);
	out->compiles = is_yes(lang_r_record_get(record, "NeedsCompilation"));
	out->staged_install = !is_no(lang_r_record_get(record, "StagedInstall"));
	return 0;
}

static int
take_first(void *context, const struct lang_r_record *record, struct pkg_error *err)
{
	return lang_r_description_take(record, context, err) < 0 ? -1 : 1;
}

int
lang_r_description_parse(
	const char *text, size_t len, struct lang_r_description *out, struct pkg_error *err)
{
	pkg_cleanup_error struct pkg_error why = { 0 };

	if (lang_r_dcf_parse(text, len, take_first, out, &why) == 0 && out->package)
		return 0;
	lang_r_description_clear(out);
	return pkg_error_set(
		err, PKG_E_ARCHIVE, "DESCRIPTION: %s", why.message ? why.message : "it is empty");
}

int
lang_r_description_read(
	int tree_fd, const char *path, struct lang_r_description *out, struct pkg_error *err)
{
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	pkg_autofree char *file = pkg_path_join(path, "DESCRIPTION");

	if (pkg_file_read_beneath(tree_fd, file, LANG_R_DESCRIPTION_MAX, &text, err) < 0)
		return -1;
	return lang_r_description_parse(pkg_buf_str(&text), text.len, out, err);
}
