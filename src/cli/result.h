/* cli/result.h - how a job ended, for people and for exit statuses.
 * Purpose    The final line of a job (DESIGN.md section 9) as text, and its exit status.
 * Ownership  The line is borrowed; results are given.
 * Errors     cli_result_error() turns an end that is no success into an error with its kind and cure.
 */
#ifndef CLI_RESULT_H
#define CLI_RESULT_H
#include "core/json.h"
#include <stdio.h>

/* 0 done, 75 pending, else what the kind says (core/error.h), 1 for an end without a known kind. */
int cli_result_exit(struct json_object *result);
/* -1 and *err when the job did not end as asked; 0 when it is done or pending. */
int cli_result_error(struct json_object *result, struct pkg_error *err);
struct cli_result_style {
	bool colour;
	bool verbose; /* where time went, and which boundary was applied */
};
void cli_result_print(struct json_object *result, const struct cli_result_style *style, FILE *out);
/* The same line for a job that waits or goes on: every key that an end has. job as the API gives it; plan may be
 * NULL. */
struct json_object *cli_result_pending(struct json_object *job, struct json_object *environment,
	struct json_object *plan, const char *message, const char *cure);
#endif
