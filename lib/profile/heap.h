/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROFILE_HEAP_H
#define PROFC_PROFILE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strtab.h"
#include "profile/ids.h"
#include "stack/stack.h"
#include "stack/stack_end.h"

struct profile;

/*
 * What was recorded of memory: blocks as they were allocated and freed, a sample of them or all,
 * and now and then what the kernel and the allocator knew of a process.
 */

/*
 * The sizes, means and number of all blocks of a profile are not more together, nor are the totals
 * of all processes (man/profc-data.5, BOUNDS).
 */
#define HEAP_TOTAL_MAX (UINT64_C(1) << 61)

/* What allocated a block. Numbers are part of the file format: append only. */
enum allocation_kind {
	ALLOCATION_MALLOC = 0,
	ALLOCATION_CALLOC = 1,
	ALLOCATION_REALLOC = 2,
	ALLOCATION_ALIGNED = 3,
	ALLOCATION_NEW = 4,
	ALLOCATION_MAP = 5, /* mmap, called by the program itself */
	ALLOCATION_POOL = 6,
	ALLOCATION_KIND_COUNT,
};

/* As agents and JSON have it: "malloc", "map". */
const char *allocation_kind_name(enum allocation_kind kind);

/* Whether anything pointed to a block when the memory of its process was searched. */
enum allocation_search {
	ALLOCATION_NOT_SEARCHED = 0,
	ALLOCATION_POINTED_TO = 1,
	ALLOCATION_LOST = 2, /* nothing did */
	ALLOCATION_SEARCH_COUNT,
};

#define THREAD_NONE ((struct thread_id){UINT32_MAX})

/* In profile_allocation.former: one that was not recorded. */
#define FORMER_UNKNOWN UINT32_MAX

/*
 * One block, or several that are alike. Rows are appended in the order of time_ns; what is said of
 * its freeing is updated in place, once. A file has the time in multiples of SAMPLE_TIME_GRAIN_NS,
 * and in such how long the block lived, rounded down.
 */
struct profile_allocation {
	uint64_t time_ns;  /* since the recording began */
	uint64_t freed_ns; /* 0: never, up to the end of its process or of the recording */
	uint64_t size_bytes;
	/* Of the sampling when it was taken, in which each byte has the same chance to be met. */
	uint64_t mean_bytes; /* 0: every block was recorded */
	/*
	 * Where every block was recorded, and several are in one row: size_bytes is the sum, and
	 * life_ns the mean of how long they have lived, from their first allocation on. Whether
	 * they were alive at a moment is to be told by the times, as of one block.
	 */
	uint64_t life_ns;	   /* 0: from time_ns to freed_ns */
	uint32_t nr_more;	   /* blocks beside the first one */
	struct thread_id thread;   /* that allocated it */
	struct thread_id freed_by; /* or THREAD_NONE */
	struct stack_id stack;	   /* where it was allocated */
	/* What realloc() made it of: 0: it is new; else one more than the row; FORMER_UNKNOWN */
	uint32_t former;
	struct stack_id freed_stack; /* where it was freed */
	uint8_t kind;		     /* enum allocation_kind */
	uint8_t end;		     /* of the walk: enum stack_end */
	uint8_t freed_end; /* 0: where it was freed is not recorded; else one more than that */
	bool is_moved;	   /* it was freed by a realloc(), which made another row's block of it */
	uint8_t search;	   /* enum allocation_search: in the end; set in place, once */
};

/* The memory of one process at one moment. Rows are in the order of time_ns. */
struct profile_heap_moment {
	uint64_t time_ns;
	uint32_t process; /* row of profile.processes */
	/* As the kernel counts resident pages, and what was swapped out. */
	uint64_t rss_anon_bytes, rss_file_bytes, rss_shmem_bytes, swap_bytes;
	uint64_t heap_mapped_bytes; /* resident of the mappings that allocators take blocks from */
	/*
	 * Since the recording of the process' memory began, exact: of all kinds of blocks but
	 * ALLOCATION_MAP, which is recorded block by block. 0: not known.
	 */
	uint64_t allocated_bytes, nr_allocations;
	uint64_t nr_dropped; /* samples of blocks that were lost */
};

/*
 * A process with blocks that were alive at a mark, in its end, or that of the recording: its memory
 * was searched for pointers to them, or could not be.
 */
struct profile_search {
	uint64_t time_ns;      /* of all that were searched at a mark that of the mark */
	uint32_t process;      /* row of profile.processes */
	uint64_t stop_ns;      /* so long it was stopped for that */
	uint64_t nr_bytes;     /* that were read */
	struct str_id why_not; /* it was not searched, for a user to read; or empty */
	struct str_id mark;    /* its text; empty: in the end */
};

/* What the search of a process at a mark has shown of a block. */
struct profile_verdict {
	uint32_t search, allocation; /* rows */
	uint8_t verdict;	     /* enum allocation_search */
};

/* What came first, and is not wanted any more (profile/heap_discard.h). */
struct heap_discard {
	uint64_t time_ns;		   /* 0: nothing was discarded */
	size_t nr_allocations, nr_moments; /* rows that go */
};

struct profile_heap {
	struct profile_allocation *allocations; /* owned, as all of these */
	size_t nr_allocations, cap_allocations;
	/* Which rows were freed after they were added, in the order in which that was told. */
	uint32_t *freed;
	size_t nr_freed, cap_freed;
	struct profile_heap_moment *moments;
	size_t nr_moments, cap_moments;
	struct profile_search *searches;
	size_t nr_searches, cap_searches;
	/* Which rows were searched in the end, in the order in which that was told. */
	uint32_t *searched;
	size_t nr_searched, cap_searched;
	struct profile_verdict *verdicts; /* at marks */
	size_t nr_verdicts, cap_verdicts;
	struct heap_discard discard;
};

/*
 * The chance of a block to be recorded, more than 0 and at most 1: 1 - exp(-size / mean). An empty
 * block has that of one byte.
 */
double allocation_chance(const struct profile_allocation *row);
/* How many blocks a row stands for, and how many bytes: one, or as many as it says, and their
 * size, divided by the chance.
 */
double allocation_blocks(const struct profile_allocation *row);
double allocation_bytes(const struct profile_allocation *row);

/* Those of profile.c, beside its other tables. Returns the row's index, by which it is freed. */
uint32_t profile_add_allocation(struct profile *profile, const struct profile_allocation *row);
/* Not before it was allocated: an earlier time counts as that. It must not be freed yet. */
void profile_free_allocation(struct profile *profile, uint32_t index, uint64_t time_ns,
			     struct thread_id thread);
/* It was realloc() that freed it, and goes on with its contents. Of one that is freed. */
void profile_move_allocation(struct profile *profile, uint32_t index);
/* The stack that freed it, by a thread that is known. Likewise. */
void profile_note_freeing(struct profile *profile, uint32_t index, struct stack_id stack,
			  enum stack_end end);
/* Returns the row's index. */
uint32_t profile_add_search(struct profile *profile, const struct profile_search *row);
/* Of a search at a mark; it is not ALLOCATION_NOT_SEARCHED. */
void profile_add_verdict(struct profile *profile, const struct profile_verdict *row);
/* Of a block that was not searched yet; `search` is not ALLOCATION_NOT_SEARCHED. */
void profile_search_allocation(struct profile *profile, uint32_t index,
			       enum allocation_search search);
void profile_add_heap_moment(struct profile *profile, const struct profile_heap_moment *row);
/* Was memory recorded? */
bool profile_has_heap(const struct profile *profile);

#endif
