#include "install/kernel.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "core/path.h"
#include "core/time.h"
#include "core/tree.h"
#include "egress/session.h"
#include "install/names.h"
#include "install/tools.h"
#include "lang/lang.h"
#include "policy/trust.h"
#include "store/history.h"

#define RULES_NAME "the hosts of this environment's kernels"
#define CURE "add the host to network.hosts, or a list to network.include, in pkgd.json"

struct kernel_run {
	const struct pkg_home *home;
	const struct install_kernel *request;
	struct policy_config config;
	struct store *store;
	struct sandbox *sandbox;
	struct store_env env;
	struct json_object *facts;
	const struct lang_ops *ops;
	char *tree;
	struct lang_mounts mounts;
	struct store_kernel row;
	char *scratch; /* rules and audit of this kernel's way out */
	struct egress_session *session;
};

/* The generation that is current and the row that pins it, in one transaction: no retention comes between. */
static int
pin_generation(struct kernel_run *run, struct pkg_error *err)
{
	pkg_cleanup_install_key struct install_key key = { 0 };
	struct store_env_key borrowed;

	if (install_key_resolve(run->request->project, run->request->language,
		    run->request->environment, &key, err) < 0)
		return -1;
	borrowed = install_key_borrow(&key);
	if (store_begin(run->store, err) < 0)
		return -1;
	if (store_env_get(run->store, &borrowed, &run->env, err) < 0) {
		store_rollback(run->store);
		pkg_error_prefix(err, "%s environment '%s' of project '%s'", key.language, key.name,
			key.project);
		return pkg_error_cure(err, "an install or pkg env create makes it");
	}
	run->row.env = run->env.id;
	run->row.generation = run->env.generation;
	run->row.label = pkg_xstrdup(run->request->label != NULL ? run->request->label : "");
	run->row.started_ms = pkg_time_now_ms();
	if (pkg_identity_of(getpid(), &run->row.process, err) < 0 ||
		store_kernel_insert(run->store, &run->row, err) < 0 ||
		store_commit(run->store, err) < 0) {
		store_rollback(run->store);
		return -1;
	}
	return 0;
}

static struct lang_env
seen_env(const struct kernel_run *run)
{
	return (struct lang_env){ .prefix = run->env.prefix,
		.tree = run->tree,
		.facts = run->facts,
		.hermetic = run->env.hermetic };
}

static int
open_run(struct kernel_run *run, struct pkg_error *err)
{
	struct lang_env env;

	run->store = store_open(run->home, err);
	if (run->store == NULL || policy_config_load(run->home, &run->config, err) < 0 ||
		policy_trust_apply(&run->config, run->home, err) < 0 ||
		pin_generation(run, err) < 0)
		return -1;
	run->ops = lang_find(run->env.language, err);
	run->facts = pkg_json_parse(run->env.facts, strlen(run->env.facts), err);
	if (run->ops == NULL || run->facts == NULL)
		return -1;
	run->tree = install_path_generation(run->home, run->env.id, run->env.generation);
	env = seen_env(run);
	if (run->ops->healthy(&env, err) < 0 ||
		run->ops->mounts(&env, run->home->user_home, &run->mounts, err) < 0)
		return -1;
	run->sandbox = install_sandbox_open(run->home, &run->config, err);
	return run->sandbox != NULL ? 0 : -1;
}

static void
close_run(struct kernel_run *run)
{
	egress_session_free(run->session);
	if (run->scratch != NULL)
		(void)pkg_tree_remove(run->scratch, NULL);
	if (run->row.id != 0)
		(void)store_kernel_remove(run->store, run->row.id, NULL);
	store_kernel_clear(&run->row);
	lang_mounts_clear(&run->mounts);
	free(run->scratch);
	free(run->tree);
	json_object_put(run->facts);
	store_env_clear(&run->env);
	sandbox_free(run->sandbox);
	store_close(run->store);
	policy_config_clear(&run->config);
}

/* --- the way out --- */

static int
start_session(struct kernel_run *run, struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *hosts = pkg_argv_new();
	pkg_cleanup(pkg_json_put) struct json_object *rules = NULL;
	pkg_autofree char *rules_path = NULL;
	pkg_autofree char *audit_path = NULL;

	if (!run->request->network || run->config.network_mode == POLICY_NETWORK_DENY)
		return 0;
	run->scratch = pkg_path_joinf(run->home->run, "kernel-%d", (int)getpid());
	rules_path = pkg_path_join(run->scratch, "egress.json");
	audit_path = pkg_path_join(run->scratch, "audit.jsonl");
	if (policy_config_hosts(&run->config, run->home, hosts, err) < 0 ||
		pkg_dir_make(run->scratch, 0700, err) < 0)
		return -1;
	rules = pkg_json_from_argv(hosts);
	if (egress_session_write_rules(rules_path, RULES_NAME, rules, CURE, NULL, err) < 0)
		return -1;
	return egress_session_start(run->home->libexec, rules_path, audit_path, &run->session, err);
}

static void
audit_connections(struct kernel_run *run)
{
	struct egress_rows rows = { 0 };

	if (run->session == NULL)
		return;
	if (egress_session_finish(pkg_steal_ptr(&run->session), &rows, NULL) == 0)
		for (size_t i = 0; i < rows.count; i++) {
			pkg_cleanup(pkg_json_put) struct json_object *row =
				egress_row_to_json(&rows.items[i]);
			pkg_autofree char *text = NULL;

			pkg_json_set_int(row, "kernel", run->row.id);
			text = pkg_json_line(row);
			(void)store_audit_add(run->store, "connection", text, NULL);
		}
	egress_rows_clear(&rows);
}

/* --- the command --- */

/* A bare name is looked up in the environment, then where the sandbox's PATH leads. */
static char *
find_command(const struct kernel_run *run, const char *name)
{
	static const char *const folders[] = { "/usr/local/bin", "/usr/bin", "/bin" };
	pkg_autofree char *own = pkg_path_joinf(run->tree, "bin/%s", name);

	if (strchr(name, '/') != NULL)
		return pkg_xstrdup(name);
	if (faccessat(AT_FDCWD, own, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return pkg_path_joinf(run->env.prefix, "bin/%s", name);
	for (size_t i = 0; i < PKG_ARRAY_LEN(folders); i++) {
		char *path = pkg_path_join(folders[i], name);

		if (access(path, X_OK) == 0)
			return path;
		free(path);
	}
	return NULL;
}

static int
build_command(const struct kernel_run *run, struct pkg_argv *command, struct pkg_error *err)
{
	const struct pkg_argv *asked = run->request->command;
	char *program = find_command(run, asked->items[0]);

	if (program == NULL)
		return pkg_error_set(err, PKG_E_NOT_FOUND,
			"'%.200s' is neither in the environment nor in /usr", asked->items[0]);
	if (program[0] != '/') {
		free(program);
		return pkg_error_set(err, PKG_E_INVALID,
			"'%.200s' is a relative path: a name or an absolute path is wanted",
			asked->items[0]);
	}
	pkg_argv_take(command, program);
	for (size_t i = 1; i < asked->count; i++)
		pkg_argv_add(command, asked->items[i]);
	return 0;
}

static int
run_command(struct kernel_run *run, int *status, struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *command = pkg_argv_new();
	const char *workspace = run->request->workspace;
	struct sandbox_profile profile = {
		.purpose = SANDBOX_KERNEL,
		.tree = run->tree,
		.prefix = run->env.prefix,
		.command = command,
		.cwd = workspace,
		.shim_fd = run->session != NULL ? egress_session_shim_fd(run->session) : -1,
		.interactive = true,
	};

	if (build_command(run, command, err) < 0)
		return -1;
	install_limits(&run->request->limits, &profile.limits);
	if (workspace != NULL)
		lang_mounts_add(&run->mounts, SANDBOX_MOUNT_RW, workspace, NULL);
	profile.mounts = run->mounts.items;
	profile.mount_count = run->mounts.count;
	return sandbox_run_interactive(run->sandbox, &profile, status, err);
}

int
install_kernel_run(const struct pkg_home *home, const struct install_kernel *kernel, int *status,
	struct pkg_error *err)
{
	struct kernel_run run = { .home = home, .request = kernel };
	int rc = -1;

	if (kernel->command->count == 0)
		return pkg_error_set(err, PKG_E_INVALID, "no command was given");
	if (open_run(&run, err) == 0 && start_session(&run, err) == 0)
		rc = run_command(&run, status, err);
	audit_connections(&run);
	close_run(&run);
	return rc;
}
