/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CALLTREE_PHASES_H
#define PROFC_CALLTREE_PHASES_H

#include <stddef.h>
#include <stdint.h>

#include "base/strtab.h"

struct profile;

/* The time from one mark of a recording to the next one. */
struct phase {
	uint64_t from_ns, to_ns; /* to_ns: where the next one begins; UINT64_MAX of the last */
	struct str_id text;	 /* of the mark that it begins with; STR_EMPTY of the first phase */
};

/* All phases in the order of time. The first one precedes all marks. */
struct phases {
	struct phase *phases; /* owned */
	size_t nr;	      /* one more than there are marks */
};

struct phases *phases_new(const struct profile *profile);
void phases_free(struct phases *phases);
/* The one that a moment is in: a mark is in that which it ends. */
size_t phases_find(const struct phases *phases, uint64_t time_ns);

#endif
