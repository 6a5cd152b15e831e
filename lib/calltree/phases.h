/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CALLTREE_PHASES_H
#define PROFC_CALLTREE_PHASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strtab.h"

struct profile;
struct timelines;

/* The time from one mark of a run to the next one. */
struct phase {
	uint64_t from_ns, to_ns; /* to_ns: the begin of the next one; UINT64_MAX for the last */
	struct str_id text;	 /* the mark at its begin; STR_EMPTY for the first phase */
	uint64_t end_ns;	 /* the end of the phase, or of its run */
	bool is_first;		 /* the phase before all marks of its run */
};

/* All phases, run by run, in the order of time. */
struct phases {
	struct phase *phases; /* owned, as all here */
	size_t nr;	      /* as many as there are marks and runs */
	struct timelines *timelines;
	size_t *firsts; /* by timeline: its first phase; the last member is nr */
};

struct phases *phases_new(const struct profile *profile);
void phases_free(struct phases *phases);
/* The phase of a moment in the life of a process: a mark belongs to the phase that it ends. */
size_t phases_find(const struct phases *phases, uint32_t process, uint64_t time_ns);

#endif
