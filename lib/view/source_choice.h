/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which source files to show where none is named. */
#ifndef PROFC_VIEW_SOURCE_CHOICE_H
#define PROFC_VIEW_SOURCE_CHOICE_H

#include <stdbool.h>
#include <stddef.h>

struct source;
struct source_file;
struct source_maps;

/* How files are chosen. */
struct source_choice {
	const struct source_maps *maps; /* where their text may be, borrowed */
	size_t limit;
	/* Files whose text is not there as well, even if others can be shown. */
	bool or_missing;
};

/*
 * The files to show, at most `limit`: first those whose text is there and not below /usr, as these
 * are what a user can change, then those below it, then those without a text. Of each kind the ones
 * with most self, and none without any; but if all those of the first kind have none, as all work
 * is done by what they call, the one with most total. The caller frees the array.
 */
const struct source_file **source_choose(const struct source *source,
					 const struct source_choice *choice, size_t *nr);

#endif
