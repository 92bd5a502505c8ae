/* sandbox/sandbox.h - the boundary, as the rest of the house uses it.
 * Purpose    Open once, run profiles. Before a purpose is first used on this boot with this bwrap
 * its boundary is established for real and probed, positive controls beside the negative ones; a
 * boundary that does not prove itself is not used (DESIGN.md section 6). Ownership  struct sandbox
 * is a heap object; it borrows home for its life. Errors     PKG_E_SANDBOX with the exact remedy
 * for this machine as the cure; PKG_E_INVALID for a profile that may not be (a bad workspace is not
 * a facility failure); the child's own end is in the run. Limits that ended it come back as
 * PKG_E_TIMEOUT, PKG_E_MEMORY, PKG_E_DISK_FULL, PKG_E_TOO_LARGE or PKG_E_CANCELLED with what was
 * measured.
 */
#ifndef SANDBOX_SANDBOX_H
#define SANDBOX_SANDBOX_H
#include "core/home.h"
#include "core/json.h"
#include "core/run.h"
#include "sandbox/profile.h"

enum sandbox_mode { SANDBOX_ENFORCE, SANDBOX_AUTO, SANDBOX_OFF };
/* -1 with PKG_E_CONFIG for any other word (BEHAVIOURS F1). */
int sandbox_mode_parse(const char *text, enum sandbox_mode *out, struct pkg_error *err);

struct sandbox_options {
	enum sandbox_mode mode;
	struct sandbox_limits limits[SANDBOX_PURPOSE_COUNT]; /* the configuration's; 0: default */
	const char *ca_bundle; /* borrowed likewise; certificates to trust; NULL: the system's */
	const char *
		bwrap; /* borrowed for the sandbox's life; the program to use; NULL: the system's */
};

struct sandbox;
/* options NULL: enforce, every default. Succeeds where there is no bwrap as well: the first run
 * says so, and what is installed meanwhile is found (BEHAVIOURS A33). */
struct sandbox *sandbox_open(
	const struct pkg_home *home, const struct sandbox_options *options, struct pkg_error *err);
void sandbox_free(struct sandbox *sandbox);
PKG_DEFINE_CLEANUP(struct sandbox, sandbox_free)

/* Whether a run of this purpose would be confined now, proving the boundary if that is still to be
 * done. False with mode off, with mode auto when there is no boundary (*err says why), and with
 * mode enforce when the run would be refused. Without a boundary there is no shim either: the other
 * end of shim_fd sees the end of file, and the command has the host's network and no proxy
 * variables. */
bool sandbox_confines(struct sandbox *sandbox, enum sandbox_purpose purpose, struct pkg_error *err);

/* Runs the profile to its end, standard input empty. run's timeout_ms and max_output are set from the
 * limits; cancel_fd, on_output, on_tick and context are the caller's (on_stop is ours). 0 when it ended
 * by itself: look at run->wait_status, where signal N of the command is exit status 128+N. -1 as above.
 * When it returns nothing of the sandbox is left, whoever holds its pipes or called setsid. */
int sandbox_run(struct sandbox *sandbox, const struct sandbox_profile *profile, struct pkg_run *run,
	struct pkg_error *err);
/* Same boundary, terminal and signals passed through, for `pkg run`. *status: 0..255, 128+N. */
int sandbox_run_interactive(struct sandbox *sandbox, const struct sandbox_profile *profile,
	int *status, struct pkg_error *err);

/* "bubblewrap 0.8.0; network isolated; seccomp": what is applied, for results and audit. Given. */
char *sandbox_describe(const struct sandbox *sandbox, enum sandbox_purpose purpose);
/* BEHAVIOURS F3: mode, state, backend, enforced, self_test_passed, network_policy, detail, warning,
 * remedy. Given. Never claims what was not proved. */
struct json_object *sandbox_status(struct sandbox *sandbox);
/* Probes every purpose afresh: {"ok":bool,"purposes":[{"purpose","ok","checks":[{"name","result":
 * "pass|FAIL|skipped|inconclusive","detail"}]}]}, and "error" where it could not even try. Given. */
struct json_object *sandbox_test(struct sandbox *sandbox, struct pkg_error *err);
const char *sandbox_purpose_name(enum sandbox_purpose purpose);
#endif
