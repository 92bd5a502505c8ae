#include "install/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/fault.h"
#include "core/file.h"
#include "core/path.h"
#include "core/time.h"

static void
add_op(struct json_object *ops, const char *verb, const char *a, const char *b)
{
	struct json_object *op = json_object_new_array();

	json_object_array_add(op, json_object_new_string(verb));
	json_object_array_add(op, json_object_new_string(a));
	if (b != NULL)
		json_object_array_add(op, json_object_new_string(b));
	json_object_array_add(ops, op);
}

void
install_journal_op_move(struct json_object *ops, const char *from, const char *to)
{
	add_op(ops, "move", from, to);
}

void
install_journal_op_point(struct json_object *ops, const char *link, const char *target)
{
	add_op(ops, "point", link, target);
}

void
install_journal_op_unpoint(struct json_object *ops, const char *link)
{
	add_op(ops, "unpoint", link, NULL);
}

void
install_journal_op_trash(struct json_object *ops, const char *path)
{
	add_op(ops, "trash", path, NULL);
}

/* --- the steps --- */

static bool
is_there(int data, const char *path)
{
	return faccessat(data, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static int
make_parent(int data, const char *path, struct pkg_error *err)
{
	pkg_autofree char *parent = pkg_path_dir(path);

	return pkg_dir_make_at(data, parent, 0755, err);
}

/* generations/ENV/NUMBER itself, not a path inside of it. */
static bool
is_generation(const char *path)
{
	size_t slashes = 0;

	for (const char *p = path; *p != '\0'; p++)
		slashes += *p == '/';
	return slashes == 2 && strncmp(path, "generations/", strlen("generations/")) == 0;
}

static int
is_taken(const char *to, struct pkg_error *err)
{
	if (!is_generation(to))
		return pkg_error_set(err, PKG_E_PATH_CLASH,
			"%s appeared in the environment while the change was made", to);
	pkg_error_set(err, PKG_E_PATH_CLASH,
		"%s is on disk already, and the database knows no such tree", to);
	return pkg_error_cure(err,
		"move %s out of pkgd's data directory (another database made it), then ask again",
		to);
}

static int
step_move(int data, const char *from, const char *to, struct pkg_error *err)
{
	/* Done before: a kill came between this rename and the end of the journal. */
	if (!is_there(data, from) && is_there(data, to))
		return 0;
	if (make_parent(data, to, err) < 0)
		return -1;
	if (renameat2(data, from, data, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno == EEXIST)
		return is_taken(to, err);
	return pkg_error_errno(err, errno, "move %s to %s", from, to);
}

static int
step_point(int data, const char *link, const char *target, struct pkg_error *err)
{
	/* No environment can have this name: theirs begin with a letter or digit. */
	pkg_autofree char *parent = pkg_path_dir(link);
	pkg_autofree char *temporary = pkg_xasprintf("%s/.%s.new", parent, pkg_path_base(link));

	if (make_parent(data, link, err) < 0)
		return -1;
	if (unlinkat(data, temporary, 0) < 0 && errno != ENOENT)
		return pkg_error_errno(err, errno, "remove %s", temporary);
	if (symlinkat(target, data, temporary) < 0)
		return pkg_error_errno(err, errno, "make %s", temporary);
	if (renameat(data, temporary, data, link) == 0)
		return 0;
	pkg_error_errno(err, errno, "switch %s", link);
	(void)unlinkat(data, temporary, 0);
	return -1;
}

static int
step_unpoint(int data, const char *link, struct pkg_error *err)
{
	if (unlinkat(data, link, 0) < 0 && errno != ENOENT)
		return pkg_error_errno(err, errno, "remove %s", link);
	return 0;
}

static int
step_trash(int data, const char *path, struct pkg_error *err)
{
	static unsigned serial;
	pkg_autofree char *aside = pkg_xasprintf(
		"trash/%" PRId64 "-%d-%u", pkg_time_now_ms(), (int)getpid(), serial++);

	if (!is_there(data, path))
		return 0;
	if (pkg_dir_make_at(data, "trash", 0700, err) < 0)
		return -1;
	if (renameat(data, path, data, aside) < 0)
		return pkg_error_errno(err, errno, "move %s aside", path);
	return 0;
}

static const char *
op_word(struct json_object *op, size_t index)
{
	struct json_object *word = json_object_array_get_idx(op, index);

	return word != NULL ? json_object_get_string(word) : "";
}

static int
do_step(int data, struct json_object *op, struct pkg_error *err)
{
	const char *verb = op_word(op, 0);
	const char *a = op_word(op, 1);
	const char *b = op_word(op, 2);
	int injected = PKG_FAULT("commit-step");

	if (injected != 0)
		return pkg_error_errno(err, injected, "%s %s", verb, a);
	if (!pkg_path_is_confined(a, strlen(a)))
		return pkg_error_set(err, PKG_E_INTERNAL, "journal names a path outside: %s", a);
	if (strcmp(verb, "move") == 0 && pkg_path_is_confined(b, strlen(b)))
		return step_move(data, a, b, err);
	if (strcmp(verb, "point") == 0)
		return step_point(data, a, b, err);
	if (strcmp(verb, "unpoint") == 0)
		return step_unpoint(data, a, err);
	if (strcmp(verb, "trash") == 0)
		return step_trash(data, a, err);
	return pkg_error_set(err, PKG_E_INTERNAL, "journal step '%s' is not known", verb);
}

/* Only moves are undone; a failed "point" left the old link alone. */
static void
undo_steps(int data, struct json_object *ops, size_t done)
{
	while (done-- > 0) {
		struct json_object *op = json_object_array_get_idx(ops, done);

		if (strcmp(op_word(op, 0), "move") != 0)
			continue;
		if (!is_there(data, op_word(op, 1)))
			(void)renameat2(
				data, op_word(op, 2), data, op_word(op, 1), RENAME_NOREPLACE);
	}
}

/* The renames reach the disk before the rows that speak of them. */
static int
sync_targets(const struct pkg_home *home, struct pkg_error *err)
{
	return pkg_fs_sync(home->data, err);
}

/* 0 done; -1 undone; 1 no way back any more, the rest is still to be done: a link that was switched must not lead to
 * a tree that an undo took away. */
static int
do_steps(const struct pkg_home *home, struct json_object *ops, struct pkg_error *err)
{
	pkg_autofd int data = pkg_dir_open(home->data, err);
	size_t count = json_object_array_length(ops);
	bool reversible = true;
	size_t done;

	if (data < 0)
		return 1; /* what a run before this one did is not known here */
	for (done = 0; done < count; done++) {
		struct json_object *op = json_object_array_get_idx(ops, done);

		if (do_step(data, op, err) < 0)
			break;
		reversible = reversible && strcmp(op_word(op, 0), "move") == 0;
	}
	if (done == count && sync_targets(home, err) == 0)
		return 0;
	if (!reversible)
		return 1;
	undo_steps(data, ops, done);
	return -1;
}

/* --- the rows --- */

static void
package_to_json(struct json_object *array, const struct store_package *package)
{
	struct json_object *row = json_object_new_object();

	pkg_json_set_str(row, "name", package->name);
	pkg_json_set_str(row, "key", package->key);
	pkg_json_set_str(row, "version", package->version);
	pkg_json_set_str(row, "requirement", package->requirement);
	pkg_json_set_bool(row, "owned", package->owned);
	pkg_json_set_str(row, "location", package->location);
	pkg_json_set_str(row, "sha256", package->sha256);
	pkg_json_set_str(row, "file", package->file);
	pkg_json_set_str(row, "url", package->url);
	pkg_json_set_str(row, "index", package->index);
	pkg_json_set_str(row, "source", package->source);
	json_object_array_add(array, row);
}

struct json_object *
install_packages_to_json(const struct store_package_list *list)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < list->count; i++)
		package_to_json(array, &list->items[i]);
	return array;
}

int
install_packages_from_json(
	struct json_object *array, struct store_package_list *out, struct pkg_error *err)
{
	size_t count;

	if (!json_object_is_type(array, json_type_array))
		return pkg_error_set(err, PKG_E_INVALID, "no list of packages is there");
	count = json_object_array_length(array);
	for (size_t i = 0; i < count; i++) {
		struct json_object *row = json_object_array_get_idx(array, i);
		struct store_package *package;

		if (pkg_json_need_str(row, "name", err) == NULL ||
			pkg_json_need_str(row, "key", err) == NULL ||
			pkg_json_need_str(row, "version", err) == NULL)
			return pkg_error_prefix(err, "list of packages");
		package = store_package_list_add(out);
		package->name = pkg_xstrdup(pkg_json_str(row, "name"));
		package->key = pkg_xstrdup(pkg_json_str(row, "key"));
		package->version = pkg_xstrdup(pkg_json_str(row, "version"));
		package->requirement = pkg_xstrdup(pkg_json_str(row, "requirement"));
		package->owned = pkg_json_bool(row, "owned", false);
		package->location = pkg_xstrdup(pkg_json_str(row, "location"));
		package->sha256 = pkg_xstrdup(pkg_json_str(row, "sha256"));
		package->file = pkg_xstrdup(pkg_json_str(row, "file"));
		package->url = pkg_xstrdup(pkg_json_str(row, "url"));
		package->index = pkg_xstrdup(pkg_json_str(row, "index"));
		package->source = pkg_xstrdup(pkg_json_str(row, "source"));
	}
	return 0;
}

static struct json_object *
after_to_json(const struct install_after *after)
{
	struct json_object *json = json_object_new_object();

	pkg_json_set_int(json, "job", after->job);
	pkg_json_set_int(json, "env", after->env);
	pkg_json_set(json, "new_env", json_object_get(after->new_env));
	pkg_json_set_str(json, "facts", after->facts);
	pkg_json_set_int(json, "generation", after->generation);
	pkg_json_set_int(json, "revision", after->revision);
	pkg_json_set_bool(json, "new_generation", after->new_generation);
	pkg_json_set_bool(json, "delete_env", after->delete_env);
	pkg_json_set(json, "packages", json_object_get(after->packages));
	pkg_json_set(json, "retire", json_object_get(after->retire));
	pkg_json_set(json, "history", json_object_get(after->history));
	pkg_json_set(json, "result", json_object_get(after->result));
	return json;
}

static int
write_new_env(struct store *store, struct json_object *after, struct pkg_error *err)
{
	struct json_object *row = pkg_json_get(after, "new_env");
	struct store_env env = { 0 }; /* borrows from the JSON */

	if (row == NULL)
		return 0;
	env.id = pkg_json_int(after, "env", 0);
	env.project = (char *)pkg_json_str(row, "project");
	env.language = (char *)pkg_json_str(row, "language");
	env.name = (char *)pkg_json_str(row, "name");
	env.prefix = (char *)pkg_json_str(row, "prefix");
	env.facts = (char *)pkg_json_str(after, "facts");
	env.hermetic = pkg_json_bool(row, "hermetic", false);
	env.generation = pkg_json_int(after, "generation", 1);
	env.created_ms = env.updated_ms = pkg_time_now_ms();
	return store_env_insert(store, &env, err);
}

static int
write_generation(struct store *store, struct json_object *after, struct pkg_error *err)
{
	int64_t env = pkg_json_int(after, "env", 0);
	int64_t generation = pkg_json_int(after, "generation", 0);
	int64_t revision = pkg_json_int(after, "revision", 0);
	struct json_object *packages = pkg_json_array(after, "packages");
	struct json_object *retire = pkg_json_array(after, "retire");
	pkg_cleanup_store_package_list struct store_package_list list = { 0 };

	if (pkg_json_bool(after, "new_generation", false) &&
		store_generation_insert(
			store, env, generation, pkg_json_int(after, "job", 0), err) < 0)
		return -1;
	if (store_generation_set_revision(store, env, generation, revision, err) < 0 ||
		store_env_set_current(
			store, env, generation, revision, pkg_json_str(after, "facts"), err) < 0)
		return -1;
	for (size_t i = 0; retire != NULL && i < json_object_array_length(retire); i++)
		if (store_generation_retire(store, env,
			    json_object_get_int64(json_object_array_get_idx(retire, i)), err) < 0)
			return -1;
	if (packages == NULL)
		return 0;
	if (install_packages_from_json(packages, &list, err) < 0)
		return -1;
	store_package_list_sort(&list);
	return store_packages_set(store, env, generation, &list, err);
}

static int
write_history(struct store *store, struct json_object *after, struct pkg_error *err)
{
	struct json_object *row = pkg_json_get(after, "history");
	pkg_autofree char *asked = NULL;
	pkg_autofree char *changes = NULL;
	struct store_history history = { 0 }; /* borrows */

	if (row == NULL)
		return 0;
	asked = pkg_json_line(pkg_json_get(row, "asked"));
	changes = pkg_json_line(pkg_json_get(row, "changes"));
	history.env = pkg_json_int(after, "env", 0);
	history.job = pkg_json_int(after, "job", 0);
	history.time_ms = pkg_time_now_ms();
	history.action = (char *)pkg_json_str(row, "action");
	history.asked = asked;
	history.uid = pkg_json_int(row, "uid", -1);
	history.label = (char *)pkg_json_str_or(row, "label", "");
	history.plan_hash = (char *)pkg_json_str(row, "plan_hash");
	history.result = (char *)"done";
	history.generation = pkg_json_int(after, "generation", 0);
	history.revision = pkg_json_int(after, "revision", 0);
	history.changes = changes;
	return store_history_add(store, &history, err);
}

/* The claim of the job, whoever holds it now. */
static int
end_claim(struct store *store, int64_t job, struct pkg_error *err)
{
	pkg_cleanup_store_claim_list struct store_claim_list claims = { 0 };

	if (store_claim_unfinished(store, &claims, err) < 0)
		return -1;
	for (size_t i = 0; i < claims.count; i++)
		if (claims.items[i].job == job &&
			store_claim_end(store, claims.items[i].id, "finished", err) < 0)
			return -1;
	return 0;
}

/* Somebody may have ended it meanwhile (a cancel that found no worker); the change is made all the same, and an end
 * that could never be written would block the environment for ever. */
static int
end_job(struct store *store, int64_t id, const char *result, struct pkg_error *err)
{
	pkg_cleanup_store_job struct store_job job = { 0 };

	if (store_job_get(store, id, &job, err) < 0)
		return -1;
	if (store_job_state_ended(job.state))
		return 0;
	return store_job_end(store, id, STORE_JOB_DONE, result, err);
}

static int
write_rows_inside(struct store *store, struct json_object *after, struct pkg_error *err)
{
	int64_t env = pkg_json_int(after, "env", 0);
	int64_t job = pkg_json_int(after, "job", 0);
	pkg_autofree char *result = pkg_json_line(pkg_json_get(after, "result"));

	if (write_new_env(store, after, err) < 0)
		return -1;
	if (pkg_json_bool(after, "delete_env", false)) {
		if (store_env_delete(store, env, err) < 0)
			return -1;
	} else if (write_generation(store, after, err) < 0) {
		return -1;
	}
	if (write_history(store, after, err) < 0 || end_job(store, job, result, err) < 0 ||
		store_audit_add(store, "result", result, err) < 0 || end_claim(store, job, err) < 0)
		return -1;
	return store_journal_remove(store, env, err);
}

static int
write_rows(struct store *store, struct json_object *after, struct pkg_error *err)
{
	int injected = PKG_FAULT("commit-rows");

	if (injected != 0)
		return pkg_error_errno(err, injected, "write the result");
	if (store_begin(store, err) < 0)
		return -1;
	if (write_rows_inside(store, after, err) < 0 || store_commit(store, err) < 0) {
		store_rollback(store);
		return -1;
	}
	return 0;
}

static int
complete_parsed(const struct pkg_home *home, struct store *store, int64_t env,
	struct json_object *ops, struct json_object *after, struct pkg_error *err)
{
	int rc = do_steps(home, ops, err);

	if (rc > 0)
		return 1;
	/* Undone: the row must go too. While it stands the change is decided, whatever was said of it. */
	if (rc < 0)
		return store_journal_remove(store, env, NULL) < 0 ? 1 : -1;
	(void)PKG_FAULT("commit-stepped");
	/* The change is made and the journal says so; only its rows are missing (a full disk, say). Whoever
	 * comes next writes them. */
	return write_rows(store, after, err) < 0 ? 1 : 0;
}

int
install_journal_complete(const struct pkg_home *home, struct store *store,
	const struct store_journal *journal, struct pkg_error *err)
{
	pkg_cleanup(pkg_json_put) struct json_object *ops =
		pkg_json_parse(journal->ops, strlen(journal->ops), err);
	pkg_cleanup(pkg_json_put) struct json_object *after = NULL;

	if (ops == NULL)
		return pkg_error_prefix(err, "journal of environment %" PRId64, journal->env);
	after = pkg_json_parse(journal->after, strlen(journal->after), err);
	if (after == NULL)
		return pkg_error_prefix(err, "journal of environment %" PRId64, journal->env);
	return complete_parsed(home, store, journal->env, ops, after, err);
}

static int
check_new_env(struct store *store, const struct install_after *after, struct pkg_error *err)
{
	struct store_env_key key = { pkg_json_str(after->new_env, "project"),
		pkg_json_str(after->new_env, "language"), pkg_json_str(after->new_env, "name") };
	pkg_cleanup_store_env struct store_env there = { 0 };
	pkg_cleanup_error struct pkg_error why = { 0 };

	if (after->new_env == NULL)
		return 0;
	if (store_env_get(store, &key, &there, &why) == 0)
		return pkg_error_set(err, PKG_E_EXISTS,
			"environment '%s' was made by another job meanwhile", key.name);
	if (why.kind != PKG_E_NOT_FOUND) {
		pkg_error_move(err, &why);
		return -1;
	}
	return store_env_check_name(store, &key, err);
}

int
install_journal_commit(const struct pkg_home *home, struct store *store, const char *kind,
	struct json_object *ops, const struct install_after *after, struct pkg_error *err)
{
	pkg_cleanup(pkg_json_put) struct json_object *rows = after_to_json(after);
	pkg_autofree char *ops_text = pkg_json_line(ops);
	pkg_autofree char *rows_text = pkg_json_line(rows);
	struct store_journal journal = {
		.env = after->env,
		.job = after->job,
		.kind = (char *)kind,
		.ops = ops_text,
		.after = rows_text,
		.created_ms = pkg_time_now_ms(),
	};
	int injected = PKG_FAULT("commit-before");

	if (injected != 0)
		return pkg_error_errno(err, injected, "write the journal");
	/* The row of the environment could never be written, and its link would be another's. */
	if (check_new_env(store, after, err) < 0)
		return -1;
	/* What the steps will move must be on disk before anything says that it is. */
	if (pkg_fs_sync(home->data, err) < 0 || store_journal_write(store, &journal, err) < 0)
		return -1;
	(void)PKG_FAULT("commit-journalled");
	return complete_parsed(home, store, after->env, ops, rows, err);
}
