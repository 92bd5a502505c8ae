/* tests/unit/fake_lang.h - a language without interpreters, for tests of install/.
 * Purpose    A test that links fake_lang.c has its lang_find() in place of the real one, so that whole jobs run on the
 *            real store, cache and file system without Python or a sandbox.
 * Ownership  Static data.
 * Errors     As lang/lang.h.
 *
 * The world: every name is a package. "NAME" means its newest version, 2.0, "NAME==V" that one, "NAME @ URL" and
 * "NAME@URL" version 1.0 from there. What a package brings is told by its name:
 *   app*       needs "lib" of the same version, and has a script bin/NAME
 *   startup*   has a .pth file
 *   shared*    has lib/site/shared.py, as every other of that kind
 *   sdist*     is a source distribution; sdist-startup* shows its .pth only once built
 *   missing*   is not in the index
 *   broken*    does not arrive: verify does not find it
 * An environment that is not hermetic inherits base 1.0. Bytes are put into the cache while planning, so nothing is
 * downloaded.
 */
#ifndef UNIT_FAKE_LANG_H
#define UNIT_FAKE_LANG_H
#include "lang/lang.h"

#define FAKE_SITE "lib/site"
/* What an index that the test looks at would see: "ok" or the kind of the refusal, of the last direct URL. */
extern const char *fake_lang_last_allow;
#endif
