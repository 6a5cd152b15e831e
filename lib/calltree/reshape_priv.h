/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks as --focus and --hide leave them. */
#ifndef PROFC_CALLTREE_RESHAPE_PRIV_H
#define PROFC_CALLTREE_RESHAPE_PRIV_H

#include <stdbool.h>

#include "calltree/expand.h"
#include "profile/profile.h"

/*
 * An expansion of a profile with other stacks for its samples and blocks. Labels, places and
 * everything not listed here are those of the original, which must outlive it.
 */
struct reshaped {
	struct expansion expansion; /* its levels and frames are its own */
	struct profile profile;	    /* so are its frames, stacks, samples and allocations */
};

/*
 * `focus` and `hide` are by label, or NULL. With a focus, stacks begin with their outermost level
 * in focus, and stacks without one are empty, like those that were not taken. Hidden levels are
 * then left out; a stack with no other levels becomes LABEL_HIDDEN.
 */
struct reshaped *reshaped_new(const struct expansion *from, const bool *focus, const bool *hide);
void reshaped_free(struct reshaped *reshaped);

#endif
