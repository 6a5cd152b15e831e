/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was sampled of the allocations of a process and its forked children, in the order in which
 * it happened: read from memory that they share with us, without a system call, and
 * after their end, too.
 */
#ifndef PROFC_HEAP_HEAP_RING_H
#define PROFC_HEAP_HEAP_RING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "heap/heap_shared.h"
#include "snapshot/snapshot.h"

/* The processor's own clock beside CLOCK_MONOTONIC. */
struct heap_moment {
	uint64_t cycles, ns;
};

/* heap_answer(): which questions were answered, and when the next will be. */
struct heap_answers {
	uint64_t stacks_asked, writable_missed, places_missed;
	uint64_t writable_again_ns, ended_again_ns;
	size_t next_stack;
};

struct heap_ring {
	struct heap_shared *shared; /* borrowed; the target may write anything there */
	uint64_t private_address;   /* of struct heap_private, in all processes that write here */
	uint64_t mark;		    /* in their struct heap_known */
	struct heap_all *all;	    /* likewise; NULL: a sample is taken */
	uint8_t *bytes;		    /* of the ring, */
	uint64_t nr_bytes;	    /* a power of two */
	uint64_t head;		    /* as it was when it was last looked at */
	uint64_t tail, released;    /* what was read, and what was told of that */
	uint64_t next;		    /* behind the record that was given out last */
	uint64_t waiting_since_ns;  /* for the record at `tail`; 0: not so */
	uint64_t nr_visits;
	uint64_t nr_lost;			/* records that were begun, and never ended */
	uint64_t nr_refused;			/* those that our code cannot have made */
	uint64_t counted_bytes, counted_blocks; /* heap_ring_count() */
	struct heap_moment former, latter;	/* what both clocks have shown */
	uint64_t time_ns;			/* of the last record that has one */
	pid_t owner_pid;			/* as heap_rules has it */
	struct heap_answers answers;
	uint64_t begun_ns; /* before that there was none */
	bool has_cycles, frees_have_stacks;
	/* Children write there, too, that are not recorded: a sample's exact totals are of all. */
	bool has_strangers;
};

struct heap_record {
	enum heap_record_kind kind;
	enum heap_function function;
	bool wants_stack; /* without one it was lost */
	pid_t pid, tid;	  /* as the process sees itself */
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t pointer;
	uint64_t size, old; /* as asked for; old: what realloc() was given */
	bool was_sampled;   /* `old` of an allocation: so that its freeing was recorded before */
	uint64_t signature; /* of its stack, where all are recorded; 0: none */
	/*
	 * One in `mean` bytes was sampled: it stands for size / (1 - exp(-size / mean)) bytes.
	 * 0: all are recorded.
	 */
	uint64_t mean;
	bool has_stack;	  /* the rest is known; else an earlier one with that signature has it */
	struct regs regs; /* of the caller, as when the function returns to it */
	uint64_t stack_address;
	uint32_t nr_stack_bytes;
	const uint8_t *stack; /* in the ring, until the next is asked for */
};

/* Can the time be taken from the processor, as it runs evenly and never stops? */
bool heap_ring_has_cycles(void);
void heap_ring_init(struct heap_ring *ring, struct heap_shared *shared,
		    const struct heap_rules *rules);
/*
 * The next one; false: there is none yet, or what there is cannot be: it is passed over, and
 * counted, at most as much at a time as the ring has room for. A thread that has begun one and does
 * not end it, as it was killed meanwhile, holds up what follows for a second.
 */
bool heap_ring_next(struct heap_ring *ring, uint64_t now_ns, struct heap_record *record);
/* The one that was taken last is to come again. */
void heap_ring_put_back(struct heap_ring *ring);
/*
 * It is in the totals, where all are recorded: of what is not wanted nothing is. Mappings are not,
 * as they are recorded one by one in any case.
 */
void heap_ring_count(struct heap_ring *ring, const struct heap_record *record);
/*
 * To be called now and then, whatever there is: returns up to where records are reserved by now. To
 * read on at the heels of who writes makes both wait for each other: it is enough to come again.
 */
uint64_t heap_ring_visit(struct heap_ring *ring);

/*
 * Have the process sign stacks that lead through there. Dropped where there is no room for it, or a
 * sample is taken.
 */
void heap_ring_add_step(struct heap_ring *ring, const struct heap_step *step);
/*
 * All memory of the process that code is in; none: not known. Sorted here. More ranges than there
 * is room for become fewer, with what lies between them.
 */
void heap_ring_set_code(struct heap_ring *ring, struct heap_stack *code, size_t nr);
/* Nobody reads any more: what comes is dropped, and no thread waits for room. */
void heap_ring_end(struct heap_ring *ring);

/*
 * Exact, but for allocations that failed in the short way, where a sample is taken. Where all are
 * recorded, of what was counted, and what was dropped.
 */
struct heap_totals {
	uint64_t allocated_bytes, nr_allocations;
	uint64_t nr_dropped; /* allocations that were to be recorded: there was no room */
	uint64_t nr_frees;   /* blocks that were freed, likewise */
	uint64_t nr_lost;    /* records that were never ended, or cannot be */
};

void heap_ring_totals(const struct heap_ring *ring, struct heap_totals *totals);

#endif
