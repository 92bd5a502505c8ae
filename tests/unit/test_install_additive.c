/* Runs tests/cases/additive/NAME.txt; its README tells the format. The languages' part (which file runs at startup, what
 * shadows what) is the fake language's: any .pth, and lib/site/base/ where base is inherited. */
#include "test_install_common.h"
#include "fake_lang.h"
#include "install/additive.h"
#include <dirent.h>

#define CASES_MAX 256

struct additive_case {
	struct store_package_list before;
	struct lang_resolution after;
	struct pkg_argv *removed;
	struct pkg_argv *expected;
	bool hermetic;
	bool no_tree;
	bool additive;
	bool has_verdict;
	char *tree;
};

/* The first word of *line, which moves behind it; "" at its end. */
static char *
word(char **line)
{
	char *start = *line + strspn(*line, " ");
	size_t len = strcspn(start, " ");

	*line = start + len;
	if (**line != '\0')
		*(*line)++ = '\0';
	return start;
}

/* "NAME VERSION owned" or "NAME VERSION inherited PATH" */
static void
read_before(struct additive_case *c, char *line)
{
	struct store_package *package = store_package_list_add(&c->before);

	package->name = pkg_xstrdup(word(&line));
	package->key = pkg_xstrdup(package->name);
	package->version = pkg_xstrdup(word(&line));
	package->owned = strcmp(word(&line), "owned") == 0;
	package->location = pkg_xstrdup(word(&line));
}

/* "NAME VERSION [sdist] [uninspected]", or deeper: one of its files */
static void
read_install(struct additive_case *c, char *line, size_t depth)
{
	struct lang_dist *dist;
	const char *flag;

	if (depth > 1) {
		dist = &c->after.items[c->after.count - 1];
		dist->files = pkg_xrealloc(dist->files, dist->file_count + 1, sizeof(*dist->files));
		dist->files[dist->file_count++] = (struct lang_file){ pkg_xstrdup(word(&line)), 1 };
		return;
	}
	dist = lang_resolution_add(&c->after);
	dist->name = pkg_xstrdup(word(&line));
	dist->key = pkg_xstrdup(dist->name);
	dist->version = pkg_xstrdup(word(&line));
	dist->file = pkg_xasprintf("%s-%s.whl", dist->name, dist->version);
	dist->inspected = true;
	while (*(flag = word(&line)) != '\0') {
		dist->is_sdist = dist->is_sdist || strcmp(flag, "sdist") == 0;
		dist->inspected = dist->inspected && strcmp(flag, "uninspected") != 0;
	}
}

static void
read_tree(struct additive_case *c, const char *path)
{
	pkg_autofree char *full = pkg_path_join(c->tree, path);
	pkg_autofree char *dir = pkg_path_dir(full);

	assert_int_equal(pkg_dir_make(dir, 0755, NULL), 0);
	assert_int_equal(pkg_file_write(full, "x", 1, 0644, false, NULL), 0);
}

static void
read_line(struct additive_case *c, const char *section, char *line, size_t depth)
{
	if (strcmp(section, "before") == 0)
		read_before(c, line);
	else if (strcmp(section, "tree") == 0)
		read_tree(c, line);
	else if (strcmp(section, "install") == 0)
		read_install(c, line, depth);
	else if (strcmp(section, "remove") == 0)
		pkg_argv_add(c->removed, line);
	else if (strcmp(section, "options") == 0 && strcmp(line, "hermetic") == 0)
		c->hermetic = true;
	else if (strcmp(section, "options") == 0 && strcmp(line, "no-tree") == 0)
		c->no_tree = true;
	else if (c->has_verdict)
		pkg_argv_add(c->expected, line);
	else
		fail_msg("'%s' in section '%s' is not understood", line, section);
}

static void
read_case(struct additive_case *c, char *text)
{
	char *section = (char *)"";
	char *next = NULL;

	for (char *line = strtok_r(text, "\n", &next); line != NULL;
		line = strtok_r(NULL, "\n", &next)) {
		size_t depth = strspn(line, "\t");
		size_t len = strlen(line);

		if (line[depth] == '#' || line[depth] == '\0')
			continue;
		if (depth > 0) {
			read_line(c, section, line + depth, depth);
			continue;
		}
		assert_true(line[len - 1] == ':');
		line[len - 1] = '\0';
		section = line;
		if (strcmp(line, "additive") == 0 || strcmp(line, "restart") == 0) {
			c->has_verdict = true;
			c->additive = strcmp(line, "additive") == 0;
		}
	}
	store_package_list_sort(&c->before);
	lang_resolution_sort(&c->after);
	assert_true(c->has_verdict);
}

static void
judge(const struct additive_case *c)
{
	struct lang_env env = { .prefix = "/p",
		.tree = c->no_tree ? "/nonexistent" : c->tree,
		.hermetic = c->hermetic };
	struct install_change_set set = { &c->before, &c->after, c->removed, &env,
		lang_find("python", NULL) };
	pkg_cleanup_install_verdict struct install_verdict verdict = { 0 };
	pkg_cleanup(pkg_argv_free) struct pkg_argv *rows = pkg_argv_new();
	pkg_autofree char *got = NULL;
	pkg_autofree char *wanted = pkg_argv_join(c->expected, "\n");

	install_additive(&set, &verdict);
	for (size_t i = 0; i < verdict.count; i++)
		pkg_argv_addf(rows, "%s %s%s%s", verdict.reasons[i].reason, verdict.reasons[i].name,
			verdict.reasons[i].detail != NULL ? " " : "",
			verdict.reasons[i].detail != NULL ? verdict.reasons[i].detail : "");
	got = pkg_argv_join(rows, "\n");
	assert_string_equal(got, wanted);
	assert_int_equal(verdict.additive, c->additive);
}

static void
run_case(void **state)
{
	const char *path = *state;
	char root[] = "/tmp/pkgd-additive-XXXXXX";
	struct additive_case c = { .removed = pkg_argv_new(), .expected = pkg_argv_new() };
	pkg_cleanup_buf struct pkg_buf text = file_text(path);

	assert_non_null(mkdtemp(root));
	c.tree = root;
	read_case(&c, text.data);
	judge(&c);
	(void)pkg_tree_remove(root, NULL);
	store_package_list_clear(&c.before);
	lang_resolution_clear(&c.after);
	pkg_argv_free(c.removed);
	pkg_argv_free(c.expected);
}

static struct pkg_argv *
find_cases(const char *dir)
{
	struct pkg_argv *paths = pkg_argv_new();
	DIR *opened = opendir(dir);

	for (struct dirent *entry; opened != NULL && (entry = readdir(opened)) != NULL;) {
		size_t len = strlen(entry->d_name);

		if (len > 4 && strcmp(entry->d_name + len - 4, ".txt") == 0)
			pkg_argv_take(paths, pkg_path_join(dir, entry->d_name));
	}
	if (opened != NULL)
		closedir(opened);
	pkg_argv_sort(paths);
	return paths;
}

int
main(void)
{
	const char *source = getenv("PKGD_TEST_SRCDIR");
	pkg_autofree char *dir =
		pkg_path_join(source != NULL ? source : ".", "tests/cases/additive");
	pkg_cleanup(pkg_argv_free) struct pkg_argv *paths = find_cases(dir);
	struct CMUnitTest tests[CASES_MAX] = { 0 };

	/* A test of no cases would pass. */
	if (paths->count < 25 || paths->count > CASES_MAX) {
		print_error("%zu cases in %s\n", paths->count, dir);
		return 1;
	}
	for (size_t i = 0; i < paths->count; i++) {
		tests[i].name = pkg_path_base(paths->items[i]);
		tests[i].test_func = run_case;
		tests[i].initial_state = paths->items[i];
	}
	return _cmocka_run_group_tests("install_additive", tests, paths->count, NULL, NULL);
}
