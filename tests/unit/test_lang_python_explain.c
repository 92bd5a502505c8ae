#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "lang/python_explain.h"
#include "lang/python_pip.h"

/* Texts of pip 23.0.1 and 25.1.1, as they were printed; addresses are of a local index. */

#define BASE "http://127.0.0.1:8391/pypi/packages/"
#define INDEX "http://127.0.0.1:8391/pypi/simple/"
#define MISSING(what, versions)                                                                    \
	"Looking in indexes: " INDEX "\n"                                                          \
	"ERROR: Could not find a version that satisfies the requirement " what                     \
	" (from versions: " versions ")\n"                                                         \
	"ERROR: No matching distribution found for "
#define FILE_ROW(name, more)                                                                       \
	"{\"filename\":\"" name "\",\"url\":\"" BASE name "\",\"yanked\":false" more "}"
#define YANKED_ROW(name) "{\"filename\":\"" name "\",\"url\":\"" BASE name "\",\"yanked\":true}"
#define PAGE(files) "{\"files\":[" files "]}"

struct row {
	const char *log;
	enum pkg_error_kind kind;
	const char *message; /* part of it */
	const char *cure; /* part of it; NULL: there is none or it does not matter */
	const char *page; /* of the index; NULL: it was not asked, unless answer says otherwise */
	enum pkg_error_kind answer; /* what asking it came to, without a page */
	enum egress_verdict verdict; /* of the one connection, when host is set */
	const char *host;
	const char *reason;
	const char *building;
	int status; /* 0: 1 */
	bool source;
};

static void
check(const struct row *row)
{
	struct egress_row connection = {
		.host = (char *)row->host,
		.port = 8391,
		.verdict = row->verdict,
		.reason = (char *)row->reason,
	};
	struct egress_rows rows = { .items = &connection, .count = row->host ? 1 : 0 };
	struct lang_python_answer answer = { .index = INDEX };
	struct lang_python_failure failure = {
		.tool = "pip 23.0.1",
		.status = row->status ? row->status : 1,
		.log = row->log,
		.rows = &rows,
		.answers = &answer,
		.answer_count = row->page || row->answer ? 1 : 0,
		.python = "3.11.2",
		.source = row->source,
		.building = row->building,
	};
	pkg_cleanup_error struct pkg_error err = { 0 };

	if (row->page) {
		answer.page = pkg_json_parse(row->page, strlen(row->page), &err);
		if (!answer.page)
			fail_msg("%s: %s", row->page, err.message);
	}
	if (row->answer)
		pkg_error_set(&answer.error, row->answer, "the index said so");
	assert_int_equal(lang_python_explain(&failure, &err), -1);
	if (err.kind != row->kind || !strstr(err.message, row->message))
		fail_msg("%s: %s\ninstead of %s: %s\nfor: %s", pkg_error_kind_name(err.kind),
			err.message, pkg_error_kind_name(row->kind), row->message, row->log);
	if (row->cure && (!err.cure || !strstr(err.cure, row->cure)))
		fail_msg("cure '%s' instead of '%s'", err.cure ? err.cure : "", row->cure);
	json_object_put(answer.page);
	pkg_error_clear(&answer.error);
}

#define CHECK_ALL(rows)                                                                            \
	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++)                                           \
	check(&rows[i])

/* The same text of pip, and five causes. */
static void
one_sentence_of_pip_has_five_kinds(PKG_UNUSED void **state)
{
	static const char log[] = MISSING("six", "none") "six\n";
	static const struct row rows[] = {
		{ .log = log,
			.answer = PKG_E_NOT_FOUND,
			.kind = PKG_E_NO_SUCH_PACKAGE,
			.message = "no package 'six' on 127.0.0.1:8391/pypi/simple" },
		{ .log = log,
			.page = PAGE(FILE_ROW("six-1.0.tar.gz", "")),
			.kind = PKG_E_NO_WHEEL,
			.message = "'six' 1.0 has no wheel",
			.cure = "--source" },
		{ .log = log,
			.verdict = EGRESS_DENIED,
			.host = "127.0.0.1",
			.kind = PKG_E_EGRESS_DENIED,
			.message = "127.0.0.1:8391 is not among the hosts",
			.cure = "network.hosts" },
		{ .log = log,
			.verdict = EGRESS_FAILED,
			.host = "127.0.0.1",
			.reason = "Connection refused",
			.answer = PKG_E_INDEX_UNREACHABLE,
			.kind = PKG_E_INDEX_UNREACHABLE,
			.message = "Connection refused" },
		{ .log = MISSING("six==99", "1.16.0, 1.17.0") "six==99\n",
			.page = PAGE(FILE_ROW("six-1.16.0-py3-none-any.whl", "") "," FILE_ROW(
				"six-1.17.0-py3-none-any.whl", "")),
			.kind = PKG_E_NO_SUCH_VERSION,
			.message =
				"fits 'six==99'; 127.0.0.1:8391/pypi/simple has 1.17.0, 1.16.0" },
	};

	CHECK_ALL(rows);
}

static void
what_the_index_answered_decides(PKG_UNUSED void **state)
{
	static const char log[] = MISSING("six", "none") "six\n";
	static const struct row rows[] = {
		{ .log = log,
			.answer = PKG_E_AUTH,
			.kind = PKG_E_AUTH,
			.message = "the index said so" },
		{ .log = log,
			.answer = PKG_E_INDEX_STATUS,
			.kind = PKG_E_INDEX_STATUS,
			.message = "the index said so",
			.cure = "later" },
		{ .log = log,
			.answer = PKG_E_TLS,
			.kind = PKG_E_TLS,
			.message = "the index said so" },
		{ .log = log,
			.answer = PKG_E_CANCELLED,
			.kind = PKG_E_CANCELLED,
			.message = "the index said so" },
		{ .log = log, .kind = PKG_E_RESOLUTION, .message = "found nothing for 'six'" },
		/* A connection that was let through is no cause, a refusal of another one neither. */
		{ .log = log,
			.answer = PKG_E_NOT_FOUND,
			.verdict = EGRESS_ALLOWED,
			.host = "127.0.0.1",
			.kind = PKG_E_NO_SUCH_PACKAGE,
			.message = "no package" },
		/* We got through, pip did not. */
		{ .log = log,
			.page = PAGE(FILE_ROW("six-1.0-py3-none-any.whl", "")),
			.verdict = EGRESS_TLS_MISMATCH,
			.host = "127.0.0.1",
			.reason = "the TLS server name is elsewhere",
			.kind = PKG_E_EGRESS_DENIED,
			.message = "the TLS server name is elsewhere" },
		{ .log = log,
			.page = PAGE(FILE_ROW("six-1.0-py3-none-any.whl", "")),
			.verdict = EGRESS_ADDRESS,
			.host = "local",
			.reason = "local leads to ::1 (loopback), which needs a rule of its own. "
				  "add the "
				  "host to network.hosts",
			.kind = PKG_E_EGRESS_DENIED,
			.message = "needs a rule of its own",
			.cure = "\"[::1]:8391\"" },
		{ .log = "Could not fetch URL " INDEX
			 "six/: There was a problem confirming the ssl "
			 "certificate: HTTPSConnectionPool(host='h', port=443): Max "
			 "retries\n" MISSING("six", "none") "six\n",
			.page = PAGE(FILE_ROW("six-1.0-py3-none-any.whl", "")),
			.kind = PKG_E_TLS,
			.message = "certificate of 127.0.0.1:8391/pypi/simple" },
	};

	CHECK_ALL(rows);
}

static void
the_files_of_the_project_decide(PKG_UNUSED void **state)
{
	static const struct row rows[] = {
		{ .log = "ERROR: Ignored the following versions that require a different python "
			 "version: 1.0 Requires-Python >=3.99\n" MISSING(
				 "syn-pyfuture", "none") "syn-pyfuture\n",
			.page = PAGE(FILE_ROW("syn_pyfuture-1.0-py3-none-any.whl",
				",\"requires_python\":\">=3.99\"")),
			.kind = PKG_E_REQUIRES_PYTHON,
			.message = "'syn-pyfuture' 1.0 needs Python >=3.99; this environment has "
				   "3.11.2" },
		{ .log = MISSING("a>=2", "1.0") "a>=2\n",
			.page = PAGE(FILE_ROW("a-1.0-py3-none-any.whl", "") "," FILE_ROW(
				"a-2.0-py3-none-any.whl", ",\"requires_python\":\">=3.99\"")),
			.kind = PKG_E_REQUIRES_PYTHON,
			.message = "'a' 2.0 needs Python >=3.99",
			.cure = "an older version" },
		{ .log = MISSING("syn-othertags", "none") "syn-othertags\n",
			.page = PAGE(FILE_ROW("syn_othertags-1.0-cp27-cp27m-win32.whl", "")),
			.kind = PKG_E_NO_WHEEL,
			.message = "for other Pythons or systems" },
		{ .log = MISSING("a", "none") "a\n",
			.page = PAGE(FILE_ROW("a-1.0.tar.gz", "")),
			.source = true,
			.kind = PKG_E_NO_WHEEL,
			.message = "no wheel",
			.cure = "another version" },
		{ .log = MISSING("syn-yanked-all", "1.0") "syn-yanked-all\n",
			.page = PAGE(YANKED_ROW("syn_yanked_all-1.0-py3-none-any.whl")),
			.kind = PKG_E_NO_SUCH_VERSION,
			.message = "withdrawn (yanked)",
			.cure = "syn-yanked-all==1.0" },
		{ .log = MISSING("a>1", "none") "a>1\n",
			.page = PAGE(FILE_ROW("a-1.0-py3-none-any.whl", "") "," FILE_ROW(
				"a-2.0rc1-py3-none-any.whl", "")),
			.kind = PKG_E_NO_SUCH_VERSION,
			.message = "2.0rc1, 1.0",
			.cure = "--pre" },
		{ .log = MISSING("a", "none") "a\n",
			.page = PAGE(""),
			.kind = PKG_E_NO_SUCH_VERSION,
			.message = "without a file that could be installed" },
		{ .log = "ERROR: Could not find a version that satisfies the requirement "
			 "syn-no-such-project>=1 (from syn-missing-dep) (from versions: none)\n"
			 "ERROR: No matching distribution found for syn-no-such-project>=1\n",
			.answer = PKG_E_NOT_FOUND,
			.kind = PKG_E_NO_SUCH_PACKAGE,
			.message = "'syn-no-such-project', which 'syn-missing-dep' needs, on" },
		{ .log = "Discarding " BASE
			 "syn-mismatch-version/syn_mismatch_version-1.0-py3-none-any"
			 ".whl (from " INDEX
			 "syn-mismatch-version/): Requested syn-mismatch-version "
			 "has inconsistent version: expected '1.0', but metadata has "
			 "'2.0'\n" MISSING("syn-mismatch-version", "1.0") "syn-mismatch-version\n",
			.page = PAGE(FILE_ROW("syn_mismatch_version-1.0-py3-none-any.whl", "")),
			.kind = PKG_E_ARCHIVE,
			.message =
				"'syn_mismatch_version-1.0-py3-none-any.whl' is not what its name "
				"says: inconsistent version: expected '1.0', but metadata has "
				"'2.0'" },
	};

	CHECK_ALL(rows);
}

static void
conflicts_are_quoted_compactly(PKG_UNUSED void **state)
{
#define CONFLICT(lines)                                                                            \
	"ERROR: Cannot install a because these package versions have conflicting dependencies.\n"  \
	"\n"                                                                                       \
	"The conflict is caused by:\n" lines "\n"                                                  \
	"To fix this you could try to:\n"                                                          \
	"1. loosen the range of package versions you've specified\n"                               \
	"\n"                                                                                       \
	"ERROR: ResolutionImpossible: for help visit the documentation\n"
#define LINE "    b 1 depends on c\n"
	static const struct row rows[] = {
		{ .log = CONFLICT("    syn-needs1 1.0 depends on syn-base==1.0\n"
				  "    syn-needs2 1.0 depends on syn-base==2.0\n"),
			.kind = PKG_E_CONFLICT,
			.message =
				": syn-needs1 1.0 depends on syn-base==1.0; syn-needs2 1.0 depends "
				"on syn-base==2.0",
			.cure = "other versions" },
		{ .log = CONFLICT(LINE LINE LINE LINE LINE LINE LINE LINE LINE LINE),
			.kind = PKG_E_CONFLICT,
			.message = "b 1 depends on c; and 2 more" },
		{ .log = "ERROR: ResolutionImpossible: for help visit",
			.kind = PKG_E_CONFLICT,
			.message = "contradict each other" },
	};

	CHECK_ALL(rows);
}

static void
bad_files_and_answers_have_their_own_kinds(PKG_UNUSED void **state)
{
#define MISMATCH                                                                                   \
	"ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE. If you have "   \
	"updated the package versions, please update the hashes.\n"
	static const struct row rows[] = {
		{ .log = "Collecting six\n  Downloading " BASE
			 "six/six-1.17.0-py3-none-any.whl (10 kB)\n" MISMATCH "    six from " BASE
			 "six/six-1.17.0-py3-none-any.whl (from -r /job/r (line 3)):\n"
			 "        Expected sha256 1111\n             Got        2222\n\n",
			.kind = PKG_E_HASH,
			.message = "'six-1.17.0-py3-none-any.whl' has sha256 2222, but 1111 was "
				   "announced" },
		{ .log = "  Downloading " BASE "idna/idna-3.10-py3-none-any.whl.metadata (10 kB)\n"
			 "Downloading " BASE "idna/idna-3.10-py3-none-any.whl (69 kB)\n" MISMATCH
			 "    unknown package:\n"
			 "        Expected sha256 1111\n             Got        2222\n\n",
			.kind = PKG_E_HASH,
			.message = "'idna-3.10-py3-none-any.whl' has sha256 2222" },
		{ .log = MISMATCH,
			.kind = PKG_E_HASH,
			.message = "a downloaded file has sha256 (unknown)" },
		{ .log = "Downloading " BASE "six/six-1.17.0-py3-none-any.whl (10 kB)\n"
			 "error: incomplete-download\n\n"
			 "\xc3\x97 Download failed because not enough bytes were received (5.1 "
			 "kB/10 kB)\n",
			.kind = PKG_E_ARCHIVE,
			.message = "'six-1.17.0-py3-none-any.whl' ended early (5.1 kB/10 kB)" },
		{ .log = "  Downloading " BASE "syn_notazip-1.0-py3-none-any.whl (2.3 kB)\n"
			 "ERROR: Wheel 'syn-notazip' located at "
			 "/job/tmp/syn_notazip-1.0-py3-none-any.whl"
			 " is invalid.\n",
			.kind = PKG_E_ARCHIVE,
			.message = "'syn_notazip-1.0-py3-none-any.whl' is not a valid wheel" },
		{ .log = "  Downloading " BASE "syn_nometadata-1.0-py3-none-any.whl (152 bytes)\n"
			 "ERROR: syn-nometadata has an invalid wheel, .dist-info directory not "
			 "found\n",
			.kind = PKG_E_ARCHIVE,
			.message = ".dist-info directory not found" },
		{ .log = "  ERROR: HTTP error 404 while getting " BASE
			 "syn_gone-1.0-py3-none-any.whl (from "
			 "x)\nERROR: Could not install requirement syn-gone\n",
			.kind = PKG_E_INDEX_STATUS,
			.message =
				"'syn_gone-1.0-py3-none-any.whl': the server answered HTTP 404" },
		{ .log = "  ERROR: HTTP error 403 while getting " BASE "x-1.0-py3-none-any.whl\n",
			.kind = PKG_E_AUTH,
			.message = "HTTP 403" },
		{ .log = "  ERROR: HTTP error 403 while getting " BASE "x-1.0-py3-none-any.whl\n",
			.verdict = EGRESS_DENIED,
			.host = "files",
			.kind = PKG_E_EGRESS_DENIED,
			.message = "files:8391" },
		{ .log = "ERROR: Could not install packages due to an OSError: "
			 "HTTPConnectionPool(host="
			 "'127.0.0.1', port=9): Max retries exceeded with url: /x.whl (Caused "
			 "by)\n\n",
			.verdict = EGRESS_TIMEOUT,
			.host = "files",
			.reason = "no answer within 30 s",
			.kind = PKG_E_INDEX_UNREACHABLE,
			.message = "files:8391 could not be reached: no answer within 30 s" },
		{ .log = "ERROR: In --require-hashes mode, all requirements must have their "
			 "versions "
			 "pinned with ==. These do not:\n    requests\n",
			.kind = PKG_E_RESOLUTION,
			.message = "hashes were given for some" },
	};

	CHECK_ALL(rows);
}

static void
how_the_process_ended_is_a_fact(PKG_UNUSED void **state)
{
	static const struct row rows[] = {
		{ .log = "",
			.status = 137,
			.kind = PKG_E_KILLED,
			.message = "was killed by SIGKILL" },
		{ .log = "",
			.status = 143,
			.kind = PKG_E_KILLED,
			.message = "was killed by SIGTERM" },
		{ .log = "",
			.status = 3,
			.kind = PKG_E_RESOLUTION,
			.message = "ended with status 3" },
		{ .log = "Traceback (most recent call last):\nMemoryError\n",
			.status = 2,
			.kind = PKG_E_MEMORY,
			.message = "limit of memory" },
		{ .log = "ERROR: Could not install packages due to an OSError: [Errno 28] No space "
			 "left on "
			 "device\n",
			.kind = PKG_E_DISK_FULL,
			.message = "disk space" },
		{ .log = "ERROR: Could not install packages due to an OSError: [Errno 13] "
			 "Permission "
			 "denied: '/http/x'\n",
			.kind = PKG_E_PERMISSION,
			.message = "Permission denied: '/http/x'" },
		{ .log = "Collecting urldep\nCollecting foo@ http://h/foo-1.0.tar.gz\n  ERROR: "
			 "Error " LANG_PYTHON_PIP_REFUSAL " while executing command git version\n",
			.kind = PKG_E_NO_WHEEL,
			.message = "'foo-1.0.tar.gz' is needed",
			.cure = "--source" },
		{ .log = "Collecting foo@ git+https://h/x.git\n  ERROR: "
			 "Error " LANG_PYTHON_PIP_REFUSAL "\n",
			.kind = PKG_E_UNSUPPORTED,
			.message = "version control system" },
		{ .log = "one\ntwo\nERROR: nobody\x1b[31m knows \xe2\x80\xae this\n\n",
			.kind = PKG_E_RESOLUTION,
			.message = "ended with status 1: one | two | ERROR: nobody knows " },
	};

	CHECK_ALL(rows);
}

static void
a_build_names_what_it_lacks(PKG_UNUSED void **state)
{
#define BUILDING .building = "syn 1.0"
	static const struct row rows[] = {
		{ BUILDING,
			.log = "      x.c:1:10: fatal error: foo/bar.h: No such file or directory\n"
			       "          1 | #include <foo/bar.h>\n      compilation terminated.\n"
			       "      error: command '/usr/bin/x86_64-linux-gnu-gcc' failed with "
			       "exit code 1\n"
			       "      [end of output]\n  ERROR: Failed building wheel for syn\n"
			       "ERROR: Failed to build one or more wheels\n",
			.kind = PKG_E_BUILD_HEADER,
			.message = "building syn 1.0 failed: the compiler did not find the header "
				   "file foo/bar.h",
			.cure = "foo/bar.h" },
		{ BUILDING, .log = "x.c:1:10: fatal error: 'Python.h' file not found\n",
			.kind = PKG_E_BUILD_HEADER, .message = "Python.h" },
		{ BUILDING,
			.log = "  error: command 'x86_64-linux-gnu-gcc' failed: No such file or "
			       "directory\n",
			.kind = PKG_E_BUILD_COMPILER, .message = "no 'x86_64-linux-gnu-gcc'" },
		{ BUILDING,
			.log = "  unable to execute '/usr/bin/gcc': No such file or directory\n",
			.kind = PKG_E_BUILD_COMPILER, .message = "no 'gcc'" },
		{ BUILDING, .log = "  error: can't find Rust compiler\n",
			.kind = PKG_E_BUILD_COMPILER, .message = "no 'rustc'" },
		{ BUILDING,
			.log = "  Cargo, the Rust package manager, is not installed or is not on "
			       "PATH.\n",
			.kind = PKG_E_BUILD_COMPILER, .message = "no 'cargo'" },
		{ BUILDING,
			.log = "  FileNotFoundError: [Errno 2] No such file or directory: "
			       "'cmake'\n",
			.kind = PKG_E_BUILD_COMPILER, .message = "no 'cmake'" },
		{ BUILDING, .log = "  /bin/sh: 1: gfortran: not found\n",
			.kind = PKG_E_BUILD_COMPILER, .message = "no 'gfortran'" },
		/* A file that is missing is no tool. */
		{ BUILDING,
			.log = "  FileNotFoundError: [Errno 2] No such file or directory: "
			       "'README.md'\n",
			.kind = PKG_E_BUILD, .message = "No such file or directory: 'README.md'" },
		{ BUILDING,
			.log = "      ERROR: Could not find a version that satisfies the "
			       "requirement "
			       "syn-no-such-backend (from versions: none)\n"
			       "      ERROR: No matching distribution found for "
			       "syn-no-such-backend\n"
			       "      [end of output]\nerror: subprocess-exited-with-error\n",
			.kind = PKG_E_BUILD,
			.message = "no wheel of 'syn-no-such-backend', which its build needs" },
		{ BUILDING, .log = "      ERROR: No matching distribution found for setuptools\n",
			.verdict = EGRESS_DENIED, .host = "elsewhere", .kind = PKG_E_EGRESS_DENIED,
			.message = "building syn 1.0 failed: elsewhere:8391" },
		{ BUILDING,
			.log = "      urllib.error.URLError: <urlopen error Tunnel connection "
			       "failed: 403>\n",
			.verdict = EGRESS_DENIED, .host = "elsewhere", .kind = PKG_E_EGRESS_DENIED,
			.message = "elsewhere:8391" },
		/* A refused connection that nothing speaks of is not made the cause. */
		{ BUILDING, .log = "      SyntaxError: invalid syntax\n", .verdict = EGRESS_DENIED,
			.host = "elsewhere", .kind = PKG_E_BUILD, .message = "SyntaxError" },
		{ BUILDING,
			.log = "  Running command Building wheel\n  \xc3\x97 python did not run "
			       "successfully.\n"
			       "  \xe2\x94\x82 exit code: 1\n  \xe2\x95\xb0\xe2\x94\x80> [1 lines "
			       "of output]\n"
			       "      SYN-SDIST-FAIL on purpose\n      [end of output]\n"
			       "  note: This error originates from a subprocess\nhint: See above\n",
			.kind = PKG_E_BUILD,
			.message = "building syn 1.0 failed:\n  SYN-SDIST-FAIL on purpose" },
		{ .log = "Collecting syn\n  Downloading " BASE "syn/syn-1.0.tar.gz (305 bytes)\n"
			 "      nothing works\nerror: metadata-generation-failed\n",
			.kind = PKG_E_BUILD,
			.message = "building syn-1.0.tar.gz failed:\n  nothing works" },
		{ BUILDING, .log = "", .kind = PKG_E_BUILD, .message = "building syn 1.0 failed" },
	};

	CHECK_ALL(rows);
}

static void
the_missing_requirement_is_read_with_its_parent(PKG_UNUSED void **state)
{
	static const struct {
		const char *log, *missing, *parent;
	} rows[] = {
		{ "", NULL, NULL },
		{ "ERROR: No matching distribution found for six==99\n", "six==99", NULL },
		{ "ERROR: Could not find a version that satisfies the requirement a>=1 (from b->-r "
		  "x "
		  "(line 3)) (from versions: none)\nERROR: No matching distribution found for "
		  "a>=1\n",
			"a>=1", "b" },
		{ "ERROR: Could not find a version that satisfies the requirement a (from -r x "
		  "(line "
		  "3)) (from versions: none)\nERROR: No matching distribution found for a (from "
		  "x)\n",
			"a", NULL },
		{ "ERROR: Could not find a version that satisfies the requirement a (from "
		  "versions: "
		  "1)\nERROR: No matching distribution found for a\n",
			"a", NULL },
		/* A build's own resolver is another matter. */
		{ "      ERROR: No matching distribution found for a\n", NULL, NULL },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(rows); i++) {
		pkg_autofree char *parent = NULL;
		pkg_autofree char *missing = lang_python_explain_missing(rows[i].log, &parent);

		if (rows[i].missing)
			assert_string_equal(missing, rows[i].missing);
		else
			assert_null(missing);
		if (rows[i].parent)
			assert_string_equal(parent, rows[i].parent);
		else
			assert_null(parent);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_sentence_of_pip_has_five_kinds),
		cmocka_unit_test(what_the_index_answered_decides),
		cmocka_unit_test(the_files_of_the_project_decide),
		cmocka_unit_test(conflicts_are_quoted_compactly),
		cmocka_unit_test(bad_files_and_answers_have_their_own_kinds),
		cmocka_unit_test(how_the_process_ended_is_a_fact),
		cmocka_unit_test(a_build_names_what_it_lacks),
		cmocka_unit_test(the_missing_requirement_is_read_with_its_parent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
