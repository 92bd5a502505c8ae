/* lang/pep508.h - requirements (PEP 508): name[extra] >=1,<2 ; marker, or name @ URL ; marker.
 * Purpose    The only reader of what someone asks to be installed. The whole text must match the
 *            grammar: nothing is guessed, cut or skipped, and no requirement can be read as an
 *            option by a program that gets it as an argument.
 * Ownership  The struct owns everything in it; release with lang_requirement_clear().
 * Errors     PKG_E_REQUIREMENT: the text (credentials of a URL left out), the column, what was
 *            expected there. On failure *out is empty.
 */
#ifndef LANG_PEP508_H
#define LANG_PEP508_H
#include "core/argv.h"
#include "lang/marker.h"
#include "lang/pep440_set.h"

#define LANG_REQUIREMENT_MAX 4096
#define LANG_REQUIREMENT_EXTRAS_MAX 64

/* Where the distribution comes from. Only INDEX and URL are ever installed from: the others are
 * recognised so that the refusal can say why. */
enum lang_requirement_kind {
	LANG_REQUIREMENT_INDEX, /* by name, from an index */
	LANG_REQUIREMENT_URL, /* http or https; valid for core/url.h */
	LANG_REQUIREMENT_FILE, /* file: */
	LANG_REQUIREMENT_VCS, /* git+https:, hg+..., svn+..., bzr+... */
};

struct lang_requirement {
	enum lang_requirement_kind kind;
	char *name; /* as given */
	char *normalized; /* PEP 503 */
	struct pkg_argv *extras; /* as given, sorted, each normalised name once; never NULL */
	struct lang_pep440_set versions; /* empty: any; always for a URL */
	char *url; /* NULL for INDEX; may hold credentials */
	struct lang_marker *marker; /* NULL: always applies */
};

int lang_requirement_parse(const char *text, struct lang_requirement *out, struct pkg_error *err);
/* For text that may hold a NUL, which is then refused. */
int lang_requirement_parse_mem(
	const char *text, size_t len, struct lang_requirement *out, struct pkg_error *err);
void lang_requirement_clear(struct lang_requirement *requirement);
#define lang_cleanup_requirement __attribute__((cleanup(lang_requirement_clear)))

/* The extra is among those asked for, whatever its spelling (PEP 685). */
bool lang_requirement_has_extra(const struct lang_requirement *requirement, const char *extra);
/* Given: "name[a,b]<2,>=1; marker" or "name[a,b] @ url ; marker"; parses to the same requirement.
 */
char *lang_requirement_text(const struct lang_requirement *requirement);
#endif
