/* An index page in JSON: what comes out can be fetched, named and kept. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lang/simple_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(const struct lang_simple_file *file)
{
	if (strncasecmp(file->url, "http", 4) != 0 || strpbrk(file->url, " \t\r\n\\") ||
		strpbrk(file->filename, "/\t\n") || !*file->filename)
		abort();
	if (file->sha256 && strlen(file->sha256) != 64)
		abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	lang_cleanup_simple_page struct lang_simple_page page = { 0 };
	lang_cleanup_simple_page struct lang_simple_page again = { 0 };
	pkg_cleanup_buf struct pkg_buf first = { 0 };
	pkg_cleanup_buf struct pkg_buf second = { 0 };

	if (lang_simple_parse((const char *)data, size, "application/json",
		    "https://i.example/s/x/", &page, NULL) < 0)
		return 0;
	for (size_t i = 0; i < page.count; i++)
		check(&page.files[i]);
	lang_simple_page_save(&page, &first);
	if (lang_simple_page_load(pkg_buf_str(&first), first.len, &again, NULL) < 0)
		abort();
	lang_simple_page_save(&again, &second);
	if (strcmp(pkg_buf_str(&first), pkg_buf_str(&second)) != 0)
		abort();
	return 0;
}
