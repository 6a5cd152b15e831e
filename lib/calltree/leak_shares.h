/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CALLTREE_LEAK_SHARES_H
#define PROFC_CALLTREE_LEAK_SHARES_H

#include <stddef.h>

#include "calltree/leaks.h"

/* The sum of an owner's leaks. */
struct leak_share {
	struct leak_owner owner;
	struct tally tally; /* in bytes */
	size_t nr_stacks;
};

/* The shares of all owners with leaks, the most bytes first. The caller frees the array. */
struct leak_share *leak_shares_new(const struct leaks *leaks, size_t *nr);

#endif
