/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_COLLECTOR_MESSAGE_H
#define PROFC_COLLECTOR_MESSAGE_H

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collector/account.h"
#include "proc/cpu_split.h"
#include "proc/kernel_counters.h"
#include "wait/wait.h"

struct consumer;
struct proc_range;
struct snapshot;
struct wanted_hints;

/*
 * Messages from a sampler to the collector, in the order of the events. Processes and threads go by
 * serial numbers, which are never used again, unlike their ids: 0, 1, 2, ... in the order of their
 * MESSAGE_PROCESS, and likewise of their MESSAGE_THREAD.
 *
 *	PROCESS (MAPS | PROCESS_REST | ADVANCE | threads of it)* PROCESS_END
 *	THREAD (SAMPLE | ADVANCE | THREAD_REST | THREAD_BASE)* THREAD_END
 *
 * A process ends after all of its threads; nothing about either follows its end, except that an
 * ended process may still be named as a parent. Ends and calls are handled once the allocations up
 * to then were read: see block_source.h.
 */
enum message_kind {
	MESSAGE_PROCESS,      /* a process, or its new life after exec, begins */
	MESSAGE_MAPS,	      /* its memory map, its name, or both, as of now */
	MESSAGE_PROCESS_REST, /* it has used CPU time that no thread's clocks cover */
	MESSAGE_PROCESS_END,
	MESSAGE_THREAD,	     /* a thread begins to be counted, at `clocks` */
	MESSAGE_THREAD_BASE, /* counting restarts at `clocks`: the time before is left out */
	MESSAGE_THREAD_REST, /* counting ends for now, at `clocks` */
	MESSAGE_SAMPLE,	     /* a thread was sampled */
	MESSAGE_ADVANCE,     /* the kernel's counters of a thread have advanced */
	MESSAGE_THREAD_END,
	MESSAGE_COUNTERS, /* counters of the profile, as of now */
	MESSAGE_CALL,	  /* collector_run() */
};

#define SERIAL_NONE UINT32_MAX

/*
 * Results of the walks of a thread's stacks, for its next capture. The sampler makes this
 * (thread_hints_new()), and sets max_stack_bytes. It is handed over with MESSAGE_THREAD, and freed
 * once MESSAGE_THREAD_END is handled: do not read it after that was published.
 */
struct thread_hints {
	_Atomic uint32_t max_stack_bytes; /* as much of the stack as its walks may need */
	_Atomic bool needs_registers;	  /* its peeked stacks end at an unknown register */
	_Atomic uint64_t root_sp;	  /* where its complete walks end; 0: not known */
	_Atomic uint64_t behind_sp;	  /* where they continue, on another stack; 0: nowhere */
	/* Owned: memory beside the stacks (wanted_hints.h); NULL: none was wanted so far. */
	struct wanted_hints *_Atomic wanted;
	struct process_hints *of_process; /* shared with its other threads; or NULL */
	_Atomic bool lacks_wanted; /* the last walk missed some of that; the sampler clears it */
};

struct message_process {
	uint32_t serial;
	uint32_t parent; /* serial of the forking process, or of its own life before exec */
	bool forked;	 /* PROCESS: begins with its parent's memory map, */
	/*
	 * It has ended: only the parent's can still be read. No PROCESS_END follows: it ends with
	 * its last allocation.
	 */
	bool is_gone;
	bool is_continued; /* PROCESS_END: it executes another program */
	pid_t pid;
	uint64_t program; /* PROCESS: proc_program_id(); 0: not known */
	char *maps;	  /* PROCESS, MAPS: owned text; NULL: the collector reads it when needed */
	size_t nr_maps_bytes;
	char *comm, *exe, *command;  /* owned; NULL: as its parent's; MAPS: NULL: unchanged */
	uint64_t cpu_ns;	     /* PROCESS_REST, */
	bool had_short_threads;	     /* of which threads have it that few ticks have met */
	struct proc_cpu_split split; /* PROCESS_END: where its CPU time went */
	bool has_split;
	uint64_t nr_unseen;	/* PROCESS: profile_process.nr_unseen */
	bool stands_for_unseen; /* PROCESS_END: likewise */
	uint64_t children_ns;	/* PROCESS_END: likewise */
};

struct message_thread {
	uint32_t serial;
	uint32_t process; /* serial */
	pid_t tid;
	struct thread_hints *hints; /* THREAD */
	char *name;		    /* THREAD: owned; NULL: the collector reads it */
	struct account_clocks clocks;
	/*
	 * THREAD_END: false if it vanished between two samples. Its time after the last sample is
	 * then part of a MESSAGE_PROCESS_REST.
	 */
	bool has_clocks;
	struct proc_cpu_split split; /* THREAD_END: where its CPU time went */
	bool has_split;
	uint64_t nr_switches;	/* THREAD_END: times scheduled in */
	bool stands_for_unseen; /* THREAD_END: profile_thread.stands_for_unseen */
	bool was_missed;	/* THREAD_END: likewise */
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
	 * The thread stayed in its last blocked stack until slept_sure_ns, and from there, on
	 * average, until slept_until_ns; 0: not known.
	 */
	uint64_t slept_sure_ns, slept_until_ns;
	bool is_new; /* the fields below are of a new sample */
	enum seen_state state;
	char *name; /* its present name; owned; NULL: not read */
	struct account_clocks clocks;
	uint64_t pcount; /* times scheduled in */
	struct account_losses losses;
	struct snapshot *snapshot; /* owned, from collector_take_snapshot(); NULL: dropped */
	/* Mappings of code that changes, as they were at that moment; owned. */
	struct proc_range *places;
	size_t nr_places;
	/*
	 * For a new BLOCKED sample; else for its last blocked stack from now on, if known. Owned.
	 */
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

struct message_call {
	void (*run)(void *context, struct consumer *consumer);
	void *context;
	/* Borrowed; NULL: no thread waits for it. See collector_run(). */
	sem_t *done;
	_Atomic bool *is_waiting;
};

union message_body {
	struct message_process process;	  /* PROCESS, MAPS, PROCESS_REST, PROCESS_END */
	struct message_thread thread;	  /* THREAD, THREAD_BASE, THREAD_REST, THREAD_END */
	struct message_sample sample;	  /* SAMPLE */
	struct message_advance advance;	  /* ADVANCE */
	struct message_counters counters; /* COUNTERS */
	struct message_call call;	  /* CALL */
};

struct message {
	_Atomic(struct message *) next; /* for the queue, as is nr_bytes */
	size_t nr_bytes;
	enum message_kind kind;
	uint64_t time_ns; /* CLOCK_MONOTONIC: when it happened */
	union message_body body;
};

/* All other members are 0. Hand it over with collector_publish(), or free it. */
struct message *message_new(enum message_kind kind, uint64_t time_ns);
/* With everything it owns, except hints, which are the collector's once published. */
void message_free(struct message *message);

#endif
