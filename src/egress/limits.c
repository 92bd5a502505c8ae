#include "egress/limits.h"

#include <stddef.h>
#include <string.h>

static const struct limit {
	const char *name;
	size_t offset;
	int64_t value, least, most;
} table[] = {
#define LIMIT_ROW(name, value, least, most)                                                        \
	{ #name, offsetof(struct egress_limits, name), value, least, most },
	EGRESS_LIMITS(LIMIT_ROW)
#undef LIMIT_ROW
};

static void
put(struct egress_limits *limits, const struct limit *limit, int64_t value)
{
	memcpy((char *)limits + limit->offset, &value, sizeof(value));
}

void
egress_limits_default(struct egress_limits *limits)
{
	for (size_t i = 0; i < PKG_ARRAY_LEN(table); i++)
		put(limits, &table[i], table[i].value);
}

static const struct limit *
find(const char *name)
{
	for (size_t i = 0; i < PKG_ARRAY_LEN(table); i++)
		if (strcmp(table[i].name, name) == 0)
			return &table[i];
	return NULL;
}

int
egress_limits_set_json(
	struct egress_limits *limits, struct json_object *object, struct pkg_error *err)
{
	struct egress_limits result = *limits;

	if (!json_object_is_type(object, json_type_object))
		return pkg_error_set(err, PKG_E_INVALID, "limits: not an object");
	json_object_object_foreach(object, key, value)
	{
		const struct limit *limit = find(key);
		int64_t number;

		if (!limit)
			return pkg_error_set(err, PKG_E_INVALID, "limits: no limit '%.64s'", key);
		if (!json_object_is_type(value, json_type_int))
			return pkg_error_set(
				err, PKG_E_INVALID, "limits: '%s' is not an integer", key);
		number = json_object_get_int64(value);
		if (number < limit->least || number > limit->most)
			return pkg_error_set(err, PKG_E_INVALID,
				"limits: '%s' is not in %lld..%lld", key, (long long)limit->least,
				(long long)limit->most);
		put(&result, limit, number);
	}
	*limits = result;
	return 0;
}
