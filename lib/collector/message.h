/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_COLLECTOR_MESSAGE_H
#define PROFC_COLLECTOR_MESSAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/account.h"
#include "proc/cpu_split.h"
#include "proc/kernel_counters.h"
#include "profile/block_search.h"
#include "wait/wait.h"

struct proc_range;
struct snapshot;

/*
 * What a sampler publishes to the collector, in the order in which it happened. Processes and
 * threads go by serial numbers, which are never used again, unlike their ids: 0, 1, 2, ... in the
 * order of their MESSAGE_PROCESS, and likewise of their MESSAGE_THREAD.
 *
 * PROCESS  (MAPS | PROCESS_REST | ADVANCE | BLOCK | BLOCK_FREED | BLOCKS | SEARCHED | threads of
 *it)* PROCESS_END THREAD   (SAMPLE | ADVANCE | THREAD_REST | THREAD_BASE)*   THREAD_END
 *
 * A process ends after all of its threads; nothing about either follows its end, except that an
 * ended process may still be named as a parent.
 */
enum message_kind {
	MESSAGE_PROCESS,      /* a process, or its new life after exec, begins */
	MESSAGE_MAPS,	      /* its memory map, its name, or both, as of now */
	MESSAGE_PROCESS_REST, /* it has used CPU time that the clocks of no thread have covered */
	MESSAGE_PROCESS_END,
	MESSAGE_THREAD,	     /* a thread begins to be counted, at `clocks` */
	MESSAGE_THREAD_BASE, /* counting begins anew at `clocks`: what lies before is left out */
	MESSAGE_THREAD_REST, /* counting ends for now, at `clocks` */
	MESSAGE_SAMPLE,	     /* a thread was sampled */
	MESSAGE_ADVANCE,     /* the kernel's counters of a thread have advanced */
	MESSAGE_THREAD_END,
	MESSAGE_COUNTERS,    /* counters of the profile, as of now */
	MESSAGE_BLOCK,	     /* memory was allocated, */
	MESSAGE_BLOCK_FREED, /* and freed */
	MESSAGE_BLOCKS,	     /* the same of many, where all are recorded */
	MESSAGE_SEARCHED,    /* what points to blocks was looked for: in the end, or at a mark */
	MESSAGE_ROWS,	     /* for collector_options.add_rows */
};

#define SERIAL_NONE UINT32_MAX

/*
 * What the walks of a thread's stacks have shown, for the next capture to go by. Made by the
 * sampler, which sets max_stack_bytes; given away with MESSAGE_THREAD and freed once its
 * MESSAGE_THREAD_END is handled: not to be read after that has been published.
 */
struct thread_hints {
	_Atomic uint32_t max_stack_bytes;   /* how much of the stack its walks may need */
	_Atomic uint32_t block_stack_bytes; /* the same of its allocations; 0: not known */
	_Atomic bool needs_registers;	    /* peeked at, its stacks end at a register not known */
	_Atomic uint64_t root_sp;	    /* where its walks end, whole; 0: not known */
	_Atomic uint64_t behind_sp; /* where they would go on, on another stack; 0: nowhere */
};

struct message_process {
	uint32_t serial;
	uint32_t parent; /* serial of the forking process, or of its own life before exec */
	bool forked;	 /* PROCESS: begins with its parent's memory map, */
	bool is_gone;	 /* and has ended: the parent's is all that there is to read */
	pid_t pid;
	uint64_t program; /* PROCESS: proc_program_id(); 0: not known */
	char *maps;	  /* PROCESS, MAPS: owned text; NULL: the collector reads it when needed */
	size_t nr_maps_bytes;
	char *comm, *exe, *command;  /* owned; NULL: as its parent's; MAPS: NULL: unchanged */
	uint64_t cpu_ns;	     /* PROCESS_REST */
	struct proc_cpu_split split; /* PROCESS_END: where its CPU time went */
	bool has_split;
};

struct message_thread {
	uint32_t serial;
	uint32_t process; /* serial */
	pid_t tid;
	struct thread_hints *hints; /* THREAD */
	char *name;		    /* THREAD: owned; NULL: the collector reads it */
	struct account_clocks clocks;
	/* THREAD_END: false where it vanished between two samples. Its time after the last is then
	 * part of a MESSAGE_PROCESS_REST. */
	bool has_clocks;
	struct proc_cpu_split split; /* THREAD_END: where its CPU time went */
	bool has_split;
};

/* By how much counters have advanced since the thread's last ADVANCE. */
struct message_advance {
	uint32_t process, thread; /* serials; thread SERIAL_NONE: in none that was read */
	bool is_sampled;	  /* up to the SAMPLE before this; else where is not known */
	unsigned int seen;	  /* the set of those that advanced while it was visited */
	struct kernel_counters amounts;
};

struct message_sample {
	uint32_t thread; /* serial */
	/*
	 * It stayed in its last blocked stack until slept_sure_ns, and from there on, in the mean,
	 * until slept_until_ns; 0: nothing is known of that.
	 */
	uint64_t slept_sure_ns, slept_until_ns;
	bool is_new; /* the fields below are of a new sample */
	enum seen_state state;
	char *name; /* that it has now; owned; NULL: not read */
	struct account_clocks clocks;
	uint64_t pcount; /* times scheduled in */
	struct account_losses losses;
	struct snapshot *snapshot; /* owned, of collector_take_snapshot(); NULL when dropped */
	/* What some code was part of at that moment, where it changes; owned. */
	struct proc_range *places;
	size_t nr_places;
	/* Of a new one that is BLOCKED; else of its last blocked stack from now on, if known;
	 * owned. */
	struct seen_wait wait;
};

struct message_counter {
	const char *name; /* static */
	uint64_t value;
};

struct message_counters {
	struct message_counter *rows; /* owned */
	size_t nr;
};

/* A block of memory, and who allocated or freed it. */
struct message_block {
	uint32_t process; /* serial */
	pid_t tid;	  /* of a thread that may have ended, or not been met */
	uint64_t address;
	uint64_t size_bytes; /* BLOCK; BLOCK_FREED: of ALLOCATION_MAP, how much is unmapped */
	uint64_t mean_bytes; /* BLOCK: as the profile has it */
	uint64_t former;     /* BLOCK: the address of what realloc() made it of, or 0 */
	/* BLOCK_FREED: a realloc() makes another of it; BLOCK: that thread told so of the former */
	bool is_move;
	bool is_kept;	  /* BLOCK_FREED: it is not, as that has failed */
	uint8_t kind;	  /* enum allocation_kind; BLOCK_FREED: ALLOCATION_MAP, or another */
	bool wants_stack; /* the caller of the allocator is to be recorded */
	/*
	 * BLOCK, where all are recorded, that is of a mean of 0: as in struct message_blocks. It
	 * may be without an address: only its stack is told.
	 */
	uint32_t signer;
	uint64_t signature; /* 0: not known */
	/* Owned, of collector_take_snapshot(): that caller; NULL: there is none, or it was lost. */
	struct snapshot *snapshot;
};

enum message_block_event {
	BLOCK_ALLOCATED, /* with a stack that has been in a BLOCK, by its signature */
	BLOCK_FREED,
	BLOCK_MOVED, /* freed by realloc(), */
	BLOCK_KEPT,  /* which has failed */
};

struct message_block_row {
	uint64_t time_ns, address, size_bytes, signature;
	uint64_t former; /* ALLOCATED: the address of what realloc() made it of, or 0 */
	pid_t tid;
	uint8_t event; /* enum message_block_event */
	uint8_t kind;  /* ALLOCATED: enum allocation_kind */
};

#define MESSAGE_BLOCKS_MAX 1024

struct message_blocks {
	uint32_t process;
	uint32_t signer; /* serial of the process among whose signatures these are */
	uint32_t nr;
	struct message_block_row *rows; /* owned; of MESSAGE_BLOCKS_MAX */
};

struct message_search {
	uint32_t process; /* serial */
	char *mark;	  /* owned: the text of the mark at which that was; NULL: the end */
	struct block_search found; /* owned */
};

union message_body {
	struct message_process process;	  /* PROCESS, MAPS, PROCESS_REST, PROCESS_END */
	struct message_thread thread;	  /* THREAD, THREAD_BASE, THREAD_REST, THREAD_END */
	struct message_sample sample;	  /* SAMPLE */
	struct message_advance advance;	  /* ADVANCE */
	struct message_counters counters; /* COUNTERS */
	struct message_block block;	  /* BLOCK, BLOCK_FREED */
	struct message_blocks blocks;	  /* BLOCKS */
	struct message_search search;	  /* SEARCHED */
	void *rows;			  /* ROWS: owned, to be freed with free() */
};

struct message {
	_Atomic(struct message *) next; /* the queue's, as is nr_bytes */
	size_t nr_bytes;
	enum message_kind kind;
	uint64_t time_ns; /* CLOCK_MONOTONIC: when it happened */
	union message_body body;
};

/* All 0 but for these. Given away with collector_publish(), or freed. */
struct message *message_new(enum message_kind kind, uint64_t time_ns);
/* With everything it owns; but not hints, which are the collector's once published. */
void message_free(struct message *message);

#endif
