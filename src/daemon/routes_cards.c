#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "daemon/daemon.h"
#include "daemon/render.h"
#include "daemon/routes.h"
#include "daemon/supervise.h"
#include "store/history.h"

#define CARDS_MAX 1000
#define MESSAGE_MAX 2000

int
route_cards(struct http_request *request, struct pkg_error *err)
{
	pkg_cleanup_store_card_list struct store_card_list list = { 0 };
	struct json_object *result, *rows;

	if (store_card_list(request->daemon->store, http_query(request, "state"), CARDS_MAX, &list,
		    err) < 0)
		return -1;
	result = json_object_new_object();
	rows = json_object_new_array();
	for (size_t i = 0; i < list.count; i++)
		json_object_array_add(rows, render_card(request->daemon, &list.items[i]));
	pkg_json_set(result, "cards", rows);
	return http_reply_sync(request, result);
}

static int
get_card(struct http_request *request, struct store_card *card, struct pkg_error *err)
{
	char *end = NULL;
	long long id = strtoll(request->params[0], &end, 10);

	if (store_card_get(request->daemon->store, *end == '\0' ? id : 0, card, err) < 0)
		return pkg_error_prefix(err, "card %s", request->params[0]);
	return 0;
}

int
route_card(struct http_request *request, struct pkg_error *err)
{
	pkg_cleanup_store_card struct store_card card = { 0 };

	if (get_card(request, &card, err) < 0)
		return -1;
	return http_reply_sync(request, render_card(request->daemon, &card));
}

static int
parse_answer(struct http_request *request, struct store_answer *answer, struct pkg_error *err)
{
	const char *word = pkg_json_str(request->json, "answer");

	if (word == NULL || (strcmp(word, "approve") != 0 && strcmp(word, "deny") != 0))
		return pkg_error_set(err, PKG_E_INVALID, "answer: 'approve' or 'deny' is wanted");
	*answer = (struct store_answer){
		.approve = strcmp(word, "approve") == 0,
		.uid = request->peer.uid,
		.pid = request->peer.pid,
		.via = "control",
		.plan_hash = pkg_json_str(request->json, "plan_hash"),
	};
	return 0;
}

static void
tell_answer(struct daemon *daemon, const struct store_card *card)
{
	struct json_object *row = json_object_new_object();
	struct json_object *by = json_object_new_object();
	pkg_autofree char *text = NULL;

	pkg_json_set_int(by, "uid", card->answered_uid);
	pkg_json_set_int(by, "pid", card->answered_pid);
	pkg_json_set_str(by, "via", card->answered_via);
	pkg_json_set_str(row, "type", "answer");
	pkg_json_set_int(row, "card", card->id);
	pkg_json_set_str(row, "state", card->state);
	pkg_json_set(row, "by", by);
	pkg_json_set_str(row, "message", card->message);
	pkg_json_set_int(row, "job", card->job);
	text = pkg_json_line(row);
	(void)store_audit_add(daemon->store, "answer", text, NULL);
	supervisor_event(daemon, card->job, row);
}

int
route_card_answer(struct http_request *request, struct pkg_error *err)
{
	struct daemon *daemon = request->daemon;
	pkg_cleanup_store_card struct store_card card = { 0 };
	pkg_cleanup_store_card struct store_card after = { 0 };
	const char *message = pkg_json_str(request->json, "message");
	pkg_autofree char *clean = message != NULL
		? pkg_text_clean(message, strlen(message), MESSAGE_MAX, true)
		: NULL;
	pkg_cleanup_error struct pkg_error why = { 0 };
	struct store_answer answer;

	if (get_card(request, &card, err) < 0 || parse_answer(request, &answer, err) < 0)
		return -1;
	answer.message = clean;
	if (store_card_answer(daemon->store, card.id, &answer, &why) < 0) {
		/* Too late: that ended its job, and whoever follows it is told. */
		if (why.kind == PKG_E_EXPIRED) {
			supervisor_tell_end(daemon, card.job);
			supervisor_kick(daemon);
		}
		pkg_error_move(err, &why);
		return -1;
	}
	if (store_card_get(daemon->store, card.id, &after, err) < 0)
		return -1;
	tell_answer(daemon, &after);
	if (!answer.approve)
		supervisor_tell_end(daemon, after.job);
	supervisor_kick(daemon);
	return http_reply_sync(request, render_card(daemon, &after));
}
