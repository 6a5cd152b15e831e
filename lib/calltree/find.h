/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CALLTREE_FIND_H
#define PROFC_CALLTREE_FIND_H

#include <stdbool.h>

struct err;
struct expansion;
struct filter;
struct profile;

/*
 * Of several functions that share their code, show the one that the user asks for: by the patterns
 * of a filter, or by `words` as find_labels() takes them. NULL: there are none. Call this before
 * the profile is expanded.
 */
void find_show_asked(struct profile *profile, const struct filter *filter, char *const *words);

/*
 * The labels a user means by a function's name: those with exactly this name, in full, shortened or
 * as in the symbol table; if there are none, those that match it as a POSIX extended regular
 * expression. One bool for each label; the caller frees *wanted. ERR_NOT_FOUND when no function is
 * meant, ERR_INVALID on a bad expression.
 */
int find_labels(const struct expansion *expansion, const char *name, bool **wanted,
		struct err *err);
/*
 * Set in `wanted`, one bool for each label, those that a word means: labels with a line in a file,
 * if its path ends with the word, or is the end of the word; if there are none, labels of that
 * name, which fails as find_labels() does.
 */
int find_labels_or_file(const struct expansion *expansion, const char *word, bool *wanted,
			struct err *err);

#endif
