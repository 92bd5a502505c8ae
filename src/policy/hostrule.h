/* policy/hostrule.h - which hosts may be reached: the egress allowlist.
 * Purpose    Parse one rule, and decide for one request which rule allows it. Pure.
 *
 *            The policy: a request is allowed when one rule matches both its host and its port,
 *            else it is refused; an empty list allows nothing. Rules:
 *              example.org                               that host
 *              *.example.org                             every name below it, not itself
 *              .example.org                              itself and every name below it
 *              192.0.2.7, [2001:db8::7], 2001:db8::7     that address
 *              192.0.2.0/24, 2001:db8::/32               every address of that network
 *            each at port 443 for CONNECT and 80 for plain HTTP, or with ":port" at that port
 *            alone, for both (an IPv6 address needs its brackets for that). Letters in either case; one trailing
 *            dot is dropped. Names with other than ASCII letters are written as A-labels (xn--...);
 *            policy_host_rule_ascii() converts.
 *            A rule in JSON is such a string or {"host": rule, "tls": "required" | "no-sni" |
 *            "any"}: what the first bytes of a CONNECT tunnel must be. required (the default): a
 *            TLS ClientHello whose server name is the host asked for; none may be there when the
 *            rule is an address (RFC 6066 forbids it). no-sni: a ClientHello without a name, or
 *            with an encrypted one, will do. any: whatever the client sends.
 *            Rules for addresses have a second use: a name that leads to a private, loopback or
 *            otherwise special address is refused unless a rule names that address too.
 * Ownership  struct policy_host_rules owns its items; matches borrow from it.
 * Errors     PKG_E_INVALID naming the rule and what is wrong with it.
 */
#ifndef POLICY_HOSTRULE_H
#define POLICY_HOSTRULE_H
#include "core/error.h"
#include "core/json.h"
#include "policy/address.h"
#include <stdbool.h>

#define POLICY_HOST_MAX 253 /* RFC 1035: the longest name without its trailing dot */
#define POLICY_RULES_MAX 1024 /* some 13 are the default; matching is a walk */

struct policy_host {
	char name[POLICY_HOST_MAX + 1]; /* lower case, no trailing dot or brackets */
	struct policy_address address; /* family 0: it is a name */
};

enum policy_rule_kind {
	POLICY_RULE_HOST,
	POLICY_RULE_BELOW, /* *.suffix */
	POLICY_RULE_DOMAIN, /* .suffix */
	POLICY_RULE_NETWORK, /* an address is a network of one */
};

enum policy_rule_tls { POLICY_TLS_REQUIRED, POLICY_TLS_NO_SNI, POLICY_TLS_ANY };

struct policy_host_rule {
	char *text; /* owned; as it was written */
	enum policy_rule_kind kind;
	enum policy_rule_tls tls;
	int port; /* 0: the default of the kind of request */
	unsigned prefix; /* of a network */
	struct policy_host host;
};

struct policy_host_rules {
	struct policy_host_rule *items; /* owned */
	size_t count;
};

/* A host as a request names it: a name, an IPv4 address or an IPv6 address in brackets. */
int policy_host_parse(const char *text, size_t len, struct policy_host *out, struct pkg_error *err);
/* host[:port]; *port is 0 when none is given. */
int policy_authority_parse(
	const char *text, size_t len, struct policy_host *out, int *port, struct pkg_error *err);

int policy_host_rule_parse(const char *text, struct policy_host_rule *out, struct pkg_error *err);
void policy_host_rule_clear(struct policy_host_rule *rule);
/* Given: the rule with its name as A-labels, NULL when it is no possible name. The only function
 * here that needs libcurl; in a file of its own so that the proxy does not load it. */
char *policy_host_rule_ascii(const char *text, struct pkg_error *err);

/* Appends. */
int policy_host_rules_add(struct policy_host_rules *rules, const char *text, struct pkg_error *err);
/* Appends an array of strings and objects; on failure nothing is appended. */
int policy_host_rules_add_json(
	struct policy_host_rules *rules, struct json_object *array, struct pkg_error *err);
void policy_host_rules_clear(struct policy_host_rules *rules);
#define pkg_cleanup_host_rules __attribute__((cleanup(policy_host_rules_clear)))

/* The first rule that allows it, borrowed, or NULL. */
const struct policy_host_rule *policy_host_match(const struct policy_host_rules *rules,
	const struct policy_host *host, int port, bool is_connect);
/* The same for an address that a name led to. */
const struct policy_host_rule *policy_host_match_address(const struct policy_host_rules *rules,
	const struct policy_address *address, int port, bool is_connect);
#endif
