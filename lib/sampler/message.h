/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SAMPLER_MESSAGE_H
#define PROFC_SAMPLER_MESSAGE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "proc/cpu_split.h"
#include "sampler/account.h"

struct proc_range;
struct snapshot;

/*
 * What the sampling thread tells the worker, in the order it happened. Processes and
 * threads go by serial numbers, which are never used again, unlike their ids.
 */
enum message_kind {
	MESSAGE_PROCESS,     /* a process, or its new life after exec, begins */
	MESSAGE_MAPS,	     /* its memory map and name by now */
	MESSAGE_PROCESS_END, /* its last thread is gone */
	MESSAGE_THREAD,	     /* a thread begins to be counted, at `clocks` */
	MESSAGE_THREAD_BASE, /* counting begins anew at `clocks`: what lies before is nobody's */
	MESSAGE_THREAD_REST, /* counting ends for now, at `clocks` */
	MESSAGE_SIGHTING,    /* a thread was looked at */
	MESSAGE_THREAD_END,  /* no more will be said about it */
	MESSAGE_COUNTERS,    /* what has been counted so far */
};

#define SERIAL_NONE UINT32_MAX

/* What the worker has learned and the sampling thread goes by. Freed by the worker at the end. */
struct thread_hints {
	_Atomic uint32_t max_stack_bytes; /* how much of the stack its walks may need */
	_Atomic bool needs_registers;	  /* without a stop, its sleeping stacks come out cut */
	_Atomic uint64_t root_sp;	  /* where its walks end, whole; 0: not known */
	_Atomic uint64_t behind_sp;	  /* where they would go on, on another stack; 0: nowhere */
};

struct message_process {
	uint32_t serial;
	uint32_t parent; /* serial of the forking process, or of its own life before exec */
	bool forked;	 /* begins with its parent's memory */
	bool is_last;	 /* MAPS: read while it was held at its exit */
	pid_t pid;
	uint64_t program; /* PROCESS: proc_program_id() */
	char *maps;	  /* owned text, or NULL: to be read by the worker */
	size_t nr_maps_bytes;
	char *comm, *exe, *command;  /* owned; NULL: as its parent's */
	struct proc_cpu_split split; /* END: where its CPU time went */
	bool has_split;
};

struct message_thread {
	uint32_t serial;
	uint32_t process;
	pid_t tid;
	struct thread_hints *hints;
	char *name; /* THREAD: owned; NULL: to be read by the worker */
	struct account_clocks clocks;
	bool has_clocks;	     /* THREAD_END: false when not counted to the last */
	struct proc_cpu_split split; /* THREAD_END: where its CPU time went */
	bool has_split;
};

/* In what a thread was seen. */
enum sighting_kind {
	SIGHTING_RUNNING, /* on a CPU */
	SIGHTING_WAITING, /* runnable, waiting for a CPU: what it ran before was elsewhere */
	SIGHTING_ASLEEP,
};

struct message_sighting {
	uint32_t thread;
	/* Its last sleeping stack was seen to hold until then, nr_slept more times; 0: not so. */
	uint64_t slept_until_ns;
	uint32_t nr_slept;
	bool is_new; /* the fields below are of a new look */
	enum sighting_kind kind;
	char *name; /* that it has now; owned; NULL: not asked */
	struct account_clocks clocks;
	struct account_losses losses;
	struct snapshot *snapshot; /* owned; NULL when dropped */
	/* What some code was part of at that moment, where it changes; owned. */
	struct proc_range *places;
	size_t nr_places;
};

struct message_counter {
	const char *name; /* static */
	uint64_t value;
};

struct message_counters {
	struct message_counter *rows; /* owned */
	size_t nr;
};

union message_body {
	struct message_process process;	  /* PROCESS, MAPS, PROCESS_END */
	struct message_thread thread;	  /* THREAD… */
	struct message_sighting sighting; /* SIGHTING */
	struct message_counters counters; /* COUNTERS */
};

struct message {
	_Atomic(struct message *) next;
	size_t nr_bytes; /* what it counts for in the queue */
	enum message_kind kind;
	uint64_t time_ns;
	union message_body body;
};

struct message *message_new(enum message_kind kind, uint64_t time_ns);
/* With everything it owns. */
void message_free(struct message *message);

/*
 * Snapshots on their way back from the one who is done with them to the one who fills the next:
 * what is freed in one thread and allocated in another grows and shrinks the heap, and each page
 * of it anew takes longer than copying a stack into it.
 */
#define SNAPSHOT_RING_SLOTS 128
/* One with more room than that is not kept: 8 MiB in all, with those that wait to be used. */
#define SNAPSHOT_KEPT_BYTES ((size_t)32 * 1024)

struct snapshot_ring {
	struct snapshot *slots[SNAPSHOT_RING_SLOTS]; /* owned */
	_Atomic size_t nr_given, nr_taken;
	struct snapshot *waiting[SNAPSHOT_RING_SLOTS]; /* owned; the taker's */
	size_t nr_waiting;
};

/* Takes it over; frees it if there is no place or its room is too large. */
void snapshot_ring_give(struct snapshot_ring *ring, struct snapshot *snapshot);
/*
 * The one that was given last, as its room is in the caches and large enough for what is copied
 * now; in turn, all those that the first looks at a crowd have left would be gone through. Now the
 * caller's, its content undefined; NULL if there is none.
 */
struct snapshot *snapshot_ring_take(struct snapshot_ring *ring);
void snapshot_ring_release(struct snapshot_ring *ring);

/* A queue between one thread that puts and one that takes; neither ever waits. */
struct message_queue {
	struct message *head; /* the taker's: the last message taken, kept as a stub */
	struct message *tail; /* the putter's */
	_Atomic size_t nr_bytes;
	size_t max_bytes_seen; /* the putter's */
};

void message_queue_init(struct message_queue *queue);
void message_queue_release(struct message_queue *queue);
void message_queue_put(struct message_queue *queue, struct message *message);
/* The oldest message, now the caller's, or NULL. */
struct message *message_queue_take(struct message_queue *queue);

#endif
