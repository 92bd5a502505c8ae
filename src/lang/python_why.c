#include "lang/python_why.h"

#include <stdlib.h>
#include <string.h>

#include "core/url.h"
#include "lang/python_candidates.h"
#include "lang/python_explain.h"
#include "lang/python_facts.h"

static struct json_object *
file_row(const struct lang_simple_file *file)
{
	struct json_object *row = json_object_new_object();

	pkg_json_set_str(row, "filename", file->filename);
	if (file->requires_python)
		pkg_json_set_str(row, "requires_python", file->requires_python);
	pkg_json_set_bool(row, "yanked", file->yanked);
	return row;
}

static bool
is_too_new(const struct lang_simple_file *file, int64_t cutoff)
{
	int64_t when = file->uploaded ? lang_python_cutoff_parse(file->uploaded) : -1;

	return cutoff >= 0 && when > cutoff;
}

/* *held_back: files that only their date excludes. Given. */
static struct json_object *
page_rows(const struct lang_simple_page *page, int64_t cutoff, size_t *held_back)
{
	struct json_object *files = json_object_new_array();
	struct json_object *out = json_object_new_object();

	for (size_t i = 0; i < page->count; i++) {
		if (is_too_new(&page->files[i], cutoff))
			(*held_back)++;
		else
			json_object_array_add(files, file_row(&page->files[i]));
	}
	pkg_json_set(out, "files", files);
	return out;
}

int
lang_python_why_nothing_fits(const struct lang_python_why *why, struct pkg_error *err)
{
	struct lang_python_answer *answers = pkg_xcalloc(why->index_count + 1, sizeof(*answers));
	const char *date = why->request->exclude_newer;
	int64_t cutoff = date ? lang_python_cutoff_parse(date) : -1;
	struct lang_python_failure failure = {
		.tool = "pkgd",
		.status = 1,
		.log = "",
		.answers = answers,
		.answer_count = why->index_count,
		.python = lang_python_version(why->facts),
		.source = why->request->source,
		.prerelease = why->request->prerelease,
		.missing = why->requirement,
		.needed_by = why->needed_by,
	};
	size_t held_back = 0;

	for (size_t i = 0; i < why->index_count; i++) {
		const struct lang_python_why_index *index = &why->indexes[i];

		answers[i].index = pkg_url_redact(index->url);
		answers[i].page = index->page ? page_rows(index->page, cutoff, &held_back) : NULL;
		pkg_error_copy(&answers[i].error, &index->error);
	}
	(void)lang_python_explain_not_found(&failure, err);
	if (held_back > 0)
		(void)pkg_error_prefix(err, "nothing newer than %s", date);
	for (size_t i = 0; i < why->index_count; i++) {
		free((char *)answers[i].index);
		json_object_put(answers[i].page);
		pkg_error_clear(&answers[i].error);
	}
	free(answers);
	return -1;
}
