#include "lang/pubgrub_terms.h"

#include <stdlib.h>
#include <string.h>

#define DECISIONS_MAX 200000
#define INCOMPATS_MAX 1000000

/* --- memory: nothing is given back before the end --- */

#define BLOCK (64 * 1024)

struct pubgrub_arena {
	struct pubgrub_arena *next;
	size_t used, size;
	uint64_t data[];
};

static void *
allocate(struct lang_pubgrub *solver, size_t bytes)
{
	size_t words = (bytes + 7) / 8;
	struct pubgrub_arena *arena = solver->arena;

	if (!arena || arena->size - arena->used < words) {
		size_t size = words > BLOCK / 8 ? words : BLOCK / 8;

		arena = pkg_xcalloc(1, sizeof(*arena) + size * 8);
		arena->size = size;
		arena->next = solver->arena;
		solver->arena = arena;
	}
	arena->used += words;
	return arena->data + arena->used - words;
}

static uint64_t *
set_alloc(struct lang_pubgrub *solver, int package)
{
	return allocate(solver, pubgrub_words(solver, package) * sizeof(uint64_t));
}

uint64_t *
lang_pubgrub_set_new(size_t candidates)
{
	return pkg_xcalloc(lang_pubgrub_words(candidates), sizeof(uint64_t));
}

/* --- sets --- */

static bool
is_subset(const uint64_t *a, const uint64_t *b, size_t words)
{
	for (size_t i = 0; i < words; i++)
		if (a[i] & ~b[i])
			return false;
	return true;
}

static bool
is_disjoint(const uint64_t *a, const uint64_t *b, size_t words)
{
	for (size_t i = 0; i < words; i++)
		if (a[i] & b[i])
			return false;
	return true;
}

/* a and not b. */
static uint64_t *
set_minus(struct lang_pubgrub *solver, int package, const uint64_t *a, const uint64_t *b)
{
	uint64_t *out = set_alloc(solver, package);

	for (size_t i = 0; i < pubgrub_words(solver, package); i++)
		out[i] = a[i] & ~b[i];
	return out;
}

static size_t
set_count(const struct lang_pubgrub *solver, int package, const uint64_t *set)
{
	size_t count = 0;

	for (size_t i = 0; i < pubgrub_words(solver, package); i++)
		count += (size_t)__builtin_popcountll(set[i]);
	return count;
}

static uint64_t *
set_single(struct lang_pubgrub *solver, int package, size_t candidate)
{
	uint64_t *out = set_alloc(solver, package);

	lang_pubgrub_put(out, candidate);
	return out;
}

/* --- needs --- */

void
lang_pubgrub_needs_add(struct lang_pubgrub_needs *needs, int package, uint64_t *set, char *text)
{
	needs->items = pkg_xrealloc(needs->items, needs->count + 1, sizeof(*needs->items));
	needs->items[needs->count++] =
		(struct lang_pubgrub_need){ .package = package, .set = set, .text = text };
}

void
lang_pubgrub_needs_clear(struct lang_pubgrub_needs *needs)
{
	for (size_t i = 0; i < needs->count; i++) {
		free(needs->items[i].set);
		free(needs->items[i].text);
	}
	free(needs->items);
	free(needs->unusable);
	*needs = (struct lang_pubgrub_needs){ 0 };
}

/* --- packages --- */

/* Room for one more, doubled when a power of two is full. */
static void *
grow(void *items, size_t count, size_t size)
{
	if ((count & (count - 1)) != 0)
		return items;
	return pkg_xrealloc(items, count == 0 ? 1 : count * 2, size);
}

static struct pubgrub_package *
package_of(struct lang_pubgrub *solver, int number)
{
	struct pubgrub_package *package;

	while (solver->package_count <= (size_t)number) {
		solver->packages =
			grow(solver->packages, solver->package_count, sizeof(*solver->packages));
		solver->packages[solver->package_count++] =
			(struct pubgrub_package){ .chosen = -1 };
	}
	package = &solver->packages[number];
	if (package->known)
		return package;
	package->known = true;
	package->candidates =
		number == LANG_PUBGRUB_ROOT ? 1 : solver->ops->count(solver->context, number);
	package = &solver->packages[number];
	package->full = set_alloc(solver, number);
	package->asked = set_alloc(solver, number);
	for (size_t i = 0; i <= package->candidates; i++)
		lang_pubgrub_put(package->full, i);
	package->now = package->full;
	return package;
}

struct lang_pubgrub *
lang_pubgrub_new(const struct lang_pubgrub_ops *ops, void *context)
{
	struct lang_pubgrub *solver = pkg_xcalloc(1, sizeof(*solver));

	solver->ops = ops;
	solver->context = context;
	solver->failure = -1;
	return solver;
}

void
lang_pubgrub_free(struct lang_pubgrub *solver)
{
	if (!solver)
		return;
	while (solver->arena) {
		struct pubgrub_arena *next = solver->arena->next;

		free(solver->arena);
		solver->arena = next;
	}
	for (size_t i = 0; i < solver->package_count; i++) {
		free(solver->packages[i].steps);
		free(solver->packages[i].incompats);
	}
	free(solver->packages);
	free(solver->incompats);
	free(solver->trail);
	free(solver->queue);
	free(solver);
}

long
lang_pubgrub_chosen(const struct lang_pubgrub *solver, int package)
{
	return (size_t)package < solver->package_count ? solver->packages[package].chosen : -1;
}

const uint64_t *
lang_pubgrub_state(const struct lang_pubgrub *solver, int package)
{
	return (size_t)package < solver->package_count ? solver->packages[package].now : NULL;
}

size_t
lang_pubgrub_steps(const struct lang_pubgrub *solver)
{
	return solver->decisions;
}

void
lang_pubgrub_active(const struct lang_pubgrub *solver, int package,
	void (*each)(void *context, const char *text), void *context)
{
	const struct pubgrub_package *of = &solver->packages[package];

	for (size_t i = 0; i < of->incompat_count; i++) {
		const struct pubgrub_incompat *incompat = &solver->incompats[of->incompats[i]];

		if (incompat->kind == PUBGRUB_NEED && incompat->needed == package &&
			solver->packages[incompat->package].chosen == (long)incompat->candidate)
			each(context, incompat->text);
	}
}

/* --- incompatibilities --- */

static int
incompat_new(struct lang_pubgrub *solver, const struct pubgrub_incompat *like, size_t terms)
{
	struct pubgrub_incompat *incompat;

	solver->incompats =
		grow(solver->incompats, solver->incompat_count, sizeof(*solver->incompats));
	incompat = &solver->incompats[solver->incompat_count];
	*incompat = *like;
	incompat->terms = allocate(solver, (terms + 1) * sizeof(*incompat->terms));
	incompat->count = 0;
	return (int)solver->incompat_count++;
}

/* Both must be true: of one package, their intersection. */
static void
add_term(struct lang_pubgrub *solver, int id, int package, uint64_t *set)
{
	struct pubgrub_incompat *incompat = &solver->incompats[id];
	size_t i = 0;

	while (i < incompat->count && incompat->terms[i].package != package)
		i++;
	if (i < incompat->count) {
		const uint64_t *old = incompat->terms[i].set;
		uint64_t *both = set_alloc(solver, package);

		for (size_t k = 0; k < pubgrub_words(solver, package); k++)
			both[k] = old[k] & set[k];
		incompat->terms[i].set = both;
		return;
	}
	incompat->terms[incompat->count++] =
		(struct pubgrub_term){ .package = package, .set = set };
}

/* From now on it is looked at whenever one of its packages changes. */
static void
attach(struct lang_pubgrub *solver, int id)
{
	const struct pubgrub_incompat *incompat = &solver->incompats[id];

	for (size_t i = 0; i < incompat->count; i++) {
		struct pubgrub_package *package = &solver->packages[incompat->terms[i].package];

		package->incompats = grow(
			package->incompats, package->incompat_count, sizeof(*package->incompats));
		package->incompats[package->incompat_count++] = id;
	}
}

/* --- the partial solution --- */

static void
enqueue(struct lang_pubgrub *solver, int package)
{
	if (solver->packages[package].queued)
		return;
	solver->packages[package].queued = true;
	solver->queue = grow(solver->queue, solver->queue_count, sizeof(*solver->queue));
	solver->queue[solver->queue_count++] = package;
}

static void
assign(struct lang_pubgrub *solver, int number, uint64_t *set, int cause)
{
	struct pubgrub_package *package = &solver->packages[number];
	struct pubgrub_step step = { .package = number,
		.set = set,
		.level = solver->level,
		.cause = cause,
		.after = set_alloc(solver, number) };

	for (size_t i = 0; i < pubgrub_words(solver, number); i++)
		step.after[i] = package->now[i] & set[i];
	solver->trail = grow(solver->trail, solver->trail_count, sizeof(*solver->trail));
	package->steps = grow(package->steps, package->step_count, sizeof(*package->steps));
	package->steps[package->step_count++] = (int)solver->trail_count;
	solver->trail[solver->trail_count++] = step;
	package->now = step.after;
	enqueue(solver, number);
}

static void
backtrack(struct lang_pubgrub *solver, int level)
{
	while (solver->trail_count > 0 && solver->trail[solver->trail_count - 1].level > level) {
		const struct pubgrub_step *step = &solver->trail[--solver->trail_count];
		struct pubgrub_package *package = &solver->packages[step->package];

		package->step_count--;
		package->now = package->step_count > 0
			? solver->trail[package->steps[package->step_count - 1]].after
			: package->full;
		if (step->cause < 0)
			package->chosen = -1;
	}
	solver->level = level;
}

/* The first step after which what is known of the package lies within the set; -1: none. */
static int
satisfier(const struct lang_pubgrub *solver, int number, const uint64_t *set)
{
	const struct pubgrub_package *package = &solver->packages[number];
	size_t words = pubgrub_words(solver, number);
	size_t low = 0, high = package->step_count;

	/* Each step narrows what is known. */
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (is_subset(solver->trail[package->steps[middle]].after, set, words))
			high = middle;
		else
			low = middle + 1;
	}
	return low < package->step_count ? package->steps[low] : -1;
}

/* --- unit propagation --- */

enum relation { RELATION_OPEN, RELATION_UNIT, RELATION_CONFLICT };

/* *open: the term that is not yet true, with RELATION_UNIT. */
static enum relation
relate(const struct lang_pubgrub *solver, int id, const struct pubgrub_term **open)
{
	const struct pubgrub_incompat *incompat = &solver->incompats[id];

	*open = NULL;
	for (size_t i = 0; i < incompat->count; i++) {
		const struct pubgrub_term *term = &incompat->terms[i];
		const uint64_t *now = solver->packages[term->package].now;
		size_t words = pubgrub_words(solver, term->package);

		if (is_subset(now, term->set, words))
			continue;
		if (*open || is_disjoint(now, term->set, words))
			return RELATION_OPEN;
		*open = term;
	}
	return *open ? RELATION_UNIT : RELATION_CONFLICT;
}

static void
derive(struct lang_pubgrub *solver, const struct pubgrub_term *term, int cause)
{
	const struct pubgrub_package *package = &solver->packages[term->package];

	assign(solver, term->package, set_minus(solver, term->package, package->full, term->set),
		cause);
}

/* --- conflict resolution --- */

struct latest {
	size_t term; /* the one that became true last */
	int step; /* by this step */
	int before; /* the level at which all the rest was true already */
};

static void
raise_level(const struct lang_pubgrub *solver, int step, struct latest *latest)
{
	if (step >= 0 && solver->trail[step].level > latest->before)
		latest->before = solver->trail[step].level;
}

static struct latest
find_latest(struct lang_pubgrub *solver, int id)
{
	const struct pubgrub_incompat *incompat = &solver->incompats[id];
	struct latest latest = { .step = -1 };
	const struct pubgrub_step *step;
	const struct pubgrub_term *term;
	uint64_t *rest;

	for (size_t i = 0; i < incompat->count; i++) {
		int at = satisfier(solver, incompat->terms[i].package, incompat->terms[i].set);

		raise_level(solver, at > latest.step ? latest.step : at, &latest);
		if (at > latest.step) {
			latest.step = at;
			latest.term = i;
		}
	}
	term = &incompat->terms[latest.term];
	step = &solver->trail[latest.step];
	/* What this step leaves open of the term, earlier ones of the same package have excluded. */
	rest = set_minus(solver, term->package, solver->packages[term->package].full, step->set);
	for (size_t i = 0; i < pubgrub_words(solver, term->package); i++)
		rest[i] |= term->set[i];
	if (!is_subset(step->set, term->set, pubgrub_words(solver, term->package)))
		raise_level(solver, satisfier(solver, term->package, rest), &latest);
	return latest;
}

/* The resolvent of two incompatibilities on one package: of that package either set, of all others
 * both. */
static int
resolve(struct lang_pubgrub *solver, int left, int right, int package)
{
	struct pubgrub_incompat like = { .kind = PUBGRUB_DERIVED, .left = left, .right = right };
	int parents[] = { left, right };
	size_t room = solver->incompats[left].count + solver->incompats[right].count;
	int id = incompat_new(solver, &like, room);
	uint64_t *either = set_alloc(solver, package);
	size_t words = pubgrub_words(solver, package);

	for (size_t p = 0; p < 2; p++) {
		for (size_t i = 0; i < solver->incompats[parents[p]].count; i++) {
			struct pubgrub_term term = solver->incompats[parents[p]].terms[i];

			if (term.package != package) {
				add_term(solver, id, term.package, term.set);
				continue;
			}
			for (size_t k = 0; k < words; k++)
				either[k] |= term.set[k];
		}
	}
	if (!is_subset(solver->packages[package].full, either, words))
		add_term(solver, id, package, either);
	return id;
}

static bool
is_proof(const struct pubgrub_incompat *incompat)
{
	return incompat->count == 0 ||
		(incompat->count == 1 && incompat->terms[0].package == LANG_PUBGRUB_ROOT);
}

/* The incompatibility that made the conflict inevitable, after going back to where it was not yet; -1
 * with solver->failure set when it always was. */
static int
learn(struct lang_pubgrub *solver, int id)
{
	bool fresh = false;

	while (!is_proof(&solver->incompats[id])) {
		struct latest latest = find_latest(solver, id);
		const struct pubgrub_step *step = &solver->trail[latest.step];

		if (step->cause < 0 || latest.before < step->level) {
			backtrack(solver, latest.before);
			if (fresh)
				attach(solver, id);
			for (size_t i = 0; i < solver->incompats[id].count; i++)
				solver->packages[solver->incompats[id].terms[i].package]
					.conflicts++;
			return id;
		}
		id = resolve(solver, id, step->cause, step->package);
		fresh = true;
	}
	solver->failure = id;
	return -1;
}

static void
empty_queue(struct lang_pubgrub *solver)
{
	while (solver->queue_count > 0)
		solver->packages[solver->queue[--solver->queue_count]].queued = false;
}

/* Everything that follows from the queued packages. -1: it is impossible. */
static int
propagate(struct lang_pubgrub *solver)
{
	const struct pubgrub_term *open;

	while (solver->queue_count > 0) {
		int number = solver->queue[--solver->queue_count];

		solver->packages[number].queued = false;
		/* The newest first: it tells more. */
		for (size_t i = solver->packages[number].incompat_count; i-- > 0;) {
			int id = solver->packages[number].incompats[i];
			enum relation relation = relate(solver, id, &open);

			if (relation == RELATION_CONFLICT) {
				id = learn(solver, id);
				if (id < 0)
					return -1;
				empty_queue(solver);
				relation = relate(solver, id, &open);
				i = 0;
			}
			if (relation == RELATION_UNIT)
				derive(solver, open, id);
		}
	}
	return 0;
}

/* --- decisions --- */

/* Needed, and no candidate chosen yet. Those with one candidate left come first, then those that made
 * trouble, then in the order in which they were met. */
static int
next_package(const struct lang_pubgrub *solver)
{
	int best = -1;
	bool best_single = false;

	for (size_t i = 1; i < solver->package_count; i++) {
		const struct pubgrub_package *package = &solver->packages[i];
		bool single;

		if (!package->known || package->chosen >= 0 ||
			lang_pubgrub_in(package->now, package->candidates))
			continue;
		single = set_count(solver, (int)i, package->now) == 1;
		if (best >= 0 &&
			(single < best_single ||
				(single == best_single &&
					package->conflicts <= solver->packages[best].conflicts)))
			continue;
		best = (int)i;
		best_single = single;
	}
	return best;
}

static void
add_unusable(struct lang_pubgrub *solver, int package, size_t candidate, const char *why)
{
	char *text = allocate(solver, strlen(why) + 1);
	struct pubgrub_incompat like = {
		.kind = PUBGRUB_UNUSABLE, .package = package, .candidate = candidate, .text = text
	};
	int id;

	memcpy(text, why, strlen(why) + 1);
	id = incompat_new(solver, &like, 1);
	add_term(solver, id, package, set_single(solver, package, candidate));
	attach(solver, id);
}

/* The candidate, and of the needed package whatever will not do. True when that is so already. */
static bool
add_need(struct lang_pubgrub *solver, int package, size_t candidate,
	const struct lang_pubgrub_need *need)
{
	struct pubgrub_package *needed = package_of(solver, need->package);
	char *text = allocate(solver, strlen(need->text) + 1);
	struct pubgrub_incompat like = { .kind = PUBGRUB_NEED,
		.package = package,
		.candidate = candidate,
		.needed = need->package,
		.text = text };
	uint64_t *others = set_minus(solver, need->package, needed->full, need->set);
	size_t words = pubgrub_words(solver, need->package);
	int id;

	memcpy(text, need->text, strlen(need->text) + 1);
	like.nothing_fits = is_subset(needed->full, others, words);
	/* It needs itself, and is what it needs. */
	if (need->package == package && !lang_pubgrub_in(others, candidate))
		return false;
	id = incompat_new(solver, &like, 2);
	add_term(solver, id, package, set_single(solver, package, candidate));
	if (!like.nothing_fits)
		add_term(solver, id, need->package, others);
	attach(solver, id);
	return need->package == package ||
		is_subset(solver->packages[need->package].now, others, words);
}

/* 1: it can be decided for; 0: not now; -1: *err. */
static int
ask_needs(struct lang_pubgrub *solver, int package, size_t candidate, struct pkg_error *err)
{
	struct lang_pubgrub_needs needs = { 0 };
	bool clear = true;
	int rc;

	if (lang_pubgrub_in(solver->packages[package].asked, candidate))
		return 1;
	rc = solver->ops->needs(solver->context, package, candidate, &needs, err);
	if (rc == 0) {
		lang_pubgrub_put(solver->packages[package].asked, candidate);
		if (needs.unusable)
			add_unusable(solver, package, candidate, needs.unusable);
		for (size_t i = 0; !needs.unusable && i < needs.count; i++)
			if (add_need(solver, package, candidate, &needs.items[i]))
				clear = false;
		clear = clear && !needs.unusable;
	}
	lang_pubgrub_needs_clear(&needs);
	return rc < 0 ? -1 : clear;
}

static int
decide(struct lang_pubgrub *solver, int number, struct pkg_error *err)
{
	struct pubgrub_package *package = package_of(solver, number);
	size_t candidate = number == LANG_PUBGRUB_ROOT
		? 0
		: solver->ops->choose(solver->context, solver, number, package->now);
	int clear = ask_needs(solver, number, candidate, err);

	if (clear < 0)
		return -1;
	/* What it needs cannot be had: propagation excludes it. */
	if (clear == 0 && number != LANG_PUBGRUB_ROOT) {
		enqueue(solver, number);
		return 0;
	}
	solver->level += number != LANG_PUBGRUB_ROOT;
	solver->decisions++;
	assign(solver, number, set_single(solver, number, candidate), -1);
	solver->packages[number].chosen = (long)candidate;
	return 0;
}

enum lang_pubgrub_end
lang_pubgrub_solve(struct lang_pubgrub *solver, struct pkg_error *err)
{
	int next = LANG_PUBGRUB_ROOT;

	while (next >= 0) {
		/* The problem is NP-complete: somebody could write a page for which there is no end. */
		if (solver->decisions > DECISIONS_MAX || solver->incompat_count > INCOMPATS_MAX) {
			pkg_error_set(err, PKG_E_RESOLUTION, "no end in sight after %zu decisions",
				solver->decisions);
			return LANG_PUBGRUB_FAILED;
		}
		if (decide(solver, next, err) < 0)
			return LANG_PUBGRUB_FAILED;
		if (propagate(solver) < 0)
			return LANG_PUBGRUB_IMPOSSIBLE;
		next = next_package(solver);
	}
	return LANG_PUBGRUB_SOLVED;
}
