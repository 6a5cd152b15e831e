/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CALLTREE_PHASES_H
#define PROFC_CALLTREE_PHASES_H

#include <stddef.h>
#include <stdint.h>

#include "base/strtab.h"

struct profile;

/* The time from one mark of a recording to the next one. */
struct phase {
	uint64_t from_ns, to_ns; /* to_ns: the begin of the next one; UINT64_MAX for the last */
	struct str_id text;	 /* the mark at its begin; STR_EMPTY for the first phase */
};

/* All phases in the order of time. The first one precedes all marks. */
struct phases {
	struct phase *phases; /* owned */
	size_t nr;	      /* one more than there are marks */
};

struct phases *phases_new(const struct profile *profile);
void phases_free(struct phases *phases);
/* The phase of a moment: a mark belongs to the phase that it ends. */
size_t phases_find(const struct phases *phases, uint64_t time_ns);

#endif
