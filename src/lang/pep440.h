/* lang/pep440.h - Python versions (PEP 440): parse, order, canonical form.
 * Purpose    Versions as the `packaging` library reads them, all spellings included. Specifiers are
 *            in lang/pep440_set.h.
 * Ownership  struct lang_pep440_version is plain storage of its own: copy it, forget it. Numbers
 * are slices of its text, so any count of digits compares right and nothing overflows. Errors
 * PKG_E_INVALID for text that is no version, is longer than LANG_PEP440_MAX bytes (also in
 * canonical form) or has more than LANG_PEP440_RELEASE_MAX release numbers.
 */
#ifndef LANG_PEP440_H
#define LANG_PEP440_H
#include "core/error.h"
#include <stdbool.h>
#include <stddef.h>

#define LANG_PEP440_MAX 256
#define LANG_PEP440_RELEASE_MAX 32

enum lang_pep440_pre { LANG_PEP440_FINAL, LANG_PEP440_ALPHA, LANG_PEP440_BETA, LANG_PEP440_RC };

/* Digits without leading zeros; len 0 is zero. */
struct lang_pep440_number {
	unsigned short at;
	unsigned short len;
};

struct lang_pep440_version {
	char text[LANG_PEP440_MAX + 1]; /* as given, in lower case, without blanks around it */
	struct lang_pep440_number epoch;
	struct lang_pep440_number release[LANG_PEP440_RELEASE_MAX];
	unsigned char release_count; /* 1 at least */
	enum lang_pep440_pre pre;
	struct lang_pep440_number pre_number;
	bool has_post;
	struct lang_pep440_number post;
	bool has_dev;
	struct lang_pep440_number dev;
	struct lang_pep440_number local; /* a slice of text without its '+'; len 0: none */
};

int lang_pep440_parse(const char *text, struct lang_pep440_version *out, struct pkg_error *err);
int lang_pep440_parse_mem(
	const char *text, size_t len, struct lang_pep440_version *out, struct pkg_error *err);

/* The total order, local versions included: negative, 0, positive. */
int lang_pep440_compare(const struct lang_pep440_version *a, const struct lang_pep440_version *b);
/* Without the local part. */
int lang_pep440_compare_public(
	const struct lang_pep440_version *a, const struct lang_pep440_version *b);
/* Epoch and release only: "1.0.post1", "1a2" and "1+x" are equal here. */
int lang_pep440_compare_base(
	const struct lang_pep440_version *a, const struct lang_pep440_version *b);
/* Same epoch, and the first `count` release numbers of `version` (zeros where it has fewer) are
 * those of `prefix`. */
bool lang_pep440_has_prefix(const struct lang_pep440_version *version,
	const struct lang_pep440_version *prefix, size_t count);
/* A pre-release or a developmental release. */
bool lang_pep440_is_pre(const struct lang_pep440_version *version);
/* Given: the normalised spelling; trailing zeros of the release are kept ("1.0" is not "1"). */
char *lang_pep440_canonical(const struct lang_pep440_version *version);
#endif
