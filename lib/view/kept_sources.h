/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps the text of source files in a profile. */
#ifndef PROFC_VIEW_KEPT_SOURCES_H
#define PROFC_VIEW_KEPT_SOURCES_H

#include <stddef.h>

#include "base/strtab.h"

struct profile;
struct weights;

/* Source compresses to a fifth. */
#define KEPT_SOURCE_MAX_BYTES  ((size_t)4 << 20) /* a file */
#define KEPT_SOURCES_MAX_BYTES ((size_t)64 << 20)

/* Which files are kept. Zero-initialised is empty. */
struct kept_sources {
	struct str_id *files; /* owned: those with most self first */
	size_t nr;	      /* that samples have lines of */
	size_t nr_kept;
	size_t nr_large; /* for which there was no room */
};

/* Find the files; nothing is kept of the weights. */
void kept_sources_find(struct kept_sources *kept, const struct weights *weights);
/* Read them as they are now, and keep their text in the profile: no view of it may exist then. */
void kept_sources_read(struct kept_sources *kept, struct profile *profile);
void kept_sources_release(struct kept_sources *kept);

#endif
