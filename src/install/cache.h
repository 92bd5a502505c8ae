/* install/cache.h - what the cache holds, and what may go.
 * Purpose    Sizes by kind; prune removes what no generation on disk was made from. A generation is made of hard
 *            links, so nothing it needs is lost either way: pruning costs a later download or build at most.
 * Ownership  Results are given.
 * Errors     PKG_E_BUSY for a prune while a job is at work.
 */
#ifndef INSTALL_CACHE_H
#define INSTALL_CACHE_H
#include "core/home.h"
#include "core/json.h"

/* {"path","kinds":[{"kind","files","bytes"}],"bytes"} */
struct json_object *install_cache_info(const struct pkg_home *home, struct pkg_error *err);
/* The same shape, of what was removed. */
struct json_object *install_cache_prune(const struct pkg_home *home, struct pkg_error *err);
#endif
