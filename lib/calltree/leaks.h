/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CALLTREE_LEAKS_H
#define PROFC_CALLTREE_LEAKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calltree/tally.h"

struct level_list;
struct selection;
struct timelines;

/* The owners by which leaks are divided. */
enum leaks_by {
	LEAKS_BY_PROCESS,
	LEAKS_BY_PROGRAM, /* processes of one name together */
	LEAKS_BY_THREAD,  /* its threads of one name together */
};

/* The allocating process, or its threads of a name. */
struct leak_owner {
	uint32_t process;     /* row of profile.processes; by program the first of that name */
	struct str_id thread; /* the name; STR_EMPTY by process */
};

/*
 * The blocks of one stack, and one owner, that were not freed. Stacks with the same functions,
 * files and lines are one: a loop that the compiler unrolled has several calls on one line.
 */
struct leak {
	struct leak_owner owner;
	struct sample sample; /* one of them, for its stack */
	uint8_t kind;	      /* enum allocation_kind: one call makes one kind of them */
	struct tally tally;   /* in bytes */
	/* Parts of it: a search found no pointer to these, but some to those. */
	struct tally lost, pointed_to;
	uint64_t oldest_ns;  /* how long the oldest was alive at the end */
	uint64_t late_bytes; /* added in the second half of the recording, or of each of its runs */
};

/*
 * The blocks of the selected processes that were not freed when these, or the recording, ended; or
 * at the selected moment, as if that had been the end. Leaks grow until the end; blocks that are
 * merely kept were mostly allocated early.
 */
struct leaks {
	const struct selection *selection; /* borrowed */
	uint64_t at_ns;			   /* the moment; or HEAP_AT_END */
	enum leaks_by by;
	uint32_t *programs; /* owned; by process the first of its name; NULL unless by program */
	uint64_t min_age_ns;
	uint64_t depth; /* levels of a stack to show, from the leaf on; 0: all */
	bool tells_lost;
	struct leak *rows; /* owned; by bytes, the most first */
	size_t nr, cap;
	struct tally total, lost, pointed_to;
	/* The second half of each run, or of its selected part: its start and length. */
	struct timelines *timelines; /* owned */
	uint64_t *late_from_ns;	     /* by timeline; owned, as the next */
	uint64_t *late_ns;
	uint64_t all_late_ns; /* of all timelines */
};

/* The request; zero-initialised is all, by process. */
struct leaks_request {
	enum leaks_by by;
	uint64_t min_age_ns; /* younger blocks are left out at the end: they may be in use */
	uint64_t depth;	     /* stacks differ only in this many levels from the leaf on; 0: all */
};

struct leaks *leaks_new(const struct selection *selection, const struct leaks_request *request);
/* The levels to show of a leak: list is replaced by them, root first. */
void leak_stack(const struct leaks *leaks, const struct leak *leak, struct level_list *list);
/* A block of the leaks. */
struct left_block {
	uint32_t row;	     /* of profile.heap.allocations */
	uint64_t age_ns;     /* at the end, or the moment */
	uint64_t late_bytes; /* as in struct leak */
	uint8_t search;	     /* enum allocation_search */
};

/* All blocks of the leaks, in the order of their rows; the caller frees the array. */
struct left_block *leaks_blocks(const struct leaks *leaks, size_t *nr);
/* Have views report the lost part of each leak, most lost bytes first. */
void leaks_tell_lost(struct leaks *leaks);
void leaks_free(struct leaks *leaks);

/* Bytes per second, in the second half of the recording, or in those of all its runs together. */
double leak_growth(const struct leaks *leaks, const struct leak *leak);
/* Was every block recorded, so that no number is an estimate? */
bool leaks_are_exact(const struct leaks *leaks);

#endif
