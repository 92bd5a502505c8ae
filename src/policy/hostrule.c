#include "policy/hostrule.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define LABEL_MAX 63
#define RULE_TEXT_MAX 320 /* the longest name, "*.", brackets, "/128" and ":65535" */
/* Shorter prefixes name no network but a good part of the Internet, private parts included: that is
 * the policy "allow", and should be said so. fc00::/7 is the widest network anyone means. */
#define PREFIX_MIN_V4 8
#define PREFIX_MIN_V6 7

static int
refuse(struct pkg_error *err, const char *text, size_t len, const char *why)
{
	/* Never the raw bytes: they come from a client or a file and go into logs and bodies. */
	for (size_t i = 0; i < len; i++)
		if (text[i] < 0x20 || text[i] > 0x7e)
			return pkg_error_set(err, PKG_E_INVALID, "host: %s", why);
	return pkg_error_set(
		err, PKG_E_INVALID, "host '%.*s': %s", (int)(len > 80 ? 80 : len), text, why);
}

static bool
is_name_char(char c)
{
	/* The underscore is in no host name by RFC 1123, but is in names that resolve. */
	return isascii((unsigned char)c) && (isalnum((unsigned char)c) || c == '-' || c == '_');
}

/* The WHATWG URL rule: a last label that looks like a number means an IPv4 address, and then only
 * the dotted quad is one. Resolvers read 127.1, 0x7f000001 and 2130706433 as 127.0.0.1. */
static bool
ends_in_number(const char *name)
{
	const char *dot = strrchr(name, '.');
	const char *label = dot ? dot + 1 : name;

	if (label[0] == '0' && (label[1] == 'x' || label[1] == 'X'))
		return label[2 + strspn(label + 2, "0123456789abcdefABCDEF")] == '\0';
	return label[strspn(label, "0123456789")] == '\0';
}

static int
parse_name(const char *text, size_t len, struct policy_host *out, struct pkg_error *err)
{
	size_t label = 0, total = len;

	if (total > 0 && text[total - 1] == '.')
		total--;
	if (total == 0)
		return refuse(err, text, len, "is empty");
	if (total > POLICY_HOST_MAX)
		return refuse(err, text, len, "is longer than 253 bytes");
	for (size_t i = 0; i < total; i++) {
		if (text[i] & 0x80) {
			refuse(err, text, len, "has letters outside ASCII");
			return pkg_error_cure(err, "write the name with A-labels (xn--...)");
		}
		if (text[i] == '.') {
			if (label == 0)
				return refuse(err, text, len, "has an empty label");
			label = 0;
		} else if (!is_name_char(text[i])) {
			return refuse(err, text, len, "has a character that no host name has");
		} else if (++label > LABEL_MAX) {
			return refuse(err, text, len, "has a label longer than 63 bytes");
		}
		out->name[i] = (char)tolower((unsigned char)text[i]);
	}
	if (label == 0)
		return refuse(err, text, len, "has an empty label");
	out->name[total] = '\0';
	out->address.family = 0;
	if (policy_address_parse(out->name, &out->address))
		return 0;
	if (ends_in_number(out->name))
		return refuse(err, text, len, "is neither a name nor an IPv4 address");
	return 0;
}

static int
parse_bracketed(const char *text, size_t len, struct policy_host *out, struct pkg_error *err)
{
	char inner[POLICY_ADDRESS_TEXT];

	if (len < 4 || len - 2 >= sizeof(inner) || text[len - 1] != ']' || memchr(text, '\0', len))
		return refuse(err, text, len, "is no IPv6 address in brackets");
	memcpy(inner, text + 1, len - 2);
	inner[len - 2] = '\0';
	if (!strchr(inner, ':') || !policy_address_parse(inner, &out->address))
		return refuse(err, text, len, "is no IPv6 address in brackets");
	/* Canonical spelling, so that one address has one name in audit rows. */
	policy_address_format(&out->address, inner);
	memcpy(out->name, inner, strlen(inner) + 1);
	return 0;
}

int
policy_host_parse(const char *text, size_t len, struct policy_host *out, struct pkg_error *err)
{
	memset(out, 0, sizeof(*out));
	return len > 0 && text[0] == '[' ? parse_bracketed(text, len, out, err)
					 : parse_name(text, len, out, err);
}

static int
parse_port(const char *text, size_t len, int *port)
{
	int value = 0;

	if (len == 0 || len > 5)
		return -1;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -1;
		value = value * 10 + (text[i] - '0');
	}
	if (value < 1 || value > 65535)
		return -1;
	*port = value;
	return 0;
}

int
policy_authority_parse(
	const char *text, size_t len, struct policy_host *out, int *port, struct pkg_error *err)
{
	const char *end = text + len;
	const char *colon = memchr(text, ':', len);
	int value = 0;

	if (len > 0 && text[0] == '[') {
		const char *close = memchr(text, ']', len);

		colon = close && close + 1 < end ? close + 1 : NULL;
		if (colon && *colon != ':')
			return refuse(err, text, len, "has text after the closing bracket");
	}
	if (colon && parse_port(colon + 1, (size_t)(end - colon - 1), &value) < 0)
		return refuse(err, text, len, "has no port between 1 and 65535 after the colon");
	*port = value;
	return policy_host_parse(text, (size_t)((colon ? colon : end) - text), out, err);
}

static bool
has_host_bits(const struct policy_address *network, unsigned prefix)
{
	unsigned bits = network->family == AF_INET ? 32 : 128;

	for (unsigned i = prefix; i < bits; i++)
		if (network->bytes[i / 8] & (0x80 >> (i % 8)))
			return true;
	return false;
}

static int
parse_network(
	const char *text, const char *slash, struct policy_host_rule *out, struct pkg_error *err)
{
	size_t len = strlen(text), left = (size_t)(slash - text);
	const char *colon = strchr(slash, ':');
	unsigned bits, min;
	char address[POLICY_ADDRESS_TEXT];
	int prefix = 0;

	if (left >= 2 && text[0] == '[' && slash[-1] == ']')
		text++, left -= 2;
	if (left == 0 || left >= sizeof(address))
		return refuse(err, text, len, "has no address before the slash");
	memcpy(address, text, left);
	address[left] = '\0';
	if (!policy_address_parse(address, &out->host.address))
		return refuse(err, text, len, "has no address before the slash");
	if (colon && parse_port(colon + 1, strlen(colon + 1), &out->port) < 0)
		return refuse(err, text, len, "has no port between 1 and 65535 after the colon");
	/* parse_port() reads any number from 1 up; 0 is below every minimum anyway. */
	if (parse_port(slash + 1, colon ? (size_t)(colon - slash - 1) : strlen(slash + 1),
		    &prefix) < 0)
		prefix = 0;
	bits = out->host.address.family == AF_INET ? 32 : 128;
	min = bits == 32 ? PREFIX_MIN_V4 : PREFIX_MIN_V6;
	if ((unsigned)prefix < min || (unsigned)prefix > bits)
		return pkg_error_set(err, PKG_E_INVALID,
			"host rule '%.*s': the prefix length must be %u to %u", RULE_TEXT_MAX, text,
			min, bits);
	if (has_host_bits(&out->host.address, (unsigned)prefix))
		return pkg_error_set(err, PKG_E_INVALID,
			"host rule '%.*s': the address has bits set beyond the prefix",
			RULE_TEXT_MAX, text);
	out->prefix = (unsigned)prefix;
	out->kind = POLICY_RULE_NETWORK;
	policy_address_format(&out->host.address, address);
	memcpy(out->host.name, address, strlen(address) + 1);
	return 0;
}

static int
parse_host_rule(const char *text, struct policy_host_rule *out, struct pkg_error *err)
{
	const char *host = text;

	if (text[0] == '*' && text[1] == '.' && text[2]) {
		out->kind = POLICY_RULE_BELOW;
		host += 2;
	} else if (text[0] == '.' && text[1]) {
		out->kind = POLICY_RULE_DOMAIN;
		host += 1;
	} else if (text[0] == '*') {
		return refuse(err, text, strlen(text),
			"a star stands only before a dot and a name (*.example.org)");
	}
	/* An IPv6 address without brackets has no port, so every colon is its own. */
	if (out->kind == POLICY_RULE_HOST && policy_address_parse(host, &out->host.address)) {
		char canonical[POLICY_ADDRESS_TEXT];

		policy_address_format(&out->host.address, canonical);
		memcpy(out->host.name, canonical, strlen(canonical) + 1);
	} else if (policy_authority_parse(host, strlen(host), &out->host, &out->port, err) < 0) {
		return -1;
	}
	if (out->host.address.family == 0)
		return 0;
	if (out->kind != POLICY_RULE_HOST)
		return refuse(err, text, strlen(text), "nothing is below an address");
	out->kind = POLICY_RULE_NETWORK;
	out->prefix = out->host.address.family == AF_INET ? 32 : 128;
	return 0;
}

int
policy_host_rule_parse(const char *text, struct policy_host_rule *out, struct pkg_error *err)
{
	struct policy_host_rule rule = { 0 };
	const char *slash = strchr(text, '/');
	int rc;

	if (strlen(text) > RULE_TEXT_MAX)
		return pkg_error_set(
			err, PKG_E_INVALID, "host rule: longer than %d bytes", RULE_TEXT_MAX);
	if (strstr(text, "://")) {
		refuse(err, text, strlen(text), "is a URL");
		return pkg_error_cure(
			err, "write the host alone, with :port where it is not 443 or 80");
	}
	rc = slash ? parse_network(text, slash, &rule, err) : parse_host_rule(text, &rule, err);
	if (rc < 0)
		return -1;
	rule.text = pkg_xstrdup(text);
	*out = rule;
	return 0;
}

void
policy_host_rule_clear(struct policy_host_rule *rule)
{
	free(rule->text);
	memset(rule, 0, sizeof(*rule));
}

static int
append(struct policy_host_rules *rules, const char *text, enum policy_rule_tls tls,
	struct pkg_error *err)
{
	struct policy_host_rule rule;

	if (rules->count >= POLICY_RULES_MAX)
		return pkg_error_set(
			err, PKG_E_TOO_LARGE, "more than %d host rules", POLICY_RULES_MAX);
	if (policy_host_rule_parse(text, &rule, err) < 0)
		return -1;
	rule.tls = tls;
	rules->items = pkg_xrealloc(rules->items, rules->count + 1, sizeof(*rules->items));
	rules->items[rules->count++] = rule;
	return 0;
}

int
policy_host_rules_add(struct policy_host_rules *rules, const char *text, struct pkg_error *err)
{
	return append(rules, text, POLICY_TLS_REQUIRED, err);
}

static int
parse_tls(const char *word, enum policy_rule_tls *out, struct pkg_error *err)
{
	static const char *const words[] = { "required", "no-sni", "any" };

	for (size_t i = 0; i < PKG_ARRAY_LEN(words); i++)
		if (strcmp(word, words[i]) == 0) {
			*out = (enum policy_rule_tls)i;
			return 0;
		}
	return pkg_error_set(err, PKG_E_INVALID,
		"host rule: \"tls\" is none of \"required\", \"no-sni\", \"any\"");
}

static int
append_object(struct policy_host_rules *rules, struct json_object *object, struct pkg_error *err)
{
	enum policy_rule_tls tls = POLICY_TLS_REQUIRED;
	const char *host = NULL;

	json_object_object_foreach(object, key, value)
	{
		if (strcmp(key, "host") != 0 && strcmp(key, "tls") != 0)
			return pkg_error_set(err, PKG_E_INVALID,
				"host rule: unknown key (known are \"host\" and \"tls\")");
		if (!json_object_is_type(value, json_type_string))
			return pkg_error_set(
				err, PKG_E_INVALID, "host rule: \"%s\" is not a string", key);
		if (key[0] == 'h')
			host = json_object_get_string(value);
		else if (parse_tls(json_object_get_string(value), &tls, err) < 0)
			return -1;
	}
	if (!host)
		return pkg_error_set(err, PKG_E_INVALID, "host rule: \"host\" is missing");
	return append(rules, host, tls, err);
}

int
policy_host_rules_add_json(
	struct policy_host_rules *rules, struct json_object *array, struct pkg_error *err)
{
	size_t before = rules->count;
	int rc = 0;

	if (!json_object_is_type(array, json_type_array))
		return pkg_error_set(err, PKG_E_INVALID, "host rules: not an array");
	for (size_t i = 0; i < json_object_array_length(array) && rc == 0; i++) {
		struct json_object *item = json_object_array_get_idx(array, i);

		if (json_object_is_type(item, json_type_object))
			rc = append_object(rules, item, err);
		else if (!json_object_is_type(item, json_type_string))
			rc = pkg_error_set(err, PKG_E_INVALID,
				"host rules: item %zu is no string or object", i);
		/* A NUL inside would cut the rule short: evil.example\0.good.example. */
		else if (strlen(json_object_get_string(item)) !=
			(size_t)json_object_get_string_len(item))
			rc = pkg_error_set(err, PKG_E_INVALID, "host rules: item %zu has a NUL", i);
		else
			rc = policy_host_rules_add(rules, json_object_get_string(item), err);
	}
	if (rc < 0)
		while (rules->count > before)
			policy_host_rule_clear(&rules->items[--rules->count]);
	return rc;
}

void
policy_host_rules_clear(struct policy_host_rules *rules)
{
	for (size_t i = 0; i < rules->count; i++)
		policy_host_rule_clear(&rules->items[i]);
	free(rules->items);
	rules->items = NULL;
	rules->count = 0;
}

/* The boundary dot is the point: notexample.org is not below example.org. */
static bool
is_below(const char *name, const char *suffix)
{
	size_t len = strlen(name), tail = strlen(suffix);

	return len > tail + 1 && name[len - tail - 1] == '.' &&
		strcmp(name + len - tail, suffix) == 0;
}

static bool
rule_allows_host(const struct policy_host_rule *rule, const struct policy_host *host)
{
	if (rule->kind == POLICY_RULE_NETWORK)
		return host->address.family != 0 &&
			policy_address_within(&host->address, &rule->host.address, rule->prefix);
	if (host->address.family != 0)
		return false;
	if (rule->kind != POLICY_RULE_BELOW && strcmp(host->name, rule->host.name) == 0)
		return true;
	return rule->kind != POLICY_RULE_HOST && is_below(host->name, rule->host.name);
}

const struct policy_host_rule *
policy_host_match(const struct policy_host_rules *rules, const struct policy_host *host, int port,
	bool is_connect)
{
	for (size_t i = 0; i < rules->count; i++) {
		const struct policy_host_rule *rule = &rules->items[i];
		int wanted = rule->port ? rule->port : is_connect ? 443 : 80;

		if (port == wanted && rule_allows_host(rule, host))
			return rule;
	}
	return NULL;
}

const struct policy_host_rule *
policy_host_match_address(const struct policy_host_rules *rules,
	const struct policy_address *address, int port, bool is_connect)
{
	struct policy_host host = { .address = *address };

	return policy_host_match(rules, &host, port, is_connect);
}
