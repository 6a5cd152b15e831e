/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The records of a process and its forked children, in the order of the events. They are read from
 * memory that these processes share with profc, without a system call, and also after their end.
 */
#ifndef PROFC_HEAP_HEAP_RING_H
#define PROFC_HEAP_HEAP_RING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "heap/heap_shared.h"
#include "snapshot/snapshot.h"

/* The processor's own clock and CLOCK_MONOTONIC at one moment. */
struct heap_moment {
	uint64_t cycles, ns;
};

/* The least disturbed of a few readings of both clocks. */
struct heap_moment heap_moment_now(void);

/* heap_answer(): which questions are answered, and when it will answer more. */
struct heap_answers {
	uint64_t stacks_asked, writable_missed, places_missed;
	uint64_t writable_again_ns, ended_again_ns;
	size_t next_stack;
	bool are_over; /* its known writers have ended, and what they wrote is read */
};

/* By heap_ring_count(). */
struct heap_counted {
	uint64_t bytes, blocks;
};

struct heap_ring {
	struct heap_shared *shared; /* borrowed; the target may write anything there */
	uint64_t private_address;   /* of struct heap_private, the same in all these processes */
	uint64_t mark;		    /* the same as in their struct heap_known */
	struct heap_all *all;	    /* borrowed, as `shared`; NULL: allocations are sampled */
	uint8_t *bytes;		    /* the ring, of */
	uint64_t nr_bytes;	    /* bytes, a power of two */
	uint64_t head;		    /* as it was last loaded */
	uint64_t tail, released;    /* position read up to; the last one stored for writers */
	uint64_t next;		    /* position after the record that was read last */
	uint32_t thread;	    /* of that record: its index in the `names` of `all` */
	uint64_t waiting_since_ns;  /* for the record at `tail`; 0: not waiting */
	uint64_t nr_visits;
	uint64_t nr_lost;    /* records that were begun, and never completed */
	uint64_t nr_refused; /* records that the blob cannot have made */
	struct heap_counted counted;
	struct heap_moment former, latter; /* two readings of both clocks */
	uint64_t time_ns;		   /* of the last record that has one */
	pid_t owner_pid;		   /* as in struct heap_rules */
	struct heap_answers answers;
	uint64_t begun_ns; /* no record is older */
	bool has_cycles;
	/* Children that are not recorded write there, too. A sample's exact totals include them. */
	bool has_strangers;
	uint32_t nr_children; /* that had ended when a record named them */
};

struct heap_record {
	enum heap_record_kind kind;
	enum heap_function function;
	pid_t pid, tid;	  /* in the PID namespace of the process */
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t pointer;
	uint64_t size;	    /* as requested */
	bool replaces;	    /* realloc() made the block of another one, */
	uint64_t old;	    /* whose free at this address was recorded before; 0: it was not */
	uint64_t signature; /* of its stack, with --mem=all; 0: none */
	/*
	 * One in `mean` bytes was sampled: the record represents size / (1 - exp(-size / mean))
	 * bytes. 0: all are recorded.
	 */
	uint64_t mean;
	/*
	 * The rest is set; without any bytes the stack was lost. Else the stack is that of an
	 * earlier record with this signature, or is not recorded.
	 */
	bool has_stack;
	struct regs regs; /* of the caller, as after the return */
	uint64_t stack_address;
	uint32_t nr_stack_bytes;
	const uint8_t *stack; /* in the ring, valid until the next record is read */
	/* Likewise: pieces of an interpreter's memory, struct heap_piece and bytes of each. */
	uint32_t nr_script_bytes;
	const uint8_t *script;
};

/* Does the processor's clock run evenly and never stop, so that times can be by it? */
bool heap_ring_has_cycles(void);
void heap_ring_init(struct heap_ring *ring, struct heap_shared *shared,
		    const struct heap_rules *rules);
/*
 * Read the next record. False: none is complete. Impossible records are counted and skipped, at
 * most a ring full at a time. If a thread is killed amid a record, those after it come a second
 * later.
 */
bool heap_ring_next(struct heap_ring *ring, uint64_t now_ns, struct heap_record *record);
/*
 * Most records of --mem=all: a block whose stack was copied before, or a free, with no more to it.
 * They have the time of the record before them.
 */
struct heap_short_record {
	uint64_t pointer;
	uint64_t size, signature; /* 0 of a free */
	uint8_t kind;		  /* HEAP_RECORD_ALLOCATION or HEAP_RECORD_FREE */
	uint8_t function;	  /* enum heap_function; no mapping */
};

/*
 * Read the next records up to the position `until` as long as they are short and of the same thread
 * as the record that heap_ring_next() has read last. Returns how many: at most `nr`, often none.
 */
size_t heap_ring_next_short(struct heap_ring *ring, uint64_t until,
			    struct heap_short_record *records, size_t nr);
/* The next call of heap_ring_next() reads the last record again. */
void heap_ring_put_back(struct heap_ring *ring);
/*
 * Count a record into the totals of --mem=all; those of processes that are not recorded are left
 * out. Mappings do not count, as they are recorded one by one in any case.
 */
void heap_ring_count(struct heap_ring *ring, const struct heap_record *record);
/* The same for a block of a short record. */
void heap_ring_count_block(struct heap_ring *ring, uint64_t size);
/*
 * Call this at each poll, even if there is nothing to read. Returns the position up to which
 * records are reserved. Reading right behind the writer makes both stall on the cache line: read up
 * to there, and poll again later.
 */
uint64_t heap_ring_visit(struct heap_ring *ring);

/*
 * Let the process walk stacks by this step. Dropped if there is no room, or if allocations are
 * sampled.
 */
void heap_ring_add_step(struct heap_ring *ring, const struct heap_step *step);
/*
 * Set where code is in the process; nr 0: not known. Sorts `code`. If there are too many ranges,
 * those closest to each other are joined.
 */
void heap_ring_set_code(struct heap_ring *ring, struct heap_stack *code, size_t nr);
/* The reader ends: later records are dropped, and no thread waits for room. */
void heap_ring_end(struct heap_ring *ring);

/*
 * Sampled totals are exact, but include allocations that failed on the short way. Those of
 * --mem=all are of the counted and the dropped.
 */
struct heap_totals {
	uint64_t allocated_bytes, nr_allocations;
	uint64_t nr_dropped; /* allocations that found no room for their record */
	uint64_t nr_frees;   /* frees, likewise */
	uint64_t nr_lost;    /* records that were never completed, or are impossible */
};

void heap_ring_totals(const struct heap_ring *ring, struct heap_totals *totals);
/* Their nr_dropped and nr_frees together, without a look at the slots of threads. */
uint64_t heap_ring_nr_dropped(const struct heap_ring *ring);

#endif
