/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which source files to show if the user names none, and where those of Python are. */
#ifndef PROFC_VIEW_SOURCE_CHOICE_H
#define PROFC_VIEW_SOURCE_CHOICE_H

#include <stdbool.h>
#include <stddef.h>

struct expansion;
struct source;
struct source_file;
struct source_maps;

/* The rules for choosing files. */
struct source_choice {
	const struct source_maps *maps; /* maps paths to texts; borrowed */
	size_t limit;
	/* Include files without text, even if others can be shown. */
	bool or_missing;
};

/*
 * The files to show, at most `limit`: first those with text outside /usr, as a user can change
 * these; then those with text below /usr; then those without text. Within a kind, files with more
 * self come first, and files without self are left out; but if no file of the first kind has self,
 * as its callees do all the work, its file with the most total is shown. The caller frees the
 * array.
 */
const struct source_file **source_choose(const struct source *source,
					 const struct source_choice *choice, size_t *nr);

/*
 * The file of the first of the wanted labels (one bool for each) that is a function of Python; NULL
 * if there is none. Where that file was not found such functions have no line. Borrowed.
 */
const char *source_python_file(const struct expansion *expansion, const bool *wanted);

#endif
