#include "install/tools.h"

#include <unistd.h>

#include "core/file.h"
#include "core/path.h"
#include "core/tree.h"
#include "lang/lang.h"
#include "policy/trust.h"

void
install_limits(const struct policy_limits *from, struct sandbox_limits *out)
{
	bool bounded = from->wall_seconds > 0 && from->wall_seconds < INT64_MAX / 1000;

	*out = (struct sandbox_limits){
		.wall_ms = bounded ? from->wall_seconds * 1000 : from->wall_seconds,
		.cpu_s = from->cpu_seconds,
		.memory = from->memory_bytes,
		.processes = from->processes,
		.file_size = from->file_bytes,
		.open_files = from->open_files,
		.disk = from->disk_bytes,
		.output = from->output_bytes,
	};
}

struct sandbox *
install_sandbox_open(
	const struct pkg_home *home, const struct policy_config *config, struct pkg_error *err)
{
	struct sandbox_options options = { 0 };

	for (size_t i = 0; i < SANDBOX_PURPOSE_COUNT; i++)
		install_limits(&config->sandbox_limits[i], &options.limits[i]);
	if (sandbox_mode_parse(config->sandbox_mode, &options.mode, err) < 0)
		return NULL;
	options.ca_bundle = config->network_ca_bundle;
	return sandbox_open(home, &options, err);
}

struct toolbox {
	struct policy_config config;
	struct sandbox *sandbox;
};

static int
toolbox_open(struct toolbox *box, const struct pkg_home *home, struct pkg_error *err)
{
	if (policy_config_load(home, &box->config, err) < 0 ||
		policy_trust_apply(&box->config, home, err) < 0)
		return -1;
	box->sandbox = install_sandbox_open(home, &box->config, err);
	return box->sandbox != NULL ? 0 : -1;
}

static void
toolbox_close(struct toolbox *box)
{
	sandbox_free(box->sandbox);
	policy_config_clear(&box->config);
}

static struct json_object *
candidates_to_json(
	const char *language, const struct lang_ops *ops, const struct lang_candidate_list *list)
{
	struct json_object *out = json_object_new_object();
	struct json_object *rows = json_object_new_array();

	for (size_t i = 0; i < list->count; i++) {
		const struct lang_candidate *one = &list->items[i];
		struct json_object *row = json_object_new_object();
		pkg_autofree char *text = one->facts != NULL ? ops->describe(one->facts) : NULL;

		pkg_json_set_str(row, "path", one->path);
		pkg_json_set_str(row, "origin", one->origin);
		pkg_json_set_bool(row, "accepted", one->reasons->count == 0);
		pkg_json_set_str(row, "description", text);
		pkg_json_set(row, "reasons", pkg_json_from_argv(one->reasons));
		json_object_array_add(rows, row);
	}
	pkg_json_set_str(out, "language", language);
	pkg_json_set(out, "candidates", rows);
	return out;
}

static struct json_object *
discover(struct toolbox *box, const struct pkg_home *home, const char *language, const char *want,
	const char *scratch, struct pkg_error *err)
{
	const struct lang_ops *ops = lang_find(language, err);
	struct lang_context lang = { .home = home,
		.config = &box->config,
		.sandbox = box->sandbox,
		.scratch = scratch,
		.cancel_fd = -1 };
	struct lang_candidate_list list = { 0 };
	pkg_cleanup_error struct pkg_error none = { 0 };
	struct json_object *out;

	if (ops == NULL)
		return NULL;
	/* "None is accepted" is an answer here, with the list. */
	if (ops->discover(&lang, want, true, &list, &none) < 0 && none.kind != PKG_E_INTERPRETER) {
		pkg_error_move(err, &none);
		lang_candidate_list_clear(&list);
		return NULL;
	}
	out = candidates_to_json(language, ops, &list);
	lang_candidate_list_clear(&list);
	return out;
}

struct json_object *
install_interpreters(
	const struct pkg_home *home, const char *language, const char *want, struct pkg_error *err)
{
	struct toolbox box = { 0 };
	pkg_autofree char *scratch =
		pkg_path_joinf(home->data, "staging/interpreters-%d", (int)getpid());
	struct json_object *out = NULL;

	if (toolbox_open(&box, home, err) == 0 && pkg_dir_make(scratch, 0700, err) == 0)
		out = discover(&box, home, language, want, scratch, err);
	(void)pkg_tree_remove(scratch, NULL);
	toolbox_close(&box);
	return out;
}

struct json_object *
install_sandbox_status(const struct pkg_home *home, struct pkg_error *err)
{
	struct toolbox box = { 0 };
	struct json_object *out = NULL;

	if (toolbox_open(&box, home, err) == 0)
		out = sandbox_status(box.sandbox);
	toolbox_close(&box);
	return out;
}

struct json_object *
install_sandbox_test(const struct pkg_home *home, struct pkg_error *err)
{
	struct toolbox box = { 0 };
	struct json_object *out = NULL;

	if (toolbox_open(&box, home, err) == 0)
		out = sandbox_test(box.sandbox, err);
	toolbox_close(&box);
	return out;
}
