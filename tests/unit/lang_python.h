/* tests/unit/lang_python.h - an interpreter that does not exist, for the tests of lang/python_*. */
#ifndef UNIT_LANG_PYTHON_H
#define UNIT_LANG_PYTHON_H
#include "core/file.h"
#include "core/path.h"
#include "lang/python.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FACTS_311                                                                                  \
	"{\"abiflags\":\"\",\"base_exec_prefix\":\"/usr\",\"base_executable\":\"/usr/bin/"         \
	"python3.11\",\"base_prefix\":\"/usr\",\"cache_tag\":\"cpython-311\",\"debug\":false,"     \
	"\"exec_prefix\":\"/usr\",\"executable\":\"/usr/bin/python3\",\"ext_suffix\":\".cpython-"  \
	"311-x86_64-linux-gnu.so\",\"free_threaded\":false,\"inherited\":[\"/usr/local/lib/"       \
	"python3.11/dist-packages\",\"/usr/lib/python3/dist-packages\"],\"layout\":{\"data\":"     \
	"\"\",\"headers\":\"include/site/python3.11\",\"platlib\":\"lib/python3.11/"               \
	"site-packages\",\"purelib\":\"lib/python3.11/site-packages\",\"python\":\"bin/python\","  \
	"\"scheme\":\"venv\",\"scripts\":\"bin\"},\"lib_dirs\":[\"/usr/lib/x86_64-linux-gnu\"],"   \
	"\"libc\":{\"name\":\"glibc\",\"version\":\"2.36\"},\"magic\":\"a70d0d0a\",\"markers\":"   \
	"{\"implementation_name\":\"cpython\",\"implementation_version\":\"3.11.2\",\"os_name\":"  \
	"\"posix\",\"platform_machine\":\"x86_64\",\"platform_python_implementation\":"            \
	"\"CPython\",\"platform_release\":\"6.1.0\",\"platform_system\":\"Linux\","                \
	"\"platform_version\":\"#1 SMP\",\"python_full_version\":\"3.11.2\",\"python_version\":"   \
	"\"3.11\",\"sys_platform\":\"linux\"},\"multiarch\":\"x86_64-linux-gnu\",\"pip_wheels\":"  \
	"[\"/usr/share/python-wheels/"                                                             \
	"pip-23.0.1-py3-none-any.whl\"],\"platform\":\"linux-x86_64\","                            \
	"\"pointer_bits\":64,\"prefix\":\"/usr\",\"probe\":1,\"real_executable\":\"/usr/bin/"      \
	"python3.11\",\"soabi\":\"cpython-311-x86_64-linux-gnu\",\"stdlib\":\"/usr/lib/"           \
	"python3.11\",\"sys_path\":[\"/usr/lib/"                                                   \
	"python3.11\"],\"venv\":true,\"version\":\"3.11.2\","                                      \
	"\"version_info\":[3,11,2,\"final\",0]}"
#define SITE_311 "lib/python3.11/site-packages"

static inline PKG_UNUSED struct json_object *
facts_311(void)
{
	return lang_python_facts_parse(FACTS_311, strlen(FACTS_311), NULL);
}

/* value is JSON; "layout.purelib" reaches inside; "null" takes the fact away. */
static inline PKG_UNUSED void
facts_set(struct json_object *facts, const char *key, const char *value)
{
	const char *dot = strchr(key, '.');
	pkg_autofree char *object = dot ? pkg_xstrndup(key, (size_t)(dot - key)) : NULL;
	struct json_object *in = dot ? pkg_json_get(facts, object) : facts;
	pkg_autofree char *wrapped = pkg_xasprintf("[%s]", value);
	struct json_object *list = pkg_json_parse(wrapped, strlen(wrapped), NULL);
	struct json_object *item = json_object_array_get_idx(list, 0);

	if (item)
		json_object_object_add(in, dot ? dot + 1 : key, json_object_get(item));
	else
		json_object_object_del(in, dot ? dot + 1 : key);
	json_object_put(list);
}

static inline PKG_UNUSED char *
test_directory(void)
{
	char name[] = "/tmp/pkgd-python-XXXXXX";
	char *made = mkdtemp(name);

	return made ? pkg_xstrdup(made) : NULL;
}

/* Directories are made on the way. */
static inline PKG_UNUSED void
put_file(const char *root, const char *relative, const char *text)
{
	pkg_autofree char *path = pkg_path_join(root, relative);
	pkg_autofree char *directory = pkg_path_dir(path);

	if (pkg_dir_make(directory, 0755, NULL) < 0 ||
		pkg_file_write(path, text, strlen(text), 0644, false, NULL) < 0)
		abort();
}
#endif
