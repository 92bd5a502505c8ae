#include "install/asked.h"

#include <string.h>

void
install_asked_clear(struct install_asked *asked)
{
	pkg_argv_free(asked->requirements);
	pkg_argv_free(asked->keys);
	pkg_argv_free(asked->constraints);
	pkg_argv_free(asked->hashes);
	pkg_argv_free(asked->extra);
	pkg_argv_free(asked->repos);
	*asked = (struct install_asked){ 0 };
}

static int
parse_each(struct install_worker *worker, const struct pkg_argv *texts, struct pkg_argv *canonical,
	struct pkg_argv *keys, struct pkg_error *err)
{
	for (size_t i = 0; i < texts->count; i++) {
		char *text = NULL, *key = NULL;

		if (worker->ops->requirement(texts->items[i], &text, &key, err) < 0)
			return -1;
		pkg_argv_take(canonical, text);
		pkg_argv_take(keys, key);
	}
	return 0;
}

int
install_asked_read(struct install_worker *worker, struct install_asked *out, struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *texts = pkg_argv_new();
	pkg_cleanup(pkg_argv_free) struct pkg_argv *limits = pkg_argv_new();
	pkg_cleanup(pkg_argv_free) struct pkg_argv *unused = pkg_argv_new();
	struct json_object *request = worker->request;

	*out = (struct install_asked){ pkg_argv_new(), pkg_argv_new(), pkg_argv_new(),
		pkg_argv_new(), pkg_argv_new(), pkg_argv_new() };
	if (pkg_json_strings(request, "requirements", texts, err) < 0 ||
		pkg_json_strings(request, "constraints", limits, err) < 0 ||
		pkg_json_strings(request, "hashes", out->hashes, err) < 0 ||
		pkg_json_strings(request, "extra_index_urls", out->extra, err) < 0 ||
		install_worker_repos(worker, out->repos, err) < 0)
		return -1;
	if (pkg_json_get(request, "extra_index_urls") == NULL &&
		pkg_json_str(request, "index_url") == NULL)
		pkg_argv_add_all(out->extra, worker->config.python_extra_index_urls);
	if (parse_each(worker, texts, out->requirements, out->keys, err) < 0)
		return -1;
	return parse_each(worker, limits, out->constraints, unused, err);
}

struct lang_request
install_asked_request(const struct install_worker *worker, const struct install_asked *asked)
{
	struct json_object *request = worker->request;

	return (struct lang_request){
		.requirements = asked->requirements,
		.constraints = asked->constraints,
		.hashes = asked->hashes,
		.index_url = pkg_json_str_or(request, "index_url", worker->config.python_index_url),
		.extra_index_urls = asked->extra,
		.repos = asked->repos,
		.source = pkg_json_bool(request, "source", false),
		.upgrade = strcmp(worker->job.action, "upgrade") == 0 ||
			pkg_json_bool(request, "upgrade", false),
		.upgrade_all = pkg_json_bool(request, "upgrade_all", false),
		.prerelease = pkg_json_bool(request, "prerelease", false),
		.suggests = pkg_json_bool(request, "suggests", false),
		.exclude_newer = pkg_json_str(request, "exclude_newer"),
	};
}

void
install_asked_indexes(const struct install_worker *worker, const struct install_asked *asked,
	struct pkg_argv *out)
{
	struct lang_request request = install_asked_request(worker, asked);

	if (strcmp(worker->job.language, "r") == 0) {
		pkg_argv_add_all(out, asked->repos);
		return;
	}
	pkg_argv_add(out, request.index_url);
	pkg_argv_add_all(out, asked->extra);
	/* A request names an index without its secrets; the configuration may hold them. */
	pkg_argv_add(out, worker->config.python_index_url);
	pkg_argv_add_all(out, worker->config.python_extra_index_urls);
}
