#include "lang/python_pip.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/file.h"
#include "core/path.h"
#include "core/sha256.h"
#include "core/text.h"
#include "core/tree.h"
#include "fetch/unpack.h"
#include "lang/metadata.h"
#include "lang/pep440_set.h"
#include "lang/python_facts.h"
#include "lang/wheelname.h"

#define INSIDE "/pip" /* where it is seen */

/* A plan of wheels needs no other program. Without this a dependency that is named by the URL of a source
 * distribution would be built, whatever --only-binary says. */
static const char hook[] = "import sys\n"
			   "def hook(event, arguments):\n"
			   "    if event == 'subprocess.Popen' or event.startswith(('os.exec', "
			   "'os.fork', 'os.spawn',\n"
			   "            'os.posix_spawn', 'os.system', 'pty.spawn')):\n"
			   "        raise PermissionError('" LANG_PYTHON_PIP_REFUSAL "')\n"
			   "sys.addaudithook(hook)\n";

/* Arguments: where pip is, the prefix of the environment ("" for none), directories to search, "--",
 * pip's own. The site module would have set the prefix; it would also have run what packages put into
 * .pth files. Signals end it as they end any program. */
static const char runner[] = "import signal, sys\n"
			     "signal.signal(signal.SIGINT, signal.SIG_DFL)\n"
			     "n = sys.argv.index('--')\n"
			     "pip, prefix = sys.argv[1:3]\n"
			     "if prefix:\n"
			     "    sys.prefix = sys.exec_prefix = prefix\n"
			     "sys.path += sys.argv[3:n]\n"
			     "sys.argv[:n + 1] = ['pip']\n"
			     "sys.path.insert(0, pip)\n"
			     "from pip._internal.cli.main import main\n"
			     "sys.exit(main())\n";

/* What a plan imports is compiled by being imported; what only other commands need is not. */
static const char warmer[] =
	"import importlib, sys\n"
	"sys.path.insert(0, sys.argv[1])\n"
	"import pip._internal.cli.main\n"
	"from pip._internal.commands import create_command\n"
	"create_command('install'); create_command('wheel')\n"
	"for name in ('resolution.resolvelib.resolver', 'metadata.importlib',\n"
	"        'metadata.pkg_resources', 'network.lazy_wheel', 'operations.build.metadata',\n"
	"        'operations.build.wheel', 'models.installation_report', 'cli.status_codes'):\n"
	"    try:\n"
	"        importlib.import_module('pip._internal.' + name)\n"
	"    except ImportError:\n"
	"        pass\n"
	"for name in ('cachecontrol.caches', 'certifi', 'distro', 'idna.core', 'idna.uts46data', "
	"'msgpack.fallback',\n"
	"        'requests.adapters', 'rich.console', 'tomli', 'truststore', "
	"'urllib3.contrib.socks'):\n"
	"    try:\n"
	"        importlib.import_module('pip._vendor.' + name)\n"
	"    except ImportError:\n"
	"        pass\n";

void
lang_python_pip_clear(struct lang_python_pip *pip)
{
	free(pip->version);
	free(pip->directory);
	*pip = (struct lang_python_pip){ 0 };
}

/* --- which one --- */

static int
check_requires_python(const char *requires_python, struct json_object *facts, struct pkg_error *err)
{
	lang_cleanup_pep440_set struct lang_pep440_set set = { 0 };
	struct lang_pep440_version python;

	if (!requires_python)
		return 0;
	if (lang_pep440_set_parse(requires_python, &set, err) < 0 ||
		lang_pep440_parse(lang_python_version(facts), &python, err) < 0)
		return -1;
	if (lang_pep440_set_match(&set, &python, LANG_PEP440_PRE_ALLOW))
		return 0;
	return pkg_error_set(err, PKG_E_REQUIRES_PYTHON, "it needs Python %s", requires_python);
}

static int
check_metadata(int fd, const char *version, struct json_object *facts, struct pkg_error *err)
{
	pkg_cleanup(fetch_zip_free) struct fetch_zip *zip = fetch_zip_open_fd(fd, err);
	pkg_autofree char *name = pkg_xasprintf("pip-%s.dist-info/METADATA", version);
	pkg_cleanup_buf struct pkg_buf text = { 0 };
	lang_cleanup_metadata struct lang_metadata metadata = { 0 };
	const struct fetch_zip_entry *entry;

	if (!zip)
		return -1;
	entry = fetch_zip_find(zip, name);
	if (!entry)
		return pkg_error_set(err, PKG_E_ARCHIVE, "it has no '%s'", name);
	if (fetch_zip_member_fd(fd, entry, LANG_METADATA_HEAD_MAX, &text, err) < 0 ||
		lang_metadata_parse(pkg_buf_str(&text), text.len, &metadata, err) < 0)
		return -1;
	return check_requires_python(metadata.requires_python, facts, err);
}

struct choice {
	char *path; /* owned; NULL: none yet */
	char *version; /* owned; as in the file's name */
	struct lang_pep440_version parsed;
};

static int
consider(struct choice *best, const char *path, struct json_object *facts, struct pkg_error *err)
{
	lang_cleanup_wheel_name struct lang_wheel_name name = { 0 };
	struct lang_pep440_version minimum;
	pkg_autofd int fd = -1;

	if (lang_wheel_name_parse(pkg_path_base(path), &name, err) < 0 ||
		lang_pep440_parse(LANG_PYTHON_PIP_MINIMUM, &minimum, err) < 0)
		return -1;
	if (lang_pep440_compare(&name.version, &minimum) < 0)
		return pkg_error_set(err, PKG_E_UNSUPPORTED, "older than " LANG_PYTHON_PIP_MINIMUM);
	if (best->path && lang_pep440_compare(&name.version, &best->parsed) <= 0)
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return pkg_error_errno(err, errno, "open");
	if (check_metadata(fd, name.version.text, facts, err) < 0)
		return -1;
	free(best->path);
	free(best->version);
	best->path = pkg_xstrdup(path);
	best->version = pkg_xstrdup(name.version.text);
	best->parsed = name.version;
	return 0;
}

static int
choose(struct json_object *facts, struct choice *best, struct pkg_error *err)
{
	pkg_cleanup(pkg_argv_free) struct pkg_argv *wheels = pkg_argv_new();
	pkg_cleanup_buf struct pkg_buf why = { 0 };

	lang_python_pip_wheels(facts, wheels);
	for (size_t i = 0; i < wheels->count; i++) {
		pkg_cleanup_error struct pkg_error reason = { 0 };

		if (consider(best, wheels->items[i], facts, &reason) < 0)
			pkg_buf_addf(&why, "; '%s': %s", wheels->items[i], reason.message);
	}
	if (best->path)
		return 0;
	pkg_error_set(err, PKG_E_UNSUPPORTED,
		"there is no pip of " LANG_PYTHON_PIP_MINIMUM " or newer that Python %s can run%s",
		lang_python_version(facts),
		why.len > 0 ? pkg_buf_str(&why)
			    : ": neither ensurepip nor the system has a wheel of one");
	return pkg_error_cure(err,
		"install the system's pip wheel (Debian: apt install "
		"python3-pip-whl) or choose another interpreter with --python");
}

/* --- opening it --- */

/* Without it nothing takes this pip for an installed package. */
static int
drop_dist_info(const char *directory, const char *version, struct pkg_error *err)
{
	pkg_autofree char *path = pkg_path_joinf(directory, "pip-%s.dist-info", version);

	return pkg_tree_remove(path, err);
}

static int
unpack(int wheel_fd, const char *directory, struct pkg_error *err)
{
	pkg_cleanup(fetch_unpack_free) struct fetch_unpack *unpacker =
		fetch_unpack_open(wheel_fd, NULL, err);
	pkg_autofd int dir_fd = -1;

	if (!unpacker)
		return -1;
	dir_fd = pkg_dir_open(directory, err);
	return dir_fd < 0 ? -1 : fetch_unpack_run(unpacker, dir_fd, NULL, NULL, err);
}

/* Importing pip writes its bytecode, and shows that this Python can import it. */
static int
warm(struct lang_context *lang, struct json_object *facts, const char *directory,
	struct pkg_error *err)
{
	lang_cleanup_mounts struct lang_mounts mounts = { 0 };
	pkg_cleanup(pkg_argv_free) struct pkg_argv *command = pkg_argv_new();
	pkg_cleanup_run struct pkg_run run = PKG_RUN_INIT;
	pkg_autofree char *end = NULL;

	if (lang_python_mounts(facts, lang->home->user_home, &mounts, err) < 0)
		return -1;
	lang_mounts_add(&mounts, SANDBOX_MOUNT_RW, directory, INSIDE);
	pkg_argv_add(command, lang_python_executable(facts), "-I", "-S", "-c", warmer, INSIDE);
	if (lang_python_run(lang, SANDBOX_APPLY, NULL, &mounts, command, NULL, &run, err) < 0)
		return pkg_error_prefix(err, "start pip");
	if (run.wait_status == 0)
		return 0;
	end = lang_python_run_end(&run);
	return pkg_error_set(err, PKG_E_VERIFY, "pip does not start: %s", end);
}

static int
fill(struct lang_context *lang, struct json_object *facts, const struct choice *choice,
	int wheel_fd, const char *directory, struct pkg_error *err)
{
	if (lang->status) {
		pkg_autofree char *text = pkg_xasprintf("opening pip %s", choice->version);

		lang->status(lang->context, text);
	}
	if (unpack(wheel_fd, directory, err) < 0 ||
		drop_dist_info(directory, choice->version, err) < 0)
		return pkg_error_prefix(err, "open '%s'", choice->path);
	return warm(lang, facts, directory, err);
}

/* Whoever comes first wins; the others' work is thrown away. */
static int
make(struct lang_context *lang, struct json_object *facts, const struct choice *choice,
	int wheel_fd, const char *final, struct pkg_error *err)
{
	char random[PKG_TEMP_NAME];
	pkg_autofree char *parent = pkg_path_dir(final);
	pkg_autofree char *temporary = NULL;
	int rc;

	pkg_temp_name(random);
	temporary = pkg_path_join(parent, random);
	if (pkg_dir_make(temporary, 0755, err) < 0)
		return -1;
	rc = fill(lang, facts, choice, wheel_fd, temporary, err);
	if (rc == 0 && rename(temporary, final) < 0 && errno != EEXIST && errno != ENOTEMPTY)
		rc = pkg_error_errno(err, errno, "rename '%s'", temporary);
	(void)pkg_tree_remove(temporary, NULL);
	return rc;
}

int
lang_python_pip_get(struct lang_context *lang, struct json_object *facts,
	struct lang_python_pip *out, struct pkg_error *err)
{
	struct choice choice = { 0 };
	char hex[PKG_SHA256_HEX];
	pkg_autofd int fd = -1;
	int rc = choose(facts, &choice, err);

	if (rc == 0) {
		fd = open(choice.path, O_RDONLY | O_CLOEXEC);
		rc = fd < 0 ? pkg_error_errno(err, errno, "open '%s'", choice.path)
			    : pkg_sha256_fd(fd, hex, err);
	}
	if (rc == 0) {
		out->version = pkg_xstrdup(choice.version);
		out->directory = pkg_path_joinf(lang->home->cache, "pip/%s-%.12s-%s",
			choice.version, hex, lang_python_magic(facts));
		if (!pkg_file_exists(out->directory))
			rc = make(lang, facts, &choice, fd, out->directory, err);
	}
	free(choice.path);
	free(choice.version);
	return rc;
}

void
lang_python_pip_command(const struct lang_python_pip *pip, struct json_object *facts,
	const struct lang_env *env, bool programs, struct lang_mounts *mounts,
	struct pkg_argv *command)
{
	const char *prefix = env ? env->prefix : "";
	pkg_autofree char *code = pkg_xasprintf("%s%s", programs ? "" : hook, runner);

	lang_mounts_add(mounts, SANDBOX_MOUNT_RO, pip->directory, INSIDE);
	pkg_argv_add(command, lang_python_executable(facts), "-I", "-S", "-B", "-c", code, INSIDE,
		prefix);
	if (env) {
		pkg_argv_take(command, pkg_path_join(prefix, lang_python_site(facts)));
		if (strcmp(lang_python_site(facts), lang_python_platlib(facts)) != 0)
			pkg_argv_take(command, pkg_path_join(prefix, lang_python_platlib(facts)));
		if (!env->hermetic)
			lang_python_inherited(facts, command);
	}
	pkg_argv_add(command, "--");
}
