/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The counts of the last time: by how much each has grown from one look at them to the next. */
#ifndef PROFC_RECORDER_KEPT_COUNTS_H
#define PROFC_RECORDER_KEPT_COUNTS_H

#include <stddef.h>
#include <stdint.h>

struct profile;

/* A row of profile.probes.counts with more calls than at the look before. */
struct kept_count {
	uint64_t calls; /* by so many */
	uint32_t row;
};

/* From one look to the next. */
struct kept_look {
	uint64_t from_ns, to_ns; /* on the recording's clock */
	size_t nr;		 /* of rows */
};

/* Several looks, one after the other. Zero-initialised is empty. */
struct kept_counts {
	struct kept_look *looks; /* owned, as the rows, which are in the order of the looks */
	size_t nr_looks, cap_looks;
	struct kept_count *rows;
	size_t nr_rows, cap_rows;
};

void kept_counts_release(struct kept_counts *counts);
size_t kept_counts_bytes(const struct kept_counts *counts);

/* The last look. Zero-initialised: there was none. */
struct last_counts {
	uint64_t time_ns;
	uint64_t *calls; /* by row; owned */
	size_t nr, cap;
};

void last_counts_release(struct last_counts *last);
/* How many bytes the next look at the profile adds; 0: nothing is counted. */
size_t last_counts_bytes(const struct last_counts *last, const struct profile *profile);
/* Look at the counts of the profile, which are added. */
void last_counts_look(struct last_counts *last, const struct profile *profile,
		      struct kept_counts *counts);

/* The counts since a moment, up to the last look. */
struct counts_since {
	uint64_t asked_ns; /* the moment; */
	uint64_t from_ns;  /* the look after it from which they are; UINT64_MAX: there is none */
	uint64_t *calls;   /* by row; owned */
};

/* `nr`: rows of the profile. */
void counts_since_begin(struct counts_since *since, uint64_t asked_ns, size_t nr);
/* Later looks, one after the other. */
void counts_since_add(struct counts_since *since, const struct kept_counts *counts);
void counts_since_release(struct counts_since *since);

#endif
