/* lang/r_sysreqs.h - what packages need of the system, and which package of the system has it.
 * Purpose    share/sysreqs.json maps words of SystemRequirements, and headers, to packages of apt
 *            and dnf; what is there is found out by looking for the headers, before a build fails.
 * Ownership  The table is a heap object; texts are given.
 * Errors     As reading a JSON file.
 */
#ifndef LANG_R_SYSREQS_H
#define LANG_R_SYSREQS_H
#include "core/home.h"
#include "core/json.h"

struct lang_r_sysreqs;
struct lang_r_sysreqs *lang_r_sysreqs_open(const struct pkg_home *home, struct pkg_error *err);
void lang_r_sysreqs_free(struct lang_r_sysreqs *sysreqs);
PKG_DEFINE_CLEANUP(struct lang_r_sysreqs, lang_r_sysreqs_free)
/* "zlib.h is not there: apt-get install zlib1g-dev", for every requirement that is known and
 * missing; NULL: none. */
char *lang_r_sysreqs_missing(const struct lang_r_sysreqs *sysreqs, const char *requirements);
/* The command that brings a header ("curl/curl.h"); NULL: not known. */
char *lang_r_sysreqs_cure(const struct lang_r_sysreqs *sysreqs, const char *header);
#endif
