#include "install/card.h"

#include <string.h>

#include "core/text.h"
#include "core/url.h"

#define FIELD_MAX 200
#define REASONS_MAX 12

static void
add_clean(struct pkg_buf *out, const char *text, size_t max)
{
	pkg_autofree char *clean = NULL;

	if (text == NULL)
		text = "?";
	clean = pkg_text_clean(text, strlen(text), max, false);
	pkg_buf_add(out, clean);
}

static void
add_list(struct pkg_buf *out, struct json_object *array, size_t max_items)
{
	size_t count = array != NULL ? json_object_array_length(array) : 0;

	for (size_t i = 0; i < count && i < max_items; i++) {
		if (i > 0)
			pkg_buf_add(out, " ");
		add_clean(out, json_object_get_string(json_object_array_get_idx(array, i)),
			FIELD_MAX);
	}
	if (count > max_items)
		pkg_buf_addf(out, " and %zu more", count - max_items);
}

char *
install_card_title(struct json_object *plan)
{
	struct pkg_buf out = { 0 };
	struct json_object *requested = pkg_json_array(plan, "requested");
	struct json_object *to = pkg_json_get(plan, "switch_to");
	const char *action = pkg_json_str_or(plan, "action", "change");

	add_clean(&out, action, 20);
	if (to != NULL)
		pkg_buf_addf(&out, " to generation %lld", (long long)json_object_get_int64(to));
	if (requested != NULL && json_object_array_length(requested) > 0) {
		pkg_buf_add(&out, " ");
		add_list(&out, requested, 8);
		pkg_buf_add(&out, strcmp(action, "remove") == 0 ? " from " : " into ");
	} else {
		pkg_buf_add(&out, to != NULL ? " in " : " ");
	}
	add_clean(&out, pkg_json_str(plan, "project"), 64);
	pkg_buf_add(&out, "/");
	add_clean(&out, pkg_json_str(plan, "environment"), 64);
	pkg_buf_add(&out, " (");
	add_clean(&out, pkg_json_str(plan, "language"), 16);
	pkg_buf_add(&out, ")");
	return pkg_buf_steal(&out);
}

static const struct mark {
	const char *change;
	const char *sign;
	const char *sgr;
} marks[] = {
	{ "added", "+", "32" }, { "upgraded", "\xe2\x86\x91", "33" },
	{ "downgraded", "\xe2\x86\x93", "33" }, { "reinstalled", "=", "33" },
	{ "removed", "\xe2\x88\x92", "31" },
	{ "?", "?", "31" }, /* a word that is not known; last */
};

static const struct mark *
find_mark(const char *change)
{
	for (size_t i = 0; i < PKG_ARRAY_LEN(marks); i++)
		if (change != NULL && strcmp(marks[i].change, change) == 0)
			return &marks[i];
	return &marks[PKG_ARRAY_LEN(marks) - 1];
}

static void
add_origin(struct pkg_buf *out, struct json_object *change)
{
	const char *index = pkg_json_str(change, "index");
	const char *url = pkg_json_str(change, "url");
	int64_t size = pkg_json_int(change, "size", -1);

	if (size >= 0) {
		pkg_autofree char *bytes = pkg_text_bytes(size);

		pkg_buf_addf(out, "  %s", bytes);
	}
	if (index != NULL) {
		pkg_autofree char *shown = pkg_url_short(index);

		pkg_buf_add(out, "  ");
		add_clean(out, shown, FIELD_MAX);
	} else if (url != NULL) {
		pkg_autofree char *shown = pkg_url_redact(url);

		pkg_buf_add(out, "  from the URL ");
		add_clean(out, shown, 1000);
	}
	if (pkg_json_str(change, "source") != NULL &&
		strcmp(pkg_json_str(change, "source"), "sdist") == 0)
		pkg_buf_add(out, "  SOURCE: its build code runs in the build sandbox");
	if (pkg_json_bool(change, "yanked", false))
		pkg_buf_add(out, "  YANKED");
	if (pkg_json_bool(change, "requested", false))
		pkg_buf_add(out, "  asked for");
}

/* What exactly: a second line, so that the first stays readable. */
static void
add_file(struct pkg_buf *out, struct json_object *change)
{
	const char *file = pkg_json_str(change, "file");
	const char *sha256 = pkg_json_str(change, "sha256");
	const char *uploaded = pkg_json_str(change, "uploaded");
	const char *lacking = pkg_json_str(change, "system_note");

	if (file == NULL && sha256 == NULL && uploaded == NULL)
		return;
	pkg_buf_add(out, "     ");
	if (file != NULL) {
		pkg_buf_add(out, " ");
		add_clean(out, file, FIELD_MAX);
	}
	if (sha256 != NULL) {
		pkg_buf_add(out, " sha256:");
		add_clean(out, sha256, 64);
	}
	if (uploaded != NULL) {
		pkg_buf_add(out, " uploaded ");
		add_clean(out, uploaded, 40);
	}
	pkg_buf_add(out, "\n");
	if (lacking == NULL)
		return;
	pkg_buf_add(out, "      the system lacks something: ");
	add_clean(out, lacking, 1000);
	pkg_buf_add(out, "\n");
}

static void
add_change(struct pkg_buf *out, struct json_object *change, bool colour)
{
	const struct mark *mark = find_mark(pkg_json_str(change, "change"));
	const char *from = pkg_json_str(change, "from");
	const char *to = pkg_json_str(change, "to");

	if (colour)
		pkg_buf_addf(out, "  \033[%sm%s\033[0m ", mark->sgr, mark->sign);
	else
		pkg_buf_addf(out, "  %s ", mark->sign);
	add_clean(out, pkg_json_str(change, "name"), FIELD_MAX);
	pkg_buf_add(out, " ");
	if (from != NULL)
		add_clean(out, from, 100);
	if (from != NULL && to != NULL)
		pkg_buf_add(out, " -> ");
	if (to != NULL)
		add_clean(out, to, 100);
	if (to != NULL)
		add_origin(out, change);
	pkg_buf_add(out, "\n");
	if (to != NULL)
		add_file(out, change);
}

char *
install_card_verdict(struct json_object *restart)
{
	struct pkg_buf out = { 0 };
	struct json_object *reasons = pkg_json_array(restart, "reasons");
	size_t count = reasons != NULL ? json_object_array_length(reasons) : 0;
	size_t told = 0;

	if (pkg_json_bool(restart, "additive", false)) {
		pkg_buf_add(&out, "additive: running kernels keep everything they have");
		return pkg_buf_steal(&out);
	}
	pkg_buf_add(&out, "not additive, running kernels are due a restart:");
	for (size_t i = 0; i < count; i++) {
		struct json_object *row = json_object_array_get_idx(reasons, i);
		const char *detail = pkg_json_str(row, "detail");

		if (strcmp(pkg_json_str_or(row, "reason", ""), "added") == 0 ||
			told++ >= REASONS_MAX)
			continue;
		pkg_buf_add(&out, told == 1 ? " " : "; ");
		add_clean(&out, pkg_json_str(row, "name"), 100);
		pkg_buf_add(&out, " ");
		add_clean(&out, pkg_json_str(row, "reason"), 40);
		if (detail != NULL) {
			pkg_buf_add(&out, " (");
			add_clean(&out, detail, FIELD_MAX);
			pkg_buf_add(&out, ")");
		}
	}
	if (told == 0)
		pkg_buf_add(&out, " another generation becomes current");
	else if (told > REASONS_MAX)
		pkg_buf_addf(&out, "; and %zu more", told - REASONS_MAX);
	return pkg_buf_steal(&out);
}

static void
add_requester(struct pkg_buf *out, struct json_object *requester)
{
	const char *label = pkg_json_str(requester, "label");
	const char *reason = pkg_json_str(requester, "reason");

	pkg_buf_addf(out, "asked by uid %lld, ", (long long)pkg_json_int(requester, "uid", -1));
	add_clean(out, pkg_json_str_or(requester, "program", "?"), 64);
	pkg_buf_addf(out, " (pid %lld)", (long long)pkg_json_int(requester, "pid", -1));
	if (label != NULL && *label != '\0') {
		pkg_buf_add(out, ", label ");
		add_clean(out, label, 64);
	}
	if (reason != NULL && *reason != '\0') {
		pkg_buf_add(out, "\nreason given: ");
		add_clean(out, reason, 500);
	}
	pkg_buf_add(out, "\n");
}

static void
add_totals(struct pkg_buf *out, struct json_object *plan, size_t count)
{
	pkg_autofree char *bytes = pkg_text_bytes(pkg_json_int(plan, "download_bytes", 0));
	pkg_autofree char *verdict = install_card_verdict(pkg_json_get(plan, "restart"));

	pkg_buf_addf(out, "%zu %s, %s in files\n", count, count == 1 ? "change" : "changes", bytes);
	pkg_buf_addf(out, "%s\n", verdict);
}

char *
install_card_text(struct json_object *plan, struct json_object *requester, bool colour)
{
	struct pkg_buf out = { 0 };
	pkg_autofree char *title = install_card_title(plan);
	struct json_object *changes = pkg_json_array(plan, "changes");
	struct json_object *creates = pkg_json_get(plan, "creates");
	size_t count = changes != NULL ? json_object_array_length(changes) : 0;

	pkg_buf_addf(&out, "%s\n", title);
	if (requester != NULL)
		add_requester(&out, requester);
	if (creates != NULL) {
		pkg_buf_add(&out, "creates the environment with ");
		add_clean(&out, pkg_json_str(creates, "interpreter"), 300);
		pkg_buf_add(
			&out, pkg_json_bool(creates, "hermetic", false) ? ", hermetic\n" : "\n");
	}
	for (size_t i = 0; i < count; i++)
		add_change(&out, json_object_array_get_idx(changes, i), colour);
	add_totals(&out, plan, count);
	return pkg_buf_steal(&out);
}
