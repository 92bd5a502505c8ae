/* install/asked.h - what a job's request says, parsed for the language.
 * Purpose    One reading of the stored request for every phase that needs it: planning, fetching (credentials
 *            of the indexes), building.
 * Ownership  struct install_asked is the caller's storage and owns its vectors; a lang_request borrows from it
 *            and from the worker.
 * Errors     PKG_E_REQUIREMENT with the position.
 */
#ifndef INSTALL_ASKED_H
#define INSTALL_ASKED_H
#include "install/worker.h"

struct install_asked {
	struct pkg_argv *requirements; /* canonical */
	struct pkg_argv *keys; /* of the same, in the same order */
	struct pkg_argv *constraints;
	struct pkg_argv *hashes;
	struct pkg_argv *extra; /* index URLs beside the first */
	struct pkg_argv *repos; /* of R packages, in order */
};
int install_asked_read(
	struct install_worker *worker, struct install_asked *out, struct pkg_error *err);
void install_asked_clear(struct install_asked *asked);
#define pkg_cleanup_install_asked __attribute__((cleanup(install_asked_clear)))
struct lang_request install_asked_request(
	const struct install_worker *worker, const struct install_asked *asked);
/* The request's index URLs with whatever userinfo the configuration holds for them: for the fetcher alone.
 * Appended. */
void install_asked_indexes(const struct install_worker *worker, const struct install_asked *asked,
	struct pkg_argv *out);
#endif
