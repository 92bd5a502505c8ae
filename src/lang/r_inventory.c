#include "lang/r_inventory.h"

#include <stdlib.h>
#include <string.h>

#include "core/path.h"
#include "core/text.h"
#include "lang/r.h"
#include "lang/r_request.h"
#include "lang/r_run.h"
#include "lang/r_version.h"

/* --- what is there --- */

struct listing {
	const char *prefix;
	struct store_package_list *out;
	bool foreign; /* a library that is not the environment's was named */
	bool own_first; /* the environment's library comes before all that it does not own */
	bool ended;
};

/* Owned is what lies in the tree, or in the overlay that is about to be: relative. Anything else
 * is inherited: absolute. Given; NULL for what is no place at all. */
static char *
place(const char *location, const char *prefix, bool *owned)
{
	const char *const roots[] = { prefix, LANG_R_OVERLAY };
	pkg_autofree char *normal = location[0] == '/' ? pkg_path_normalize(location) : NULL;

	*owned = false;
	if (!normal)
		return NULL;
	for (size_t i = 0; i < PKG_ARRAY_LEN(roots); i++) {
		size_t len = strlen(roots[i]);

		if (!pkg_path_contains(roots[i], normal) || normal[len] != '/')
			continue;
		*owned = true;
		return pkg_xstrdup(normal + len + 1);
	}
	return pkg_steal_ptr(&normal);
}

static void
add_package(struct listing *listing, const char *const *fields)
{
	bool owned;
	pkg_autofree char *location = place(fields[3], listing->prefix, &owned);
	struct store_package *package;

	/* A name that is none is no package that anybody could have asked for; the first of two
	 * counts, as in R. */
	if (!location || !lang_r_name_is(fields[1]) || !lang_r_version_is(fields[2], true) ||
		strcmp(pkg_path_base(location), fields[1]) != 0)
		return;
	for (size_t i = 0; i < listing->out->count; i++)
		if (strcmp(listing->out->items[i].key, fields[1]) == 0)
			return;
	package = store_package_list_add(listing->out);
	package->name = pkg_xstrdup(fields[1]);
	package->key = pkg_xstrdup(fields[1]);
	package->version = pkg_xstrdup(fields[2]);
	package->owned = owned;
	package->location = pkg_steal_ptr(&location);
}

static int
add_line(void *context, const char *const fields[LANG_R_LINE_FIELDS],
	PKG_UNUSED struct pkg_error *err)
{
	struct listing *listing = context;
	pkg_autofree char *own = NULL;

	if (listing->ended)
		return 0;
	if (strcmp(fields[0], "package") == 0)
		add_package(listing, fields);
	listing->ended = strcmp(fields[0], "end") == 0;
	if (strcmp(fields[0], "library") != 0)
		return 0;
	/* Before the environment's own only the overlay may stand. */
	own = pkg_path_join(listing->prefix, LANG_R_LIBRARY);
	if (strcmp(fields[1], own) == 0)
		listing->own_first = !listing->foreign;
	else if (strcmp(fields[1], LANG_R_OVERLAY "/" LANG_R_LIBRARY) != 0)
		listing->foreign = true;
	return 0;
}

int
lang_r_inventory_parse(const char *text, size_t len, const char *prefix,
	struct store_package_list *out, struct pkg_error *err)
{
	struct listing listing = { .prefix = prefix, .out = out };

	store_package_list_clear(out);
	if (lang_r_lines(text, len, add_line, &listing, err) < 0)
		return -1;
	if (!listing.own_first)
		return pkg_error_set(err, PKG_E_VERIFY,
			"the first library of the environment's R is not '%s/" LANG_R_LIBRARY "'",
			prefix);
	if (!listing.ended)
		return pkg_error_set(
			err, PKG_E_VERIFY, "what the environment's R printed is no inventory");
	store_package_list_sort(out);
	return 0;
}

int
lang_r_inventory(struct lang_context *lang, const struct lang_env *env,
	struct store_package_list *out, struct pkg_error *err)
{
	pkg_cleanup_run struct pkg_run run = PKG_RUN_INIT;
	const struct sandbox_limits limits = { .output = LANG_R_OUTPUT_MAX };

	if (lang_r_healthy(env, err) < 0)
		return -1;
	if (lang_r_script(lang, SANDBOX_VERIFY, env, env->facts, "inventory.R", NULL, &limits, &run,
		    err) < 0)
		return pkg_error_prefix(err, "ask the environment what it holds");
	if (run.wait_status != 0) {
		pkg_autofree char *end = lang_r_end(&run);

		return pkg_error_set(err, PKG_E_VERIFY,
			"the environment's R did not tell what it holds: %s", end);
	}
	return lang_r_inventory_parse(pkg_buf_str(&run.out), run.out.len, env->prefix, out, err);
}
