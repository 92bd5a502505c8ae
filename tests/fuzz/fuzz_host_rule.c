/* Host rules and authorities: a host that is taken reads as itself, and a rule that is taken
 * matches its own host and nothing when its port is another. */
#include "policy/hostrule.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_host(const char *text, size_t len)
{
	struct policy_host host, again;
	pkg_autofree char *canonical = NULL;
	bool v6;
	int port = -1;

	if (policy_authority_parse(text, len, &host, &port, NULL) < 0)
		return;
	v6 = host.address.family == AF_INET6;
	canonical = pkg_xasprintf("%s%s%s", v6 ? "[" : "", host.name, v6 ? "]" : "");
	if (policy_host_parse(canonical, strlen(canonical), &again, NULL) < 0 ||
		strcmp(host.name, again.name) != 0 || port < 0 || port > 65535)
		abort();
	if (host.address.family)
		(void)policy_address_class(&host.address);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	pkg_autofree char *text = pkg_xstrndup((const char *)data, size);
	struct policy_host_rule rule;
	struct policy_host_rules rules = { &rule, 1 };

	check_host((const char *)data, size);
	if (policy_host_rule_parse(text, &rule, NULL) < 0)
		return 0;
	if (rule.port > 0) {
		if (policy_host_match(&rules, &rule.host, rule.port == 1 ? 2 : 1, true))
			abort();
	}
	if ((rule.kind != POLICY_RULE_BELOW) !=
		(policy_host_match(&rules, &rule.host, rule.port ? rule.port : 443, true) != NULL))
		abort();
	policy_host_rule_clear(&rule);
	return 0;
}
