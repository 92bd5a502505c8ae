/* core/json.h - json-c with our manners.
 * Purpose    Bounded parsing, typed access with errors that name the key, canonical text.
 * Ownership  struct json_object is refcounted by json-c: pkg_json_parse() gives a reference,
 *            getters borrow, pkg_json_set*() take the value given.
 * Errors     PKG_E_INVALID that says where: "line 3, column 7" or the key.
 */
#ifndef CORE_JSON_H
#define CORE_JSON_H
#include "core/argv.h"
#include "core/buf.h"
#include "core/error.h"
#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

#define PKG_JSON_DEPTH 64

static inline PKG_UNUSED void
pkg_json_put_cleanup(struct json_object **slot)
{
	json_object_put(*slot);
	*slot = NULL;
}
#define pkg_json_put json_object_put

/* Strict (RFC 8259): one value other than null, nothing after it, valid UTF-8, at most
 * PKG_JSON_DEPTH levels; no "\u0000" in strings and no number beyond a double, which C could not
 * hold. Of two equal keys the last one counts. */
struct json_object *pkg_json_parse(const char *text, size_t len, struct pkg_error *err);
/* Also accepts // and C comments and trailing commas (the configuration). */
struct json_object *pkg_json_parse_relaxed(const char *text, size_t len, struct pkg_error *err);
struct json_object *pkg_json_read_file(const char *path, size_t max, struct pkg_error *err);
/* Keys in byte order, numbers in one spelling, no white space, no escaped slashes: what gets
 * hashed. Given. */
char *pkg_json_canonical(struct json_object *value);
/* One line. Given. */
char *pkg_json_line(struct json_object *value);

/* NULL (or the fallback) when the key is absent or null; the wrong type is never converted. */
const char *pkg_json_str(struct json_object *object, const char *key);
const char *pkg_json_str_or(struct json_object *object, const char *key, const char *fallback);
int64_t pkg_json_int(struct json_object *object, const char *key, int64_t fallback);
bool pkg_json_bool(struct json_object *object, const char *key, bool fallback);
struct json_object *pkg_json_get(struct json_object *object, const char *key);
struct json_object *pkg_json_array(
	struct json_object *object, const char *key); /* NULL unless one */
/* Errors naming the key when it is absent or of another type. Borrowed result. */
const char *pkg_json_need_str(struct json_object *object, const char *key, struct pkg_error *err);
/* Array of strings into out (appended). Absent is fine. */
int pkg_json_strings(
	struct json_object *object, const char *key, struct pkg_argv *out, struct pkg_error *err);

void pkg_json_set(struct json_object *object, const char *key, struct json_object *value);
/* text may be NULL: sets null. What is no UTF-8 passes through pkg_text_clean(). */
void pkg_json_set_str(struct json_object *object, const char *key, const char *text);
void pkg_json_set_int(struct json_object *object, const char *key, int64_t value);
void pkg_json_set_bool(struct json_object *object, const char *key, bool value);
struct json_object *pkg_json_from_argv(const struct pkg_argv *argv); /* given */
/* {"kind","message","cure"}; given. */
struct json_object *pkg_json_from_error(const struct pkg_error *err);
void pkg_json_to_error(struct json_object *object, struct pkg_error *err);
#endif
