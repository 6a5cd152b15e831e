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

/* The files to keep. Zero-initialised is empty. */
struct kept_sources {
	struct str_id *files; /* owned: those with most self first */
	size_t nr;	      /* files with sampled lines */
	size_t nr_kept;
	size_t nr_large; /* files without room */
};

/* Find the files; `weights` is not used later. */
void kept_sources_find(struct kept_sources *kept, const struct weights *weights);
/*
 * Read the files as they are now, and keep their text in the profile, of which no view may exist.
 */
void kept_sources_read(struct kept_sources *kept, struct profile *profile);
void kept_sources_release(struct kept_sources *kept);

#endif
