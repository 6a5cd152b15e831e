/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Has samples stand for equal parts of a sum of time, and says which stands where for which. */
#ifndef PROFC_PROFILE_SHARE_OUT_H
#define PROFC_PROFILE_SHARE_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* CPU time of one of the processes that are looked at together. */
struct stake {
	size_t sample; /* its number */
	uint64_t time_ns, cpu_ns;
	uint32_t nr;	    /* observations; 0: a sample without one */
	bool is_attributed; /* has a stack of its own */
};

/* Time of the sample `from` for which the stack of the sample `to` stands. */
struct share {
	size_t from, to;
	uint64_t to_time_ns; /* when `to` was taken */
	uint64_t ns;
};

struct share_list {
	struct share *rows; /* owned */
	size_t nr, cap;
};

void share_list_add(struct share_list *list, const struct share *share);

/*
 * The part of `total` that goes to places from .. to of `whole` places: exact sums, whatever the
 * division leaves.
 */
uint64_t share_of(uint64_t total, uint64_t from, uint64_t to, uint64_t whole);

/* nr times `most`, or UINT64_MAX: numbers of a file may be of any size. */
uint64_t share_bound(uint64_t nr, uint64_t most);

/*
 * Append shares after which each observation stands for an equal part of all CPU time, its own
 * included. Stakes are in time order; time goes to an observation near it. If the parts would
 * exceed most_ns, what has a stack keeps it, and time without a stack keeps the excess.
 */
void share_out(const struct stake *stakes, size_t nr, uint64_t most_ns, struct share_list *out);

#endif
