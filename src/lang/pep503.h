/* lang/pep503.h - project names: PEP 503 normalisation and the PEP 508 name grammar.
 * Purpose    The one place that says which two spellings are the same project, and what may be a
 *            name at all. Extras follow the same rules (PEP 685).
 * Ownership  Results are given to the caller.
 * Errors     None.
 */
#ifndef LANG_PEP503_H
#define LANG_PEP503_H
#include <stdbool.h>
#include <stddef.h>

#define LANG_NAME_MAX 255

/* Given: ASCII lower case, runs of '-', '_' and '.' as one '-'. Other bytes are kept. */
char *lang_pep503_normalize(const char *name);
char *lang_pep503_normalize_mem(const char *name, size_t len);
/* ASCII letters and digits, with '-', '_' and '.' between them; 1 to LANG_NAME_MAX bytes. A leading
 * '-' is thereby impossible, so a name never becomes an option of a program. */
bool lang_pep503_is_name(const char *name);
bool lang_pep503_is_name_mem(const char *name, size_t len);
/* The same project after normalisation. */
bool lang_pep503_equal(const char *a, const char *b);
#endif
