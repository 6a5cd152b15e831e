/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SYMBOL_FUNCTION_PATTERN_H
#define PROFC_SYMBOL_FUNCTION_PATTERN_H

#include <regex.h>
#include <stdbool.h>

struct err;

/*
 * "REGEX" or "MODULE!REGEX": functions of all modules or of some. Both parts are POSIX extended
 * regular expressions that match anywhere in a name; an empty part means all. The first '!' divides
 * them, unless it follows a backslash or is in brackets: "!operator!=$" means functions of all
 * modules.
 */
struct function_pattern {
	char *text;	  /* as given; owned */
	const char *name; /* the part for functions, in `text` */
	bool has_module, has_function;
	bool has_all;		  /* the expression for functions matches all names */
	regex_t module, function; /* valid where has_… is set */
	char *word;		  /* owned: in all names that match; NULL: not known */
};

/*
 * Parse a pattern. Fails with ERR_INVALID and a message about the bad part; then there is nothing
 * to release.
 */
int function_pattern_init(struct function_pattern *pattern, const char *text, struct err *err);
void function_pattern_release(struct function_pattern *pattern);

/* Does the pattern include the module? Its expression may match the base name or the path. */
bool function_pattern_takes_module(const struct function_pattern *pattern, const char *path);
/* The argument for symbol_functions_find(), borrowed; NULL for all functions. */
const regex_t *function_pattern_regex(const struct function_pattern *pattern);
/* Letters, digits and underscores that each match contains, borrowed; NULL: none are known. */
const char *function_pattern_word(const struct function_pattern *pattern);

#endif
