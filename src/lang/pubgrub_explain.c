#include "lang/pubgrub_terms.h"

#include <stdlib.h>
#include <string.h>

/* From the incompatibility that is the proof down to the facts it was derived from. Few facts say it all
 * in one sentence, which is shorter than any proof; many are told step by step, as the derivation went. */

#define ONE_SENTENCE 7 /* facts */
#define STEPS_MAX 12
#define RUNS_MAX 4 /* of versions, in one phrase */
#define TEXT_MAX 4000

/* --- sets of versions in words --- */

static bool
holds_all(const uint64_t *set, size_t candidates)
{
	for (size_t i = 0; i < candidates; i++)
		if (!lang_pubgrub_in(set, i))
			return false;
	return true;
}

static void
add_run(const struct lang_pubgrub *solver, int package, size_t first, size_t last,
	struct pkg_buf *out)
{
	pkg_autofree char *from = solver->ops->version(solver->context, package, first);
	pkg_autofree char *to = solver->ops->version(solver->context, package, last);

	pkg_buf_add(out, from);
	if (last == first + 1)
		pkg_buf_addf(out, ", %s", to);
	else if (last > first)
		pkg_buf_addf(out, " to %s", to);
}

/* "a 1.0, 1.2 to 2.0", "every version of a". */
static void
add_versions(
	const struct lang_pubgrub *solver, int package, const uint64_t *set, struct pkg_buf *out)
{
	pkg_autofree char *name = solver->ops->name(solver->context, package);
	size_t count = solver->packages[package].candidates;
	size_t runs = 0;

	if (count > 1 && holds_all(set, count)) {
		pkg_buf_addf(out, "every version of %s", name);
		return;
	}
	pkg_buf_addf(out, "%s ", name);
	for (size_t i = 0; i < count; i++) {
		size_t last = i;

		if (!lang_pubgrub_in(set, i))
			continue;
		while (last + 1 < count && lang_pubgrub_in(set, last + 1))
			last++;
		if (runs++ > 0)
			pkg_buf_add(out, ", ");
		if (runs > RUNS_MAX) {
			pkg_buf_add(out, "...");
			return;
		}
		add_run(solver, package, i, last, out);
		i = last;
	}
}

/* "needs": the subject is plural. */
static bool
is_plural(const struct lang_pubgrub *solver, int package, const uint64_t *set)
{
	size_t candidates = solver->packages[package].candidates;
	size_t count = 0;

	if (candidates > 1 && holds_all(set, candidates))
		return false;
	for (size_t i = 0; i < candidates; i++)
		count += lang_pubgrub_in(set, i);
	return count > 1;
}

/* --- facts --- */

static bool
is_same_fact(const struct lang_pubgrub_cause *cause, const struct pubgrub_incompat *incompat)
{
	bool unusable = incompat->kind == PUBGRUB_UNUSABLE;

	return cause->package == incompat->package &&
		cause->needed == (unusable ? -1 : incompat->needed) &&
		strcmp(cause->text, incompat->text) == 0;
}

static void
add_fact(const struct lang_pubgrub *solver, const struct pubgrub_incompat *incompat,
	struct lang_pubgrub_causes *out)
{
	struct lang_pubgrub_cause *cause = NULL;

	for (size_t i = 0; i < out->count && !cause; i++)
		if (is_same_fact(&out->items[i], incompat))
			cause = &out->items[i];
	if (!cause) {
		out->items = pkg_xrealloc(out->items, out->count + 1, sizeof(*out->items));
		cause = &out->items[out->count++];
		*cause = (struct lang_pubgrub_cause){
			.package = incompat->package,
			.set = lang_pubgrub_set_new(solver->packages[incompat->package].candidates),
			.needed = incompat->kind == PUBGRUB_UNUSABLE ? -1 : incompat->needed,
			.text = incompat->text,
			.nothing_fits = incompat->nothing_fits,
		};
	}
	lang_pubgrub_put(cause->set, incompat->candidate);
}

/* Every incompatibility that the proof rests on, each once, derived ones after what they come from. */
struct walk {
	int *order;
	size_t count;
	bool *seen;
};

static void
walk_from(const struct lang_pubgrub *solver, int root, struct walk *walk)
{
	pkg_autofree int *stack = pkg_xcalloc(solver->incompat_count * 2 + 2, sizeof(*stack));
	pkg_autofree bool *opened = pkg_xcalloc(solver->incompat_count + 1, sizeof(*opened));
	size_t depth = 0;

	stack[depth++] = root;
	while (depth > 0) {
		int id = stack[depth - 1];
		const struct pubgrub_incompat *incompat = &solver->incompats[id];

		if (walk->seen[id] || incompat->kind != PUBGRUB_DERIVED || opened[id]) {
			depth--;
			if (!walk->seen[id])
				walk->order[walk->count++] = id;
			walk->seen[id] = true;
			continue;
		}
		opened[id] = true;
		if (!walk->seen[incompat->right] && !opened[incompat->right])
			stack[depth++] = incompat->right;
		if (!walk->seen[incompat->left] && !opened[incompat->left])
			stack[depth++] = incompat->left;
	}
}

static struct walk
walk_proof(const struct lang_pubgrub *solver)
{
	struct walk walk = {
		.order = pkg_xcalloc(solver->incompat_count + 1, sizeof(*walk.order)),
		.seen = pkg_xcalloc(solver->incompat_count + 1, sizeof(*walk.seen)),
	};

	if (solver->failure >= 0)
		walk_from(solver, solver->failure, &walk);
	return walk;
}

static void
walk_clear(struct walk *walk)
{
	free(walk->order);
	free(walk->seen);
}

void
lang_pubgrub_causes(const struct lang_pubgrub *solver, struct lang_pubgrub_causes *out)
{
	struct walk walk = walk_proof(solver);

	*out = (struct lang_pubgrub_causes){ 0 };
	for (int asked = 0; asked < 2; asked++)
		for (size_t i = 0; i < walk.count; i++) {
			const struct pubgrub_incompat *incompat = &solver->incompats[walk.order[i]];

			/* A need without words goes without saying. */
			if (incompat->kind != PUBGRUB_DERIVED && *incompat->text &&
				(incompat->package == LANG_PUBGRUB_ROOT) == asked)
				add_fact(solver, incompat, out);
		}
	walk_clear(&walk);
}

void
lang_pubgrub_causes_clear(struct lang_pubgrub_causes *causes)
{
	for (size_t i = 0; i < causes->count; i++)
		free(causes->items[i].set);
	free(causes->items);
	*causes = (struct lang_pubgrub_causes){ 0 };
}

/* "a 2.0 needs b<2"; of what was asked for only "b<2". */
static void
add_cause(const struct lang_pubgrub *solver, const struct lang_pubgrub_cause *cause,
	struct pkg_buf *out)
{
	if (cause->package == LANG_PUBGRUB_ROOT) {
		pkg_buf_add(out, cause->text);
		return;
	}
	add_versions(solver, cause->package, cause->set, out);
	if (cause->needed < 0)
		pkg_buf_addf(out, " %s", cause->text);
	else
		pkg_buf_addf(out, " %s %s%s",
			is_plural(solver, cause->package, cause->set) ? "need" : "needs",
			cause->text, cause->nothing_fits ? ", which is not to be had" : "");
}

static char *
one_sentence(const struct lang_pubgrub *solver, const struct lang_pubgrub_causes *causes)
{
	struct pkg_buf out = { 0 };
	bool asked = false;

	for (size_t i = 0; i < causes->count; i++) {
		const struct lang_pubgrub_cause *cause = &causes->items[i];
		bool last = i + 1 == causes->count;

		if (i == 0)
			pkg_buf_add(&out, "because ");
		else
			pkg_buf_add(&out, last ? " and " : ", ");
		if (cause->package == LANG_PUBGRUB_ROOT && !asked) {
			pkg_buf_add(&out, i > 0 && !last ? "and you asked for " : "you asked for ");
			asked = true;
		}
		add_cause(solver, cause, &out);
	}
	return pkg_buf_steal(&out);
}

/* --- step by step --- */

/* What an incompatibility means. */
static void
add_meaning(const struct lang_pubgrub *solver, const struct pubgrub_incompat *incompat,
	struct pkg_buf *out)
{
	size_t positive = 0;
	size_t negative = 0;

	for (size_t i = 0; i < incompat->count; i++) {
		const struct pubgrub_term *term = &incompat->terms[i];

		if (pubgrub_is_negative(solver, term) || term->package == LANG_PUBGRUB_ROOT)
			continue;
		pkg_buf_add(out, positive++ > 0 ? " with " : "");
		add_versions(solver, term->package, term->set, out);
	}
	for (size_t i = 0; i < incompat->count; i++) {
		const struct pubgrub_term *term = &incompat->terms[i];
		size_t words = pubgrub_words(solver, term->package);
		pkg_autofree uint64_t *rest = pkg_xcalloc(words, sizeof(*rest));

		if (!pubgrub_is_negative(solver, term))
			continue;
		for (size_t k = 0; k < words; k++)
			rest[k] = solver->packages[term->package].full[k] & ~term->set[k];
		if (negative++ > 0)
			pkg_buf_add(out, " or ");
		else
			pkg_buf_add(out, positive > 0 ? " needs " : "what you asked for needs ");
		add_versions(solver, term->package, rest, out);
	}
	if (negative == 0)
		pkg_buf_add(out,
			positive > 1		? " cannot be had together"
				: positive == 1 ? " cannot be used"
						: "what you asked for cannot be had");
}

static void
add_premise(const struct lang_pubgrub *solver, int id, const int *numbers, struct pkg_buf *out)
{
	const struct pubgrub_incompat *incompat = &solver->incompats[id];

	if (incompat->kind == PUBGRUB_DERIVED) {
		pkg_buf_addf(out, "(%d)", numbers[id]);
		return;
	}
	if (incompat->package == LANG_PUBGRUB_ROOT) {
		pkg_buf_addf(out, "you asked for %s", incompat->text);
	} else {
		pkg_autofree char *name = solver->ops->name(solver->context, incompat->package);
		pkg_autofree char *version = solver->ops->version(
			solver->context, incompat->package, incompat->candidate);

		pkg_buf_addf(out, "%s %s %s%s", name, version,
			incompat->kind == PUBGRUB_NEED ? "needs " : "", incompat->text);
	}
}

static char *
step_by_step(const struct lang_pubgrub *solver, const struct lang_pubgrub_causes *causes)
{
	struct walk walk = walk_proof(solver);
	pkg_autofree int *numbers = pkg_xcalloc(solver->incompat_count + 1, sizeof(*numbers));
	struct pkg_buf out = { 0 };
	int total = 0;
	int number = 0;

	for (size_t i = 0; i < walk.count; i++)
		total += solver->incompats[walk.order[i]].kind == PUBGRUB_DERIVED;
	pkg_buf_addf(&out, "%zu needs contradict each other", causes->count);
	for (size_t i = 0; i < walk.count; i++) {
		int id = walk.order[i];
		const struct pubgrub_incompat *incompat = &solver->incompats[id];

		if (incompat->kind != PUBGRUB_DERIVED)
			continue;
		numbers[id] = ++number;
		/* The end says most. */
		if (number <= total - STEPS_MAX || out.len > TEXT_MAX)
			continue;
		pkg_buf_addf(&out, "; (%d) because ", number);
		add_premise(solver, incompat->left, numbers, &out);
		pkg_buf_add(&out, " and ");
		add_premise(solver, incompat->right, numbers, &out);
		pkg_buf_add(&out, ", ");
		add_meaning(solver, incompat, &out);
	}
	walk_clear(&walk);
	return pkg_buf_steal(&out);
}

char *
lang_pubgrub_explain(const struct lang_pubgrub *solver)
{
	lang_cleanup_pubgrub_causes struct lang_pubgrub_causes causes = { 0 };

	lang_pubgrub_causes(solver, &causes);
	return causes.count <= ONE_SENTENCE ? one_sentence(solver, &causes)
					    : step_by_step(solver, &causes);
}
