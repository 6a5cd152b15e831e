/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Descriptions and units of the counters of a recording. */
#ifndef PROFC_VIEW_COUNTER_WORDS_H
#define PROFC_VIEW_COUNTER_WORDS_H

#include <stddef.h>
#include <stdint.h>

struct buf;

/* The subjects of a recording's counters. */
enum counter_group {
	COUNTER_LOSSES,	      /* losses */
	COUNTER_PERTURBATION, /* perturbation of the target */
	COUNTER_COSTS,	      /* overhead of profc itself */
	COUNTER_SCRIPTS,      /* samples with an interpreter: were its functions found? */
	COUNTER_CONTEXTS,     /* samples of processes that publish contexts: were they read? */
	COUNTER_OTHER,	      /* from a later version, or of no interest by itself */
	COUNTER_GROUP_COUNT,
	COUNTER_OF_A_LINE, /* shown by a line of its own, in no table */
};

struct counter_words {
	const char *name; /* as in the profile */
	enum counter_group group;
	const char *words; /* names the counted things, for users */
	const char *one;   /* after the number 1; NULL: the same */
};

/* The words for a counter; for an unknown one, its name and COUNTER_OTHER. */
struct counter_words counter_words(const char *name);
/* The words that follow that value. */
const char *counter_words_of(const struct counter_words *words, uint64_t value);
const char *counter_group_heading(enum counter_group group);
/* A value with the unit in its name: _ns, _ppm, _bytes; else a count. */
void append_counter_value(struct buf *out, const char *name, uint64_t value);

#endif
