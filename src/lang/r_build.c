/* Builds in their order, as many at a time as there are processors. Each sees its tarball, the
 * packages it needs and nothing else of ours, all read-only, and writes into its own empty
 * directory; there is no network. R CMD INSTALL's exit status and words explain a failure; what
 * decides is what lies in that directory afterwards. */
#include "lang/r_build.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "core/path.h"
#include "core/tree.h"
#include "lang/r.h"
#include "lang/r_explain.h"
#include "lang/r_run.h"

#define WORK "/job"
#define DEPS "/deps"
#define SOURCE "/src"
#define LOG_MAX (1024 * 1024)
#define THREADS_MAX 64

enum state { WAITING, RUNNING, BUILT };

struct builder {
	struct lang_context *lang;
	const struct lang_env *env;
	struct lang_r_units *units;
	struct lang_r_sysreqs *sysreqs;
	enum state *states; /* owned; one for each unit */
	size_t to_build;
	size_t started;
	int cores;
	pthread_mutex_t lock; /* over states, counts, failure and the callbacks of lang */
	pthread_cond_t turn;
	bool failed;
	struct pkg_error failure; /* the first */
};

/* --- what a build prints --- */

struct listener {
	struct builder *builder;
	struct pkg_buf log;
	struct pkg_buf partial; /* a line that has not ended */
};

/* The end of a log explains; of a very long one the beginning goes. */
static void
keep(struct pkg_buf *log, const char *data, size_t len)
{
	if (log->len + len > LOG_MAX)
		pkg_buf_consume(log, log->len / 2);
	pkg_buf_add_mem(log, data, len < LOG_MAX / 2 ? len : LOG_MAX / 2);
}

static void
on_output(void *context, PKG_UNUSED int stream, const char *data, size_t len)
{
	struct listener *listener = context;
	struct builder *builder = listener->builder;
	const char *last;
	size_t whole;

	keep(&listener->log, data, len);
	keep(&listener->partial, data, len);
	last = memrchr(pkg_buf_str(&listener->partial), '\n', listener->partial.len);
	if (!last || !builder->lang->output)
		return;
	whole = (size_t)(last + 1 - listener->partial.data);
	pthread_mutex_lock(&builder->lock);
	builder->lang->output(builder->lang->context, listener->partial.data, whole);
	pthread_mutex_unlock(&builder->lock);
	pkg_buf_consume(&listener->partial, whole);
}

/* Another's failure ends this one: nothing of it would be used. */
static int
on_tick(void *context, PKG_UNUSED pid_t pid)
{
	const struct listener *listener = context;
	struct builder *builder = listener->builder;
	bool stop;

	pthread_mutex_lock(&builder->lock);
	stop = builder->failed;
	pthread_mutex_unlock(&builder->lock);
	return stop;
}

/* --- one build --- */

static int
show_deps(const struct builder *builder, const struct lang_r_unit *unit, struct lang_mounts *mounts,
	struct pkg_error *err)
{
	for (size_t i = 0; i < unit->dep_count; i++) {
		const struct lang_r_dep *dep = &unit->deps[i];
		pkg_autofree char *target = pkg_path_join(DEPS, dep->name);
		pkg_autofree char *built = NULL;
		pkg_autofree char *tree = NULL;

		if (dep->path) {
			lang_mounts_add(mounts, SANDBOX_MOUNT_RO, dep->path, target);
			continue;
		}
		if (dep->unit < 0)
			continue;
		built = lang_r_built_path(
			builder->lang->home, builder->units->items[dep->unit].dist);
		if (!built)
			return pkg_error_set(err, PKG_E_INTERNAL, "%s is not built", dep->name);
		tree = pkg_path_join(built, "tree");
		lang_mounts_add(mounts, SANDBOX_MOUNT_RO, tree, target);
	}
	return 0;
}

static void
add_command(const struct builder *builder, const struct lang_r_unit *unit, const char *library,
	struct pkg_argv *command)
{
	pkg_argv_add(command, lang_r_program(builder->env->facts), "CMD", "INSTALL",
		"--no-test-load", "--no-html", "--no-multiarch");
	pkg_argv_addf(command, "--library=%s", library);
	pkg_argv_addf(command, SOURCE "/%s", unit->dist->file);
}

static void
add_variables(const struct builder *builder, bool parallel, struct pkg_argv *variables)
{
	/* Every library of the site that counts is among the dependencies. */
	lang_r_environment(builder->env->facts, DEPS, true, variables);
	pkg_argv_add(variables, "TMPDIR=" WORK "/tmp", "TMP=" WORK "/tmp", "TEMP=" WORK "/tmp",
		"LC_ALL=C.UTF-8");
	pkg_argv_addf(variables, "MAKEFLAGS=-j%d", parallel ? builder->cores : 1);
	/* A heap to begin with that most packages never outgrow: a fifth of R's time goes into making
	 * a small one larger. */
	pkg_argv_add(
		variables, "R_NSIZE=3000000", "R_VSIZE=64M", "R_MAKEVARS_USER=" WORK "/Makevars");
}

/* Where the package will be while it is built: any place will do but for one that says it cannot
 * be moved. */
static char *
library_inside(const struct builder *builder, const struct lang_r_unit *unit)
{
	return unit->description.staged_install
		? pkg_xstrdup(WORK "/lib")
		: pkg_path_join(builder->env->prefix, LANG_R_LIBRARY);
}

static int
run(struct builder *builder, const struct lang_r_unit *unit, const char *work, bool parallel,
	struct listener *listener, int *status, struct pkg_error *err)
{
	lang_cleanup_mounts struct lang_mounts mounts = { 0 };
	pkg_cleanup(pkg_argv_free) struct pkg_argv *command = pkg_argv_new();
	pkg_cleanup(pkg_argv_free) struct pkg_argv *variables = pkg_argv_new();
	pkg_autofree char *library = library_inside(builder, unit);
	pkg_autofree char *source = fetch_cas_path(builder->lang->cas, unit->dist->sha256);
	pkg_autofree char *inside = pkg_path_join(SOURCE, unit->dist->file);
	pkg_autofree char *lib = pkg_path_join(work, "lib");
	pkg_cleanup_run struct pkg_run inner = PKG_RUN_INIT;
	struct sandbox_profile profile = { .purpose = SANDBOX_BUILD,
		.command = command,
		.env = variables,
		.cwd = WORK "/tmp",
		.shim_fd = -1 };

	if (lang_r_mounts(builder->env->facts, builder->lang->home->user_home, &mounts, err) < 0 ||
		show_deps(builder, unit, &mounts, err) < 0)
		return -1;
	lang_mounts_add(&mounts, SANDBOX_MOUNT_RO, source, inside);
	lang_mounts_add(&mounts, SANDBOX_MOUNT_RW, work, WORK);
	if (!unit->description.staged_install)
		lang_mounts_add(&mounts, SANDBOX_MOUNT_RW, lib, library);
	add_command(builder, unit, library, command);
	add_variables(builder, parallel, variables);
	profile.mounts = mounts.items;
	profile.mount_count = mounts.count;
	inner.cancel_fd = builder->lang->cancel_fd;
	inner.on_output = on_output;
	inner.on_tick = on_tick;
	inner.context = listener;
	if (sandbox_run(builder->lang->sandbox, &profile, &inner, err) < 0)
		return pkg_error_prefix(err, "build %s", unit->label);
	*status = pkg_process_status(inner.wait_status);
	return 0;
}

/* Debugging information costs a tenth of the compiler's time and most of the space. */
static int
write_makevars(const char *work, struct pkg_error *err)
{
	static const char *const flags[] = { "CFLAGS", "CXXFLAGS", "CXX11FLAGS", "CXX14FLAGS",
		"CXX17FLAGS", "FFLAGS", "FCFLAGS" };
	pkg_autofree char *path = pkg_path_join(work, "Makevars");
	pkg_cleanup_buf struct pkg_buf text = { 0 };

	for (size_t i = 0; i < PKG_ARRAY_LEN(flags); i++)
		pkg_buf_addf(&text, "%s += -g0\n", flags[i]);
	return pkg_file_write(path, pkg_buf_str(&text), text.len, 0444, false, err);
}

static char *
make_work(const struct builder *builder, struct pkg_error *err)
{
	static const char *const names[] = { "tmp", "lib" };
	char random[PKG_TEMP_NAME];
	pkg_autofree char *work = NULL;

	pkg_temp_name(random);
	work = pkg_path_joinf(builder->lang->scratch, "rbuild%s", random);
	for (size_t i = 0; i < PKG_ARRAY_LEN(names); i++) {
		pkg_autofree char *path = pkg_path_join(work, names[i]);

		if (pkg_dir_make(path, 0700, err) < 0)
			return NULL;
	}
	return write_makevars(work, err) == 0 ? pkg_steal_ptr(&work) : NULL;
}

/* A tarball's name is part of a mount's target and of the command. */
static int
check_file_name(const struct lang_r_unit *unit, struct pkg_error *err)
{
	const char *file = unit->dist->file;

	if (file && !strchr(file, '/') && file[0] != '-' &&
		pkg_path_is_confined(file, strlen(file)))
		return 0;
	return pkg_error_set(
		err, PKG_E_INVALID, "%s has no file name that can be used", unit->label);
}

/* 1: not built, and another try may help. */
static int
try_build(struct builder *builder, const struct lang_r_unit *unit, bool parallel,
	struct pkg_error *err)
{
	struct listener listener = { .builder = builder };
	pkg_autofree char *work = make_work(builder, err);
	pkg_autofree char *built = work ? pkg_path_joinf(work, "lib/%s", unit->dist->name) : NULL;
	int status = 0;
	int rc = -1;

	if (work && run(builder, unit, work, parallel, &listener, &status, err) == 0) {
		struct lang_r_failure failure = { .label = unit->label,
			.status = status,
			.log = pkg_buf_str(&listener.log),
			.log_len = listener.log.len,
			.sysreqs = builder->sysreqs,
			.system_note = unit->dist->system_note };

		if (status == 0 && pkg_file_exists(built))
			rc = lang_r_pack(builder->lang, unit, built, err);
		else if (parallel && unit->description.compiles &&
			lang_r_explain_is_vague(failure.log, failure.log_len))
			rc = 1;
		else
			rc = lang_r_explain(&failure, err);
	}
	pkg_buf_clear(&listener.log);
	pkg_buf_clear(&listener.partial);
	if (work)
		(void)pkg_tree_remove(work, NULL);
	return rc;
}

static int
build_one(struct builder *builder, const struct lang_r_unit *unit, struct pkg_error *err)
{
	bool parallel = builder->cores > 1;
	int rc = check_file_name(unit, err);

	if (rc == 0)
		rc = try_build(builder, unit, parallel, err);
	/* Some Makevars have an order that they do not state. */
	if (rc == 1)
		rc = try_build(builder, unit, false, err);
	return rc;
}

/* --- all of them --- */

static bool
is_ready(const struct builder *builder, size_t number)
{
	const struct lang_r_unit *unit = &builder->units->items[number];

	if (builder->states[number] != WAITING)
		return false;
	for (size_t i = 0; i < unit->dep_count; i++)
		if (unit->deps[i].unit >= 0 && builder->states[unit->deps[i].unit] != BUILT)
			return false;
	return true;
}

/* How many wait for it: what holds up most comes first. */
static size_t
weight(const struct builder *builder, size_t number)
{
	size_t count = 0;

	for (size_t i = 0; i < builder->units->count; i++)
		for (size_t j = 0; j < builder->units->items[i].dep_count; j++)
			count += builder->units->items[i].deps[j].unit == (long)number;
	return count * 2 + builder->units->items[number].description.compiles;
}

static long
pick(const struct builder *builder)
{
	long best = -1;
	size_t most = 0;

	for (size_t i = 0; i < builder->units->count; i++)
		if (is_ready(builder, i) && (best < 0 || weight(builder, i) > most)) {
			best = (long)i;
			most = weight(builder, i);
		}
	return best;
}

static bool
is_over(const struct builder *builder)
{
	bool waiting = false;

	for (size_t i = 0; i < builder->units->count; i++)
		waiting = waiting || builder->states[i] == WAITING;
	return builder->failed || !waiting;
}

static bool
is_running(const struct builder *builder)
{
	for (size_t i = 0; i < builder->units->count; i++)
		if (builder->states[i] == RUNNING)
			return true;
	return false;
}

static void
say(struct builder *builder, const struct lang_r_unit *unit)
{
	pkg_autofree char *text = pkg_xasprintf(
		"building %s (%zu of %zu)", unit->label, ++builder->started, builder->to_build);

	if (builder->lang->status)
		builder->lang->status(builder->lang->context, text);
}

static void
finish(struct builder *builder, size_t number, int rc, struct pkg_error *err)
{
	if (rc == 0) {
		builder->states[number] = BUILT;
	} else if (!builder->failed) {
		builder->failed = true;
		pkg_error_move(&builder->failure, err);
	}
	pthread_cond_broadcast(&builder->turn);
}

static void *
work_off(void *context)
{
	struct builder *builder = context;

	pthread_mutex_lock(&builder->lock);
	while (!is_over(builder)) {
		long number = pick(builder);
		pkg_cleanup_error struct pkg_error err = { 0 };
		int rc;

		if (number < 0 && !is_running(builder)) {
			pkg_error_set(
				&err, PKG_E_INTERNAL, "packages to build wait for each other");
			finish(builder, 0, -1, &err);
			break;
		}
		if (number < 0) {
			pthread_cond_wait(&builder->turn, &builder->lock);
			continue;
		}
		builder->states[number] = RUNNING;
		say(builder, &builder->units->items[number]);
		pthread_mutex_unlock(&builder->lock);
		rc = build_one(builder, &builder->units->items[number], &err);
		pthread_mutex_lock(&builder->lock);
		finish(builder, (size_t)number, rc, &err);
	}
	pthread_mutex_unlock(&builder->lock);
	return NULL;
}

static int
start(struct builder *builder, struct pkg_error *err)
{
	pthread_t threads[THREADS_MAX];
	size_t wanted = builder->to_build < (size_t)builder->cores ? builder->to_build
								   : (size_t)builder->cores;
	size_t count = 0;

	/* Proved once, before several would do it at the same time; what it comes to is for each run
	 * to say. */
	(void)sandbox_confines(builder->lang->sandbox, SANDBOX_BUILD, NULL);
	while (count + 1 < wanted && count < THREADS_MAX &&
		pthread_create(&threads[count], NULL, work_off, builder) == 0)
		count++;
	(void)work_off(builder);
	for (size_t i = 0; i < count; i++)
		(void)pthread_join(threads[i], NULL);
	if (!builder->failed)
		return 0;
	pkg_error_move(err, &builder->failure);
	return -1;
}

static int
build_missing(struct builder *builder, struct pkg_error *err)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	int rc;

	builder->cores = cores < 1 ? 1 : cores > THREADS_MAX ? THREADS_MAX : (int)cores;
	builder->states = pkg_xcalloc(builder->units->count + 1, sizeof(*builder->states));
	for (size_t i = 0; i < builder->units->count; i++) {
		bool there = lang_r_built_has(builder->lang->home, builder->units->items[i].dist);

		builder->states[i] = there ? BUILT : WAITING;
		builder->to_build += !there;
	}
	if (builder->to_build == 0)
		return 0;
	builder->sysreqs = lang_r_sysreqs_open(builder->lang->home, err);
	if (!builder->sysreqs)
		return -1;
	if (pthread_mutex_init(&builder->lock, NULL) != 0 ||
		pthread_cond_init(&builder->turn, NULL) != 0)
		pkg_abort("no mutex");
	rc = start(builder, err);
	(void)pthread_cond_destroy(&builder->turn);
	(void)pthread_mutex_destroy(&builder->lock);
	return rc;
}

int
lang_r_build_all(struct lang_context *lang, const struct lang_env *env,
	PKG_UNUSED const struct lang_request *request, struct lang_resolution *resolution,
	struct pkg_error *err)
{
	lang_cleanup_r_units struct lang_r_units units = { 0 };
	struct builder builder = { .lang = lang, .env = env, .units = &units };
	int rc = -1;

	if (lang_r_units_make(lang, env, resolution, &units, err) == 0)
		rc = build_missing(&builder, err);
	lang_r_sysreqs_free(builder.sysreqs);
	pkg_error_clear(&builder.failure);
	free(builder.states);
	return rc;
}
