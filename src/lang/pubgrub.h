/* lang/pubgrub.h - version solving: PubGrub (Natalie Weizenbaum, "PubGrub: Next-Generation Version
 *                  Solving", 2018; doc/solver.md of Dart's pub).
 * Purpose    Finds one version for every package that is needed, or a proof that there is none. A pure
 *            function over a provider: no network, no clock, no names. The same answers of the provider
 *            make the same result.
 * Ownership  The solver is a heap object and borrows the provider; needs are given to it.
 * Errors     What the provider's callbacks set; PKG_E_RESOLUTION when there is no end in sight.
 *
 * Packages are small numbers that the provider gives out, 0 being what was asked for. Each has a list of
 * candidates that does not change while it is solved, in ascending order; a set of candidates is an array
 * of bits over that list. So a range of versions is exact, whatever a version specifier means, and one more
 * bit ("not chosen at all") makes the positive and negative terms of the paper the same thing: a set of
 * outcomes of one package. An incompatibility is a list of such sets that cannot all come true.
 */
#ifndef LANG_PUBGRUB_H
#define LANG_PUBGRUB_H
#include "core/buf.h"
#include "core/error.h"
#include <stdbool.h>
#include <stdint.h>

#define LANG_PUBGRUB_ROOT 0

/* --- sets of candidates: bits, with room for the one more --- */

static inline size_t
lang_pubgrub_words(size_t candidates)
{
	return candidates / 64 + 1;
}

static inline void
lang_pubgrub_put(uint64_t *set, size_t candidate)
{
	set[candidate / 64] |= (uint64_t)1 << (candidate % 64);
}

static inline bool
lang_pubgrub_in(const uint64_t *set, size_t candidate)
{
	return (set[candidate / 64] >> (candidate % 64)) & 1;
}

uint64_t *lang_pubgrub_set_new(size_t candidates); /* empty; free() */

/* --- the provider --- */

struct lang_pubgrub_need {
	int package;
	uint64_t *set; /* given: the candidates that will do */
	char *text; /* given: the need in words, "b<2" */
};

struct lang_pubgrub_needs {
	struct lang_pubgrub_need *items;
	size_t count;
	char *unusable; /* given: why this candidate cannot be chosen ("is not what it says"); NULL */
};
void lang_pubgrub_needs_add(
	struct lang_pubgrub_needs *needs, int package, uint64_t *set, char *text);
void lang_pubgrub_needs_clear(struct lang_pubgrub_needs *needs);

struct lang_pubgrub;

struct lang_pubgrub_ops {
	/* How many candidates the package has. Asked once, when a need names it first. */
	size_t (*count)(void *context, int package);
	/* One of `allowed`, which is not empty: the one to try first. */
	size_t (*choose)(void *context, const struct lang_pubgrub *solver, int package,
		const uint64_t *allowed);
	/* What choosing it would need. Asked once for each. -1 ends the solving with *err. */
	int (*needs)(void *context, int package, size_t candidate, struct lang_pubgrub_needs *out,
		struct pkg_error *err);
	/* In words, given: "b", "b[extra]"; "1.2"; for explanations only. */
	char *(*name)(void *context, int package);
	char *(*version)(void *context, int package, size_t candidate);
};

/* --- solving --- */

enum lang_pubgrub_end { LANG_PUBGRUB_SOLVED, LANG_PUBGRUB_IMPOSSIBLE, LANG_PUBGRUB_FAILED };

struct lang_pubgrub *lang_pubgrub_new(const struct lang_pubgrub_ops *ops, void *context);
void lang_pubgrub_free(struct lang_pubgrub *solver);
PKG_DEFINE_CLEANUP(struct lang_pubgrub, lang_pubgrub_free)
/* Once for each solver. */
enum lang_pubgrub_end lang_pubgrub_solve(struct lang_pubgrub *solver, struct pkg_error *err);
/* The candidate that was chosen, -1: the package is not needed. */
long lang_pubgrub_chosen(const struct lang_pubgrub *solver, int package);
/* What it may still become; borrowed; NULL for a package that nothing named yet. */
const uint64_t *lang_pubgrub_state(const struct lang_pubgrub *solver, int package);
/* A chosen candidate, as things stand, needs this set of that package: each(). */
void lang_pubgrub_active(const struct lang_pubgrub *solver, int package,
	void (*each)(void *context, const char *text), void *context);
size_t lang_pubgrub_steps(const struct lang_pubgrub *solver); /* decisions made; for tests */

/* --- why it is impossible (pubgrub_explain.c) --- */

struct lang_pubgrub_cause {
	int package; /* whose candidates ... */
	uint64_t *set; /* ... these ... */
	int needed; /* ... need that package, ...; -1: they are unusable */
	const char *text; /* ... like this; borrowed from the solver */
	bool nothing_fits; /* no candidate of `needed` will do */
};
struct lang_pubgrub_causes {
	struct lang_pubgrub_cause *items;
	size_t count;
};
/* The facts that the proof rests on, each once, those of what was asked for last. */
void lang_pubgrub_causes(const struct lang_pubgrub *solver, struct lang_pubgrub_causes *out);
void lang_pubgrub_causes_clear(struct lang_pubgrub_causes *causes);
#define lang_cleanup_pubgrub_causes __attribute__((cleanup(lang_pubgrub_causes_clear)))
/* Sentences: one when few facts are enough, else the proof step by step. Given. */
char *lang_pubgrub_explain(const struct lang_pubgrub *solver);
#endif
