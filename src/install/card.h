/* install/card.h - a plan as a person reads it.
 * Purpose    The one text of a card, on the terminal, in the API and on the page: who asks, what changes, what
 *            it costs, what kernels must do. Nothing that the hash covers is left out; long plans fold only
 *            in the viewer. Everything that a package or a requester wrote is cleaned and capped.
 * Ownership  Results are given.
 * Errors     None: a plan that lacks a field shows "?".
 */
#ifndef INSTALL_CARD_H
#define INSTALL_CARD_H
#include "core/json.h"

/* "install flask into default/python" */
char *install_card_title(struct json_object *plan);
/* The whole card. requester may be NULL; colour: SGR sequences around the marks. */
char *install_card_text(struct json_object *plan, struct json_object *requester, bool colour);
/* "additive: running kernels keep everything" or "restart due: numpy 1.24.2 -> 2.0.1". */
char *install_card_verdict(struct json_object *restart);
#endif
