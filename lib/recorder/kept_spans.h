/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The timed calls of the last time: the rows of a profile that came from one look to the next. */
#ifndef PROFC_RECORDER_KEPT_SPANS_H
#define PROFC_RECORDER_KEPT_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/spans.h"

/* From one look to the next. */
struct kept_spans_look {
	uint64_t from_ns, to_ns;    /* on the profile's clock */
	size_t nr_sums, nr_lengths; /* of rows */
};

/* Several looks, one after the other. Zero-initialised is empty. */
struct kept_spans {
	struct kept_spans_look *looks; /* owned */
	size_t nr_looks, cap_looks;
	struct profile_spans rows; /* without functions; owned, in the order of the looks */
};

void kept_spans_release(struct kept_spans *spans);
size_t kept_spans_bytes(const struct kept_spans *spans);
/* How many bytes the next look at the profile adds. */
size_t kept_spans_bytes_of(const struct profile_spans *spans);
/* Look at the rows of a profile, which are dropped after that: they are all since from_ns. */
void kept_spans_look(struct kept_spans *spans, const struct profile_spans *rows, uint64_t from_ns);

/* The calls since a moment, up to the last look. */
struct spans_since {
	uint64_t asked_ns;	   /* the moment; */
	uint64_t from_ns;	   /* and the look after it, or it, from which they are */
	struct profile_spans rows; /* without functions; owned */
};

void spans_since_begin(struct spans_since *since, uint64_t asked_ns);
/* Later looks, one after the other. Slow calls are known one by one: those that end after it. */
void spans_since_add(struct spans_since *since, const struct kept_spans *spans);
void spans_since_release(struct spans_since *since);

/* A call: its length, and its end on the profile's clock. */
struct long_call {
	uint64_t length_ns, end_ns;
};

/* The longest calls, by profile_span.number. Zero-initialised: there were none. */
struct longest_calls {
	struct long_call *at; /* owned */
	size_t nr, cap;
};

void longest_calls_look(struct longest_calls *longest, const struct profile_spans *rows);
/* The longest of that number since the last time; false: there was none. */
bool longest_calls_take(struct longest_calls *longest, uint32_t number, struct long_call *call);
void longest_calls_release(struct longest_calls *longest);

#endif
