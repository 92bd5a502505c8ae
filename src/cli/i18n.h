/* cli/i18n.h - messages for people, through gettext.
 * Purpose    _() translates, N_() only marks for xgettext. JSON, error kinds and log lines never pass here.
 * Ownership  Results are static.
 * Errors     None: an unknown message stays English.
 */
#ifndef CLI_I18N_H
#define CLI_I18N_H
#include <libintl.h>

#define _(text) gettext(text)
#define N_(text) text
#endif
