/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_COLLECTOR_BLOCK_SOURCE_H
#define PROFC_COLLECTOR_BLOCK_SOURCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct consumer;
struct frame_links;
struct snapshot;

/*
 * Allocations do not come through the queue. Recorded processes write them into memory that they
 * share with us, and the collector's thread reads them there: so no lock of a producer is held
 * meanwhile, and records wait in that memory until the collector has time for them.
 *
 * It reads in rounds. A round reads all that was written before it began. Messages that were
 * published before a round are handled like this:
 *	births			before the round: its records belong to processes and threads
 *				that are known. The source may ask the producer for others, and
 *				stops until that message is handled;
 *	ends, and calls		after the round: an ended process writes no more, so all that it
 *				wrote was read.
 */
enum blocks_read {
	BLOCKS_NONE, /* the round is complete */
	BLOCKS_SOME, /* the round is complete, and there will soon be more to read */
	BLOCKS_WAIT, /* the next record is not complete yet: try again soon */
	BLOCKS_MORE, /* handle the waiting messages, and try again at once */
};

enum process_end {
	PROCESS_ENDED,
	PROCESS_EXECUTED,   /* it goes on in another program */
	PROCESS_FOUND_LATE, /* it had ended when its records were read */
};

struct block_source {
	/*
	 * Continue to read, for some milliseconds at most, and call consumer_add_blocks();
	 * `begins`: begin a round. Called by the collector's thread. NULL: no allocations are
	 * recorded.
	 */
	enum blocks_read (*read)(void *context, struct consumer *consumer, bool begins);
	/* A process ends. Called by the same thread, before any later round. NULL: not called. */
	void (*end)(void *context, struct consumer *consumer, uint32_t process, uint64_t time_ns,
		    enum process_end how);
	void *context;
};

enum block_event {
	BLOCK_ALLOCATED,
	BLOCK_FREED,
	BLOCK_MOVED, /* freed by realloc(), */
	BLOCK_KEPT,  /* which has failed */
};

/*
 * Receives how an interpreter's frames are linked in a process, by its serial, for the copies of
 * its stacks. NULL: no allocations are recorded.
 */
struct interpreter_sink {
	bool (*set_links)(void *context, uint32_t process,
			  const struct frame_links *links); /* false: not yet */
	void *context;
};

/* An allocation or a free of a block of memory, and its thread. */
struct block_record {
	uint64_t time_ns;    /* CLOCK_MONOTONIC */
	uint64_t address;    /* 0: an ALLOCATED that only brings a stack */
	uint64_t size_bytes; /* ALLOCATED; FREED of ALLOCATION_MAP: the unmapped bytes */
	uint64_t mean_bytes; /* ALLOCATED: as in the profile; 0: all blocks are recorded */
	uint64_t former;     /* ALLOCATED: where the replaced block was; 0: not known */
	/*
	 * ALLOCATED, where all blocks are recorded: the signature of the stack, which itself comes
	 * only once. 0: not known.
	 */
	uint64_t signature;
	uint32_t process, signer; /* serials; signer: the process that made the signature */
	/* The thread may have ended, or was never sampled. Negative: of another PID namespace; 0:
	 * not known. */
	pid_t tid;
	uint8_t event;		   /* enum block_event */
	uint8_t kind;		   /* enum allocation_kind */
	bool replaces;		   /* ALLOCATED: realloc() made it of another block */
	bool has_stack;		   /* the caller of the allocator is to be recorded */
	struct snapshot *snapshot; /* borrowed; NULL with has_stack: the stack was lost */
	uint64_t script_state;	   /* in that: of the thread, an interpreter's; 0: none */
};

#endif
