/* sandbox/remedy.h - why there is no boundary on this machine, and what would mend it.
 * Purpose    Facts are measured in one place and classified by a pure function: cause, sentence,
 * exact cure for this distribution. Nothing changes the system by itself. Ownership  The facts are
 * caller's storage. Errors     sandbox_remedy_set() returns -1 with PKG_E_SANDBOX.
 */
#ifndef SANDBOX_REMEDY_H
#define SANDBOX_REMEDY_H
#include "core/error.h"
#include <stdbool.h>

enum sandbox_cause {
	SANDBOX_CAUSE_NONE, /* not a failure of the facility */
	SANDBOX_CAUSE_MISSING, /* no bwrap */
	SANDBOX_CAUSE_OLD, /* a bwrap that does not know an option */
	SANDBOX_CAUSE_NO_NAMESPACES, /* user.max_*_namespaces is 0 */
	SANDBOX_CAUSE_UNPRIVILEGED, /* kernel.unprivileged_userns_clone is 0 */
	SANDBOX_CAUSE_APPARMOR, /* kernel.apparmor_restrict_unprivileged_userns is 1 */
	SANDBOX_CAUSE_CONTAINER, /* an outer container's seccomp filter refuses unshare */
	SANDBOX_CAUSE_PROC, /* an outer container masks parts of /proc */
	SANDBOX_CAUSE_WSL1, /* no namespaces in that kernel */
	SANDBOX_CAUSE_KERNEL, /* the kernel was built without them */
	SANDBOX_CAUSE_UNKNOWN
};

#define SANDBOX_FACT_ABSENT (-1) /* that setting does not exist here */
struct sandbox_facts {
	bool have_bwrap;
	long max_user_namespaces;
	long max_net_namespaces;
	long unprivileged_userns_clone;
	long apparmor_restrict;
	bool root;
	int unshare_errno; /* of a direct try at a user namespace; 0: it worked */
	char container[16]; /* "docker", "podman", "kubernetes", "lxc", "container", or empty */
	bool proc_masked;
	int wsl; /* 0, 1 or 2 */
	char os_id[32]; /* of os-release: "debian" */
	char os_like[64]; /* "ubuntu debian" */
	char bwrap[256];
	char said[600]; /* what bwrap wrote to stderr */
};

void sandbox_facts_read(const char *bwrap, const char *said, struct sandbox_facts *out);
/* Pure. Facts that were measured win over what the text suggests. */
enum sandbox_cause sandbox_remedy_classify(const struct sandbox_facts *facts);
const char *sandbox_cause_name(enum sandbox_cause cause);
/* Pure: message and cure of that cause with those facts. Always -1. */
int sandbox_remedy_set(
	enum sandbox_cause cause, const struct sandbox_facts *facts, struct pkg_error *err);
/* The same for a bwrap that is not there. Always -1. */
int sandbox_remedy_missing(struct pkg_error *err);
/* Pure: bwrap's words that mean "this machine will not do that" whatever the profile (BEHAVIOURS
 * F10). */
bool sandbox_remedy_is_facility(const char *said);
/* Pure: the value of a key of an os-release text, unquoted, cut to size. */
void sandbox_remedy_os_value(const char *text, const char *key, char *out, size_t size);
#endif
