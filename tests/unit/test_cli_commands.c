#include "unit.h"

#include <fcntl.h>

#include "cli/cli.h"
#include "cli_daemon.h"

/* Everything that any command asks for, in one object. */
static const char everything[] =
	"{\"job\":1,\"id\":1,\"jobs\":[],\"cards\":[],\"environments\":[],\"kernels\":[],\"rows\":["
	"],"
	"\"claims\":[],\"checked\":[],\"candidates\":[],\"kinds\":[],\"history\":[],\"purposes\":[]"
	","
	"\"packages\":[{\"name\":\"1\",\"version\":\"1.0\",\"owned\":true,\"requested\":true}],"
	"\"plan\":{\"changes\":[],\"restart\":{\"additive\":true,\"reasons\":[]}},"
	"\"plan_hash\":\"h\",\"state\":\"enabled\",\"ok\":true,\"delivered\":true,\"result\":null}";

static void
answer_anything(int fd, const char *request, int number, bool control)
{
	(void)number;
	(void)control;
	if (strstr(request, "/events "))
		fake_reply(fd, 200, "text/event-stream",
			"id: 1\ndata: {\"type\":\"result\",\"job\":1,\"status\":\"done\"}\n\n");
	else if (strstr(request, "/log "))
		fake_reply(fd, 200, "text/plain", "a log\n");
	else if (strstr(request, "/v1/config "))
		fake_result(fd, "{\"python.minimum\":{\"value\":\"3.8\",\"origin\":\"default\"}}");
	else
		fake_result(fd, everything);
}

static const char *
sample_value(enum cli_option option, const char *file)
{
	switch ((int)option) {
	case CLI_O_REQUIREMENT:
	case CLI_O_CONSTRAINT:
		return file;
	case CLI_O_LANGUAGE:
		return "python";
	case CLI_O_ACTION:
		return "install";
	case CLI_O_WORKSPACE:
		return "/tmp";
	case CLI_O_NETWORK:
		return "deny";
	case CLI_O_LIMIT:
		return "processes=9";
	case CLI_O_NUMBER:
	case CLI_O_AFTER:
		return "5";
	default:
		return "x";
	}
}

/* Runs a command with all the options that it declares but these; gives those that it read. */
static uint64_t
run_with_everything(const struct cli_command *command, uint64_t without, const char *file)
{
	struct cli cli = { .command = command, .words = pkg_argv_new() };
	pkg_cleanup_error struct pkg_error err = { 0 };
	uint64_t read;
	int status;

	for (int i = 0; i < command->min_words; i++)
		pkg_argv_add(cli.words, "1");
	for (int i = 0; i < CLI_O_COUNT; i++) {
		if (((command->takes & ~without) >> i & 1) == 0)
			continue;
		cli.options.values[i] = pkg_argv_new();
		if (cli_option_rows[i].argument != NULL)
			pkg_argv_add(cli.options.values[i], sample_value((enum cli_option)i, file));
	}
	status = cli_run(&cli, &err);
	/* doctor finds fault with a home like this one, and there is no environment to run anything in. */
	if (status != 0 && strcmp(command->name, "doctor") != 0 &&
		strcmp(command->name, "run") != 0)
		fail_msg("pkg %s: %d %s", command->name, status,
			err.message != NULL ? err.message : "");
	read = cli.options.read;
	cli_client_free(cli.client);
	cli_options_clear(&cli.options);
	pkg_argv_free(cli.words);
	pkg_home_clear(&cli.home);
	return read;
}

static int
silence_stdout(void)
{
	int saved;
	pkg_autofd int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	fflush(stdout);
	saved = dup(STDOUT_FILENO);
	assert_true(null >= 0 && saved >= 0);
	assert_true(dup2(null, STDOUT_FILENO) >= 0);
	return saved;
}

static void
restore_stdout(int saved)
{
	fflush(stdout);
	assert_true(dup2(saved, STDOUT_FILENO) >= 0);
	close(saved);
}

/* BEHAVIOURS T67. */
static void
every_declared_option_of_every_command_is_read(PKG_UNUSED void **state)
{
	static const uint64_t help = CLI_BIT(HELP);
	struct fake fake;
	pkg_autofree char *file = NULL;
	bool all = true;
	int saved;

	fake_home(&fake, 0);
	file = pkg_path_join(fake.root, "requirements.txt");
	assert_int_equal(pkg_file_write(file, "six\n", 4, 0600, false, NULL), 0);
	fake_start(&fake, answer_anything);
	saved = silence_stdout();
	for (size_t i = 0; i < cli_command_count; i++) {
		const struct cli_command *command = &cli_commands[i];
		/* --json and --quiet keep from others what they would do. */
		uint64_t read = run_with_everything(command, help, file) |
			run_with_everything(command, help | CLI_BIT(JSON), file) |
			run_with_everything(command, help | CLI_BIT(JSON) | CLI_BIT(QUIET), file);

		for (int o = 0; o < CLI_O_COUNT; o++)
			if (o != CLI_O_HELP && (command->takes >> o & 1) != 0 &&
				(read >> o & 1) == 0)
				fprintf(stderr, "pkg %s never reads --%s\n", command->name,
					cli_option_rows[o].name);
		all = all && (command->takes & ~read & ~help) == 0;
	}
	restore_stdout(saved);
	fake_stop(&fake);
	assert_true(all);
}

/* --- errors as a whole --- */

struct told {
	int status;
	char *out;
	char *err;
};

static char *
read_back(FILE *file)
{
	struct pkg_buf text = { 0 };
	char data[4096];
	size_t got;

	rewind(file);
	while ((got = fread(data, 1, sizeof(data), file)) > 0)
		pkg_buf_add_mem(&text, data, got);
	fclose(file);
	return pkg_buf_steal(&text);
}

static void
run_main(struct told *told, int argc, const char *const *argv)
{
	FILE *out = tmpfile(), *err = tmpfile();
	char *args[8] = { 0 };
	pid_t pid;
	int wait_status = 0;

	assert_true(out != NULL && err != NULL && argc < 8);
	for (int i = 0; i < argc; i++)
		args[i] = (char *)argv[i];
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(fileno(out), STDOUT_FILENO);
		dup2(fileno(err), STDERR_FILENO);
		_exit(cli_main(argc, args));
	}
	assert_int_equal(waitpid(pid, &wait_status, 0), pid);
	told->status = WEXITSTATUS(wait_status);
	told->out = read_back(out);
	told->err = read_back(err);
}

static void
told_clear(struct told *told)
{
	free(told->out);
	free(told->err);
}

static void
errors_end_with_the_cure_and_the_status_of_their_kind(PKG_UNUSED void **state)
{
	static const struct {
		const char *argv[5];
		int status;
		const char *out;
		const char *err;
	} cases[] = {
		{ { "pkg", "lst" }, 2, "",
			"pkg: 'lst' is no command\ncure: did you mean 'pkg list'?\n" },
		{ { "pkg", "list", "--jsn" }, 2, "",
			"pkg: list: option '--jsn' is not known here\n"
			"cure: did you mean '--json'?\n" },
		{ { "pkg", "list", "--jsn", "--json" }, 2,
			"{\"type\":\"error\",\"kind\":\"invalid-request\",\"message\":\"option "
			"'--jsn' is not known here\",\"cure\":\"did you mean '--json'?\"}\n",
			"" },
		{ { "pkg", "install", "--", "--index-url=x" }, 2, "",
			"pkg: install: '--index-url=x' begins with '-': that is no requirement\n" },
		{ { "pkg", "cards", "approve", "x\033[31m" }, 2, "",
			"pkg: cards approve: 'x' is not the number of a card\n" },
	};
	struct fake fake;

	fake_home(&fake, 0);
	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		struct told told;
		int argc = 0;

		while (argc < 5 && cases[i].argv[argc] != NULL)
			argc++;
		run_main(&told, argc, cases[i].argv);
		assert_string_equal(told.out, cases[i].out);
		assert_string_equal(told.err, cases[i].err);
		assert_int_equal(told.status, cases[i].status);
		told_clear(&told);
	}
	fake_stop(&fake);
}

static void
output_that_cannot_be_written_is_no_success(PKG_UNUSED void **state)
{
	static const char *const argv[] = { "pkg", "help" };
	pid_t pid = fork();
	int wait_status = 0;

	assert_true(pid >= 0);
	if (pid == 0) {
		int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

		dup2(full, STDOUT_FILENO);
		full = open("/dev/null", O_WRONLY | O_CLOEXEC);
		dup2(full, STDERR_FILENO);
		_exit(cli_main(2, (char **)argv));
	}
	assert_int_equal(waitpid(pid, &wait_status, 0), pid);
	assert_int_equal(WEXITSTATUS(wait_status), 1);
}

/* --- events --- */

static void
answer_job(int fd, const char *request, int number, bool control)
{
	(void)number;
	if (strstr(request, "POST /v1/jobs "))
		fake_result(fd, "{\"job\":7}");
	else if (strstr(request, "/events "))
		fake_reply(fd, 200, "text/event-stream",
			"id: 1\ndata: {\"type\":\"card\",\"card\":3,\"hash\":\"abc\",\"plan\":{"
			"\"changes\":[],\"restart\":{\"additive\":true,\"reasons\":[]}}}\n\n");
	else if (strstr(request, "POST /v1/cards/3 ") && control)
		fake_reply(fd, 403, "application/json",
			strstr(request, "\"plan_hash\":\"abc\"")
				? "{\"result\":{\"kind\":\"forbidden\",\"message\":\"may not\"}}"
				: "{}");
	else if (strstr(request, "GET /v1/jobs/7 "))
		fake_result(fd,
			"{\"id\":7,\"card\":3,\"project\":\"default\",\"language\":"
			"\"python\",\"environment\":\"python\",\"result\":null}");
	else
		fake_reply(fd, 404, "application/json",
			"{\"result\":{\"kind\":\"not-found\",\"message\":\"?\"}}");
}

static void
no_wait_leaves_with_75_once_the_card_is_there(PKG_UNUSED void **state)
{
	static const char *const argv[] = { "pkg", "install", "six", "--no-wait", "--json" };
	struct fake fake;
	struct told told;

	fake_home(&fake, 0);
	fake_start(&fake, answer_job);
	run_main(&told, 5, argv);
	assert_int_equal(told.status, 75);
	assert_non_null(strstr(told.out, "{\"type\":\"job\",\"job\":7}\n{\"type\":\"card\""));
	assert_non_null(strstr(told.out,
		"{\"type\":\"result\",\"job\":7,\"status\":\"pending\",\"kind\":\"pending\""));
	assert_string_equal(told.err, "");
	told_clear(&told);
	fake_stop(&fake);
}

static void
yes_without_the_right_is_3_and_names_the_card_that_waits(PKG_UNUSED void **state)
{
	static const char *const argv[] = { "pkg", "install", "six", "--yes", "-q" };
	struct fake fake;
	struct told told;

	fake_home(&fake, 0);
	fake_start(&fake, answer_job);
	run_main(&told, 5, argv);
	assert_int_equal(told.status, 3);
	assert_string_equal(told.out, "");
	assert_string_equal(told.err,
		"pkg: install: job 7: --yes could not approve card 3, which stays pending: may "
		"not\n");
	told_clear(&told);
	fake_stop(&fake);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_declared_option_of_every_command_is_read),
		cmocka_unit_test(errors_end_with_the_cure_and_the_status_of_their_kind),
		cmocka_unit_test(output_that_cannot_be_written_is_no_success),
		cmocka_unit_test(no_wait_leaves_with_75_once_the_card_is_there),
		cmocka_unit_test(yes_without_the_right_is_3_and_names_the_card_that_waits),
	};

	setenv("LC_ALL", "C", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
