/* lang/pubgrub_terms.h - what lang/pubgrub.c and lang/pubgrub_explain.c share.
 * Purpose    Terms, incompatibilities and the partial solution.
 * Ownership  Everything lives in the solver's arena and goes with it.
 * Errors     None.
 */
#ifndef LANG_PUBGRUB_TERMS_H
#define LANG_PUBGRUB_TERMS_H
#include "lang/pubgrub.h"

/* The outcome of the package is in the set. The bit behind the last candidate is "not chosen". */
struct pubgrub_term {
	int package;
	uint64_t *set;
};

enum pubgrub_kind { PUBGRUB_NEED, PUBGRUB_UNUSABLE, PUBGRUB_DERIVED };

/* Terms that are never all true at once; each package comes once. */
struct pubgrub_incompat {
	enum pubgrub_kind kind;
	struct pubgrub_term *terms;
	size_t count;
	int left, right; /* DERIVED: from these */
	int package; /* NEED, UNUSABLE: whose candidate */
	size_t candidate;
	int needed; /* NEED */
	bool nothing_fits; /* NEED */
	const char *text;
};

/* One assignment: what became known of a package, when, and by which incompatibility. */
struct pubgrub_step {
	int package;
	uint64_t *set; /* learned by this step */
	uint64_t *after; /* all that is known of the package with it */
	int level;
	int cause; /* -1: a decision */
};

struct pubgrub_package {
	bool known;
	size_t candidates;
	uint64_t *full;
	const uint64_t *now; /* after of its last step, or full */
	int *steps; /* its steps, indexes into the trail */
	size_t step_count;
	int *incompats; /* that name it */
	size_t incompat_count;
	uint64_t *asked; /* candidates whose needs are known */
	long chosen; /* -1 */
	size_t conflicts;
	bool queued;
};

struct lang_pubgrub {
	const struct lang_pubgrub_ops *ops;
	void *context;
	struct pubgrub_package *packages;
	size_t package_count;
	struct pubgrub_incompat *incompats;
	size_t incompat_count;
	struct pubgrub_step *trail;
	size_t trail_count;
	int *queue;
	size_t queue_count;
	int level;
	size_t decisions;
	int failure; /* the incompatibility that proves it; -1 */
	struct pubgrub_arena *arena;
};

static inline size_t
pubgrub_words(const struct lang_pubgrub *solver, int package)
{
	return lang_pubgrub_words(solver->packages[package].candidates);
}

/* The term is true also when the package is not chosen. */
static inline bool
pubgrub_is_negative(const struct lang_pubgrub *solver, const struct pubgrub_term *term)
{
	return lang_pubgrub_in(term->set, solver->packages[term->package].candidates);
}
#endif
