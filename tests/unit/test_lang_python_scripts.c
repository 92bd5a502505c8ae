#include "unit.h"

#include <string.h>

#include "lang/python_scripts.h"

#define LONG_DIR                                                                                   \
	"/012345678901234567890123456789012345678901234567890123456789012345678901234567890123456" \
	"7890123456789"

static void
a_shebang_is_pips_up_to_127_bytes_and_a_program_of_sh_beyond(PKG_UNUSED void **state)
{
	/* "#!" and the newline count: 124 bytes of path are the most. */
	static const char *const cases[][2] = {
		{ "/env/bin/python", "#!/env/bin/python\n" },
		{ LONG_DIR "/012345678901/python3.1", NULL },
		{ LONG_DIR "/0123456789012/python3.11",
			"#!/bin/sh\n'''exec' " LONG_DIR
			"/0123456789012/python3.11 \"$0\" \"$@\"\n' '''\n" },
		{ "/my env/bin/python",
			"#!/bin/sh\n'''exec' \"/my env/bin/python\" \"$0\" \"$@\"\n' '''\n" },
		{ "/\xC3\xA4/bin/python", "#!/\xC3\xA4/bin/python\n" },
	};

	assert_int_equal(strlen(cases[1][0]), 124);
	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		pkg_cleanup_buf struct pkg_buf out = { 0 };
		pkg_autofree char *plain = pkg_xasprintf("#!%s\n", cases[i][0]);

		lang_python_shebang(cases[i][0], &out);
		assert_string_equal(pkg_buf_str(&out), cases[i][1] ? cases[i][1] : plain);
	}
}

static void
a_launcher_is_what_pip_writes(PKG_UNUSED void **state)
{
	static const struct {
		struct lang_entry_point point;
		const char *import;
		const char *call;
	} cases[] = {
		{ { (char *)"flask", (char *)"flask.cli", (char *)"main", false },
			"from flask.cli import main\n", "sys.exit(main())\n" },
		{ { (char *)"x", (char *)"a", (char *)"Cls.run.it", true }, "from a import Cls\n",
			"sys.exit(Cls.run.it())\n" },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		pkg_cleanup_buf struct pkg_buf out = { 0 };
		pkg_autofree char *want = pkg_xasprintf(
			"#!/e/bin/python\n# -*- coding: utf-8 -*-\nimport re\nimport sys\n%sif "
			"__name__ == '__main__':\n    sys.argv[0] = "
			"re.sub(r'(-script\\.pyw|\\.exe)?$', '', sys.argv[0])\n    %s",
			cases[i].import, cases[i].call);

		lang_python_launcher("/e/bin/python", &cases[i].point, &out);
		assert_string_equal(pkg_buf_str(&out), want);
	}
}

static void
only_the_first_line_of_a_python_script_is_replaced(PKG_UNUSED void **state)
{
	static const struct {
		const char *text;
		const char *want; /* NULL: not ours */
	} cases[] = {
		{ "#!python\nprint(1)\n", "#!/e/bin/python\nprint(1)\n" },
		{ "#!python3 -u\r\nprint(1)\r\n", "#!/e/bin/python\nprint(1)\r\n" },
		{ "#!pythonw\n#!python\n", "#!/e/bin/python\n#!python\n" },
		{ "#!python", "#!/e/bin/python\n" },
		{ "#!/usr/bin/python\n", NULL },
		{ "#!/usr/bin/env python\n", NULL },
		{ "\n#!python\n", NULL },
		{ "\x7f"
		  "ELF",
			NULL },
		{ "", NULL },
	};

	for (size_t i = 0; i < PKG_ARRAY_LEN(cases); i++) {
		pkg_cleanup_buf struct pkg_buf out = { 0 };
		size_t len = strlen(cases[i].text);

		assert_int_equal(
			lang_python_script_is_ours(cases[i].text, len), cases[i].want != NULL);
		if (!cases[i].want)
			continue;
		lang_python_script_rewrite("/e/bin/python", cases[i].text, len, &out);
		assert_string_equal(pkg_buf_str(&out), cases[i].want);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_shebang_is_pips_up_to_127_bytes_and_a_program_of_sh_beyond),
		cmocka_unit_test(a_launcher_is_what_pip_writes),
		cmocka_unit_test(only_the_first_line_of_a_python_script_is_replaced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
