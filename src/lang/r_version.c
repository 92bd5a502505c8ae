#include "lang/r_version.h"

#include <ctype.h>
#include <string.h>

bool
lang_r_version_is(const char *text, bool single)
{
	size_t len = strlen(text);
	size_t numbers = 0;

	if (len == 0 || len > LANG_R_VERSION_MAX)
		return false;
	for (size_t i = 0; i < len; numbers++) {
		size_t digits = 0;

		while (isdigit((unsigned char)text[i + digits]))
			digits++;
		i += digits;
		if (digits == 0 || (text[i] != '\0' && text[i] != '.' && text[i] != '-'))
			return false;
		if (text[i] != '\0' && text[++i] == '\0')
			return false;
	}
	return single || numbers > 1;
}

/* One number at *text, without its leading zeroes: numbers have no size of their own in R. */
static size_t
next_number(const char **text, const char **digits)
{
	size_t len = 0;

	while (**text == '0' && isdigit((unsigned char)(*text)[1]))
		(*text)++;
	*digits = *text;
	while (isdigit((unsigned char)(*text)[len]))
		len++;
	*text += len;
	if (**text != '\0')
		(*text)++;
	return len;
}

int
lang_r_version_compare(const char *a, const char *b)
{
	bool valid_a = lang_r_version_is(a, true);
	bool valid_b = lang_r_version_is(b, true);

	if (!valid_a || !valid_b)
		return valid_a != valid_b ? (valid_a ? 1 : -1) : strcmp(a, b);
	while (*a != '\0' && *b != '\0') {
		const char *left, *right;
		size_t left_len = next_number(&a, &left);
		size_t right_len = next_number(&b, &right);
		int order = left_len != right_len ? (left_len < right_len ? -1 : 1)
						  : strncmp(left, right, left_len);

		if (order != 0)
			return order;
	}
	return *a != '\0' ? 1 : *b != '\0' ? -1 : 0;
}

bool
lang_r_version_holds(const char *version, const char *op, const char *bound)
{
	int order = lang_r_version_compare(version, bound);

	if (strcmp(op, "<") == 0)
		return order < 0;
	if (strcmp(op, "<=") == 0)
		return order <= 0;
	if (strcmp(op, "==") == 0)
		return order == 0;
	if (strcmp(op, "!=") == 0)
		return order != 0;
	if (strcmp(op, ">=") == 0)
		return order >= 0;
	return strcmp(op, ">") == 0 && order > 0;
}

size_t
lang_r_version_minor(const char *text)
{
	size_t len = strcspn(text, ".-");

	return text[len] == '\0' ? len : len + 1 + strcspn(text + len + 1, ".-");
}
