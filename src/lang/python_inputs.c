#include "lang/python_inputs.h"

#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "core/url.h"
#include "lang/python_facts.h"
#include "lang/python_index.h"

/* --- URLs --- */

/* Quotes and dollars are what pip's file reader looks at within a line. */
static char *
encode(const char *url)
{
	struct pkg_buf out = { 0 };

	for (; *url; url++) {
		if (strchr("'\"$`", *url))
			pkg_buf_addf(&out, "%%%02X", (unsigned int)(unsigned char)*url);
		else
			pkg_buf_add_char(&out, *url);
	}
	return pkg_buf_steal(&out);
}

char *
lang_python_pip_index(const char *url, struct pkg_error *err)
{
	pkg_cleanup_url struct pkg_url parsed = { 0 };
	pkg_autofree char *encoded = NULL;
	const char *authority, *host, *end;

	if (pkg_url_parse(url, &parsed, err) < 0) {
		pkg_error_prefix(err, "index URL");
		return NULL;
	}
	encoded = encode(url);
	authority = strstr(encoded, "://");
	if (strcmp(parsed.scheme, "http") != 0 || !authority)
		return pkg_steal_ptr(&encoded);
	authority += 3;
	end = authority + strcspn(authority, "/?#");
	host = memrchr(authority, '@', (size_t)(end - authority));
	host = host ? host + 1 : authority;
	if (*host == '[')
		host += strcspn(host, "]");
	if (memchr(host, ':', (size_t)(end - host)))
		return pkg_steal_ptr(&encoded);
	return pkg_xasprintf("%.*s:%d%s", (int)(end - encoded), encoded, parsed.port, end);
}

static int
index_line(const char *option, const char *url, struct pkg_buf *out, struct pkg_error *err)
{
	pkg_cleanup_url struct pkg_url parsed = { 0 };
	pkg_autofree char *index = lang_python_pip_index(url, err);

	if (!index || pkg_url_parse(index, &parsed, err) < 0)
		return -1;
	pkg_buf_addf(out, "%s %s\n", option, index);
	/* Without it pip leaves out plain http, and would not keep what it got over it. */
	if (strcmp(parsed.scheme, "http") == 0)
		pkg_buf_addf(out,
			strchr(parsed.host, ':') ? "--trusted-host [%s]:%d\n"
						 : "--trusted-host %s:%d\n",
			parsed.host, parsed.port);
	return 0;
}

int
lang_python_index_lines(
	const struct lang_request *request, struct pkg_buf *out, struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *indexes = lang_python_indexes(request);

	for (size_t i = 0; i < indexes->count; i++)
		if (index_line(i == 0 ? "--index-url" : "--extra-index-url", indexes->items[i], out,
			    err) < 0)
			return -1;
	return 0;
}

/* --- requirements --- */

static int
check_kind(const struct lang_requirement *requirement, bool source, struct pkg_error *err)
{
	pkg_autofree char *file = NULL;

	if (requirement->kind == LANG_REQUIREMENT_FILE ||
		requirement->kind == LANG_REQUIREMENT_VCS) {
		pkg_error_set(err, PKG_E_UNSUPPORTED,
			"'%s' comes from a %s, which has no hash that could be approved",
			requirement->name,
			requirement->kind == LANG_REQUIREMENT_VCS ? "version control system"
								  : "file of this machine");
		return pkg_error_cure(err, "name a release file by its http(s) URL instead");
	}
	if (requirement->kind != LANG_REQUIREMENT_URL || source)
		return 0;
	file = pkg_url_basename(requirement->url);
	if (pkg_text_has_suffix(file, ".whl"))
		return 0;
	pkg_error_set(err, PKG_E_NO_WHEEL, "'%s' is asked for as '%s', which is not a wheel",
		requirement->name, file);
	return pkg_error_cure(
		err, "--source allows building it here, which runs the package's own code");
}

/* 1: it counts here; 0: its marker does not hold. Without marker in both cases. */
static int
apply_marker(struct lang_requirement *requirement, struct json_object *facts, struct pkg_error *err)
{
	struct lang_marker_env env;
	bool holds = true;

	if (!requirement->marker)
		return 1;
	lang_python_marker_env(facts, &env);
	if (lang_marker_evaluate(requirement->marker, &env, NULL, &holds, err) < 0)
		return -1;
	lang_marker_free(requirement->marker);
	requirement->marker = NULL;
	return holds;
}

/* "six==1.16.0 sha256:AA sha256:BB" as "--hash=sha256:AA --hash=sha256:BB" for that name. */
static void
add_hashes(const struct lang_requirement *requirement, const struct pkg_argv *hashes,
	struct pkg_buf *out)
{
	for (size_t i = 0; hashes && i < hashes->count; i++) {
		lang_cleanup_requirement struct lang_requirement of = { 0 };
		const char *line = hashes->items[i];
		size_t name_len = strcspn(line, " \t");
		const char *hash = line + name_len;

		if (lang_requirement_parse_mem(line, name_len, &of, NULL) < 0 ||
			strcmp(of.normalized, requirement->normalized) != 0)
			continue;
		while ((hash = strstr(hash, "sha256:"))) {
			size_t len = strspn(hash + 7, "0123456789abcdef");

			if (len == 64)
				pkg_buf_addf(out, " --hash=sha256:%.64s", hash + 7);
			hash += 7 + len;
		}
	}
}

static int
add_line(const struct lang_request *request, const char *text, bool constraint,
	struct json_object *facts, struct pkg_buf *out, size_t *count, struct pkg_error *err)
{
	lang_cleanup_requirement struct lang_requirement requirement = { 0 };
	pkg_autofree char *line = NULL;
	int counts;

	if (lang_requirement_parse(text, &requirement, err) < 0)
		return -1;
	counts = apply_marker(&requirement, facts, err);
	if (counts <= 0)
		return counts;
	if (check_kind(&requirement, request->source, err) < 0)
		return -1;
	if (requirement.url) {
		char *encoded = encode(requirement.url);

		free(requirement.url);
		requirement.url = encoded;
	}
	if (constraint) {
		/* A constraint limits a version, whatever was asked for with it. */
		pkg_argv_free(requirement.extras);
		requirement.extras = pkg_argv_new();
	}
	line = lang_requirement_text(&requirement);
	pkg_buf_add(out, line);
	add_hashes(&requirement, request->hashes, out);
	pkg_buf_add_char(out, '\n');
	(*count)++;
	return 0;
}

int
lang_python_requirement_lines(const struct lang_request *request, struct json_object *facts,
	struct pkg_buf *out, size_t *count, struct pkg_error *err)
{
	*count = 0;
	for (size_t i = 0; i < request->requirements->count; i++)
		if (add_line(request, request->requirements->items[i], false, facts, out, count,
			    err) < 0)
			return -1;
	return 0;
}

int
lang_python_constraint_lines(const struct lang_request *request, struct json_object *facts,
	struct pkg_buf *out, struct pkg_error *err)
{
	size_t count = 0;

	for (size_t i = 0; request->constraints && i < request->constraints->count; i++)
		if (add_line(request, request->constraints->items[i], true, facts, out, &count,
			    err) < 0)
			return -1;
	return 0;
}

/* --- credentials --- */

static int
refuse_url(const char *text, struct pkg_error *err)
{
	pkg_cleanup_url struct pkg_url url = { 0 };

	if (pkg_url_parse(text, &url, err) < 0)
		return -1;
	if (!url.user && !url.password)
		return 0;
	pkg_error_set(err, PKG_E_UNSUPPORTED,
		"source distributions run their own code, which could read the credentials for %s",
		url.host);
	return pkg_error_cure(err, "leave --source out, or use an index that needs no credentials");
}

int
lang_python_refuse_credentials(const struct lang_request *request, struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *indexes = lang_python_indexes(request);

	for (size_t i = 0; i < indexes->count; i++)
		if (refuse_url(indexes->items[i], err) < 0)
			return -1;
	for (size_t i = 0; request->requirements && i < request->requirements->count; i++) {
		lang_cleanup_requirement struct lang_requirement requirement = { 0 };

		if (lang_requirement_parse(request->requirements->items[i], &requirement, err) < 0)
			return -1;
		if (requirement.kind == LANG_REQUIREMENT_URL &&
			refuse_url(requirement.url, err) < 0)
			return -1;
	}
	return 0;
}
