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
 * Recorded memory: blocks when they were allocated and freed, a sample of them or all; and, from
 * time to time, the figures of the kernel and the allocator for a process.
 */

/*
 * Bound on the sum of sizes, means and number of all blocks of a profile, and on the totals of all
 * processes (man/profc-data.5, BOUNDS).
 */
#define HEAP_TOTAL_MAX (UINT64_C(1) << 61)

/* The function that allocated a block. Numbers are part of the file format: append only. */
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

/* The names that agents and JSON use: "malloc", "map". */
const char *allocation_kind_name(enum allocation_kind kind);

/* Whether anything pointed to a block when the memory of its process was searched. */
enum allocation_search {
	ALLOCATION_NOT_SEARCHED = 0,
	ALLOCATION_POINTED_TO = 1,
	ALLOCATION_LOST = 2, /* nothing did */
	ALLOCATION_SEARCH_COUNT,
};

#define THREAD_NONE ((struct thread_id){UINT32_MAX})

/* In profile_allocation.former: that block was not recorded. */
#define FORMER_UNKNOWN UINT32_MAX

/*
 * One block, or several alike. Rows are appended in the order of time_ns, but for struct heap_part;
 * the members about freeing are updated in place, once. A file has the time and the block's life in
 * multiples of SAMPLE_TIME_GRAIN_NS, the life rounded down.
 */
struct profile_allocation {
	uint64_t time_ns;  /* since the recording began */
	uint64_t freed_ns; /* 0: never, up to the end of its process or of the recording */
	uint64_t size_bytes;
	/* The mean distance of sampled bytes at that time; each byte had the same chance. */
	uint64_t mean_bytes; /* 0: every block was recorded */
	/*
	 * Several blocks may share a row where every block was recorded: then size_bytes is the sum
	 * of their sizes, and life_ns the mean of their lives once they are freed, measured from
	 * their first allocation. As for one block, the times decide whether they were alive at a
	 * moment.
	 */
	uint64_t life_ns;	   /* 0: from time_ns to freed_ns */
	uint32_t nr_more;	   /* blocks beside the first one */
	struct thread_id thread;   /* that allocated it */
	struct thread_id freed_by; /* or THREAD_NONE */
	struct stack_id stack;	   /* where it was allocated */
	/* the row it was realloc()ed from, plus one; 0: it is new; FORMER_UNKNOWN */
	uint32_t former;
	struct stack_id freed_stack; /* where it was freed */
	uint8_t kind;		     /* enum allocation_kind */
	uint8_t end;		     /* of the walk: enum stack_end */
	uint8_t freed_end; /* 0: the freeing stack is not recorded; else its enum stack_end + 1 */
	bool is_moved;	   /* realloc() freed it, and made another row's block of it */
	uint8_t search;	   /* enum allocation_search at the end; set in place, once */
	/* It was allocated before the time of the profile; time_ns may say as much of its time. */
	bool is_earlier;
};

/* The memory of one process at one moment. Rows are in the order of time_ns. */
struct profile_heap_moment {
	uint64_t time_ns;
	uint32_t process; /* row of profile.processes */
	/* The kernel's counts of resident pages, and the swapped bytes. */
	uint64_t rss_anon_bytes, rss_file_bytes, rss_shmem_bytes, swap_bytes;
	/* the resident part of mappings that allocators take blocks from */
	uint64_t heap_mapped_bytes;
	/*
	 * Exact, since the recording of the process' memory began: all kinds of blocks but
	 * ALLOCATION_MAP, which is recorded block by block. 0: not known.
	 */
	uint64_t allocated_bytes, nr_allocations;
	/* Blocks to be recorded that were not; in a sample, others represent them. */
	uint64_t nr_dropped;
	uint64_t nr_frees_dropped; /* frees that were not recorded */
};

/*
 * A process with blocks that were alive at a mark or at its or the recording's end: its memory was
 * searched for pointers to them, or the search failed.
 */
struct profile_search {
	uint64_t time_ns;      /* for all processes searched at a mark, the mark's time */
	uint32_t process;      /* row of profile.processes */
	uint64_t stop_ns;      /* the search stopped it for this time */
	uint64_t nr_bytes;     /* that were read */
	struct str_id why_not; /* the reason why it was not searched, for users; or empty */
	struct str_id mark;    /* the mark's text; empty: at the end */
};

/* The result for one block of the search of a process at a mark. */
struct profile_verdict {
	uint32_t search, allocation; /* rows */
	uint8_t verdict;	     /* enum allocation_search */
};

/* The discarded beginning of a recording (profile/heap_discard.h). */
struct heap_discard {
	uint64_t time_ns;		   /* 0: nothing was discarded */
	size_t nr_allocations, nr_moments; /* rows that go */
};

/*
 * A row that was split off an earlier one, `of`, when some of its blocks were freed: it has the
 * time of that one, and so is not in the order of times.
 */
struct heap_part {
	uint32_t row, of;
};

struct profile_heap {
	struct profile_allocation *allocations; /* owned, as all of these */
	size_t nr_allocations, cap_allocations;
	struct heap_part *parts; /* in the order of `row` */
	size_t nr_parts, cap_parts;
	/* Rows that were freed after they were added, in the order of the reports. */
	uint32_t *freed;
	size_t nr_freed, cap_freed;
	struct profile_heap_moment *moments;
	size_t nr_moments, cap_moments;
	struct profile_search *searches;
	size_t nr_searches, cap_searches;
	/* Rows that were searched at the end, in the order of the reports. */
	uint32_t *searched;
	size_t nr_searched, cap_searched;
	struct profile_verdict *verdicts; /* at marks */
	size_t nr_verdicts, cap_verdicts;
	struct heap_discard discard;
	/* Blocks that were freed before that are not in the tables; no file has it. */
	uint64_t forgotten_ns;
};

/*
 * The probability that a block is recorded, more than 0 and at most 1: 1 - exp(-size / mean). An
 * empty block has that of one byte.
 */
double allocation_chance(const struct profile_allocation *row);
/*
 * The estimated blocks and bytes that a row represents: its own number and size, divided by the
 * chance.
 */
double allocation_blocks(const struct profile_allocation *row);
double allocation_bytes(const struct profile_allocation *row);

/*
 * These are like profile.c's functions for other tables. Returns the row's index, for freeing it.
 */
uint32_t profile_add_allocation(struct profile *profile, const struct profile_allocation *row);
/* A time before the allocation counts as that of the allocation. The row must not be freed yet. */
void profile_free_allocation(struct profile *profile, uint32_t index, uint64_t time_ns,
			     struct thread_id thread);
#define HEAP_NO_ROW UINT32_MAX
/*
 * Fewer than all blocks of a row, so many of so many bytes, become a row of their own, which is
 * returned. HEAP_NO_ROW: the row was discarded, and its parts with it.
 */
uint32_t profile_split_allocation(struct profile *profile, uint32_t index, uint32_t nr,
				  uint64_t size_bytes);
/* Of several blocks that were freed. */
void profile_set_mean_life(struct profile *profile, uint32_t index, uint64_t life_ns);
/* realloc() freed it, and moved its contents to a new block. The row must be freed already. */
void profile_move_allocation(struct profile *profile, uint32_t index);
/* The freeing stack, by a known thread. The row must be freed already. */
void profile_note_freeing(struct profile *profile, uint32_t index, struct stack_id stack,
			  enum stack_end end);
/* Returns the row's index. */
uint32_t profile_add_search(struct profile *profile, const struct profile_search *row);
/* For a search at a mark; the verdict is not ALLOCATION_NOT_SEARCHED. */
void profile_add_verdict(struct profile *profile, const struct profile_verdict *row);
/* For a block that was not searched yet; `search` is not ALLOCATION_NOT_SEARCHED. */
void profile_search_allocation(struct profile *profile, uint32_t index,
			       enum allocation_search search);
void profile_add_heap_moment(struct profile *profile, const struct profile_heap_moment *row);
/* Was memory recorded? */
bool profile_has_heap(const struct profile *profile);

#endif
