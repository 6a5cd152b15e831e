/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SYMBOL_FUNCTION_PATTERN_H
#define PROFC_SYMBOL_FUNCTION_PATTERN_H

#include <regex.h>
#include <stdbool.h>

struct err;

/*
 * "REGEX" or "MODULE!REGEX": functions, of all modules or of some. Both parts are POSIX extended
 * regular expressions that are to be found in a name; one that is empty means all. The first '!'
 * divides them, unless a backslash stands before it or it is in brackets: "!operator!=$" are
 * functions of all modules.
 */
struct function_pattern {
	char *text;	  /* as given; owned */
	const char *name; /* the part for functions, within the text */
	bool has_module, has_function;
	regex_t module, function; /* valid where has_… is set */
};

/*
 * Read one. Fails with ERR_INVALID, and words that say which part is bad and why; nothing is to be
 * released then.
 */
int function_pattern_init(struct function_pattern *pattern, const char *text, struct err *err);
void function_pattern_release(struct function_pattern *pattern);

/* Is the module of this path meant? The expression is tried on its base name and on the path. */
bool function_pattern_takes_module(const struct function_pattern *pattern, const char *path);
/* What symbol_functions_find() takes: NULL for all functions. Borrowed. */
const regex_t *function_pattern_regex(const struct function_pattern *pattern);

#endif
