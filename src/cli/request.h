/* cli/request.h - a command line as the request of a job.
 * Purpose    Words and options into the JSON that POST /v1/jobs takes; requirements files are read here, where the
 *            person's files are.
 * Ownership  The result is given.
 * Errors     PKG_E_INVALID, PKG_E_REQUIREMENT with FILE:LINE, or what reading a file says. A word that begins with
 *            '-' is never a requirement.
 */
#ifndef CLI_REQUEST_H
#define CLI_REQUEST_H
#include "cli/cli.h"

/* action and, where the command takes them, environment, language, project, label and reason. name: the
 * environment's, NULL for what -e says. */
struct json_object *cli_request_new(struct cli *cli, const char *action, const char *name);
/* Words, -r and -c: "requirements", "constraints", "hashes". */
int cli_request_add_requirements(
	struct cli *cli, struct json_object *request, struct pkg_error *err);
/* Where files come from, and which of them: --index-url, --source, --pre, ... */
void cli_request_add_sources(struct cli *cli, struct json_object *request);
/* --python, --hermetic. */
void cli_request_add_creation(struct cli *cli, struct json_object *request);
#endif
