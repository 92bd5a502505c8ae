/* lang/python_client.h - pages and metadata from the indexes of a request, many at once.
 * Purpose    The network behind lang/python_provider.h. A page that arrives makes the metadata of its best
 *            file wanted, and that the pages of what it needs, without waiting for the resolver: a plan takes
 *            as many round trips as its graph is deep.
 * Ownership  A heap object; borrows context and request. Pages and metadata live as long as it.
 * Errors     As fetch/download.h; PKG_E_ARCHIVE for a file whose metadata is not that of its name;
 *            PKG_E_HASH for a metadata file that is not what the page announces; PKG_E_UNSUPPORTED for a
 *            source distribution.
 *
 * Several indexes: the first that has the name has it alone, so nobody can put a newer version of an internal
 * project on a public index.
 * Metadata comes from the cache, from the file beside the wheel (PEP 658), from the wheel in the cache, from
 * ranges of the wheel on its server, and only then from the whole wheel, which is kept.
 */
#ifndef LANG_PYTHON_CLIENT_H
#define LANG_PYTHON_CLIENT_H
#include "lang/lang.h"
#include "lang/metadata.h"
#include "lang/python_provider.h"
#include "lang/python_why.h"

struct lang_python_client;
/* revalidate: pages that are still fresh are asked for all the same. */
struct lang_python_client *lang_python_client_new(struct lang_context *lang,
	const struct lang_request *request, bool revalidate, struct pkg_error *err);
void lang_python_client_free(struct lang_python_client *client);
PKG_DEFINE_CLEANUP(struct lang_python_client, lang_python_client_free)
/* From now on it is told what arrives; NULL: nobody is. */
void lang_python_client_serve(
	struct lang_python_client *client, struct lang_python_provider *provider);

void lang_python_client_want_page(struct lang_python_client *client, const char *key);
int lang_python_client_page(struct lang_python_client *client, const char *key,
	const struct lang_simple_page **page, struct pkg_error *err);
void lang_python_client_want_metadata(
	struct lang_python_client *client, const char *key, const struct lang_simple_file *file);
int lang_python_client_metadata(struct lang_python_client *client, const char *key,
	const struct lang_simple_file *file, const struct lang_metadata **out,
	struct pkg_error *err);

/* The index (with userinfo) whose page has the project; NULL: none. */
const char *lang_python_client_index(const struct lang_python_client *client, const char *key);
/* What each index that was asked said of it; given array, clear with _free. */
struct lang_python_why_index *lang_python_client_answers(
	const struct lang_python_client *client, const char *key, size_t *count);
void lang_python_client_answers_free(struct lang_python_why_index *answers, size_t count);
/* A page came from the cache without a question to its index. */
bool lang_python_client_guessed(const struct lang_python_client *client);
#endif
