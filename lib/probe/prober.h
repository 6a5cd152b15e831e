/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROBE_PROBER_H
#define PROFC_PROBE_PROBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "heap/heap_exit.h"
#include "heap/heap_options.h"
#include "patch/span.h"
#include "probe/wanted.h"

struct err;
struct frame_links;
struct heap_ring;
struct launch;
struct profile;
struct reach;

/*
 * All that is counted in a recording: the prober knows which processes have probes, what they have
 * counted, and removes the probes in the end. Its own thread looks for executed programs and for
 * libraries that are loaded later.
 */
struct prober;

struct prober_options {
	/*
	 * Fill in `wanted`, the places of a file that are to be counted. Called once for each file,
	 * by any thread, one at a time.
	 */
	void (*find)(void *context, const struct probe_file *file, struct wanted *wanted);
	/*
	 * Write the names of functions of a file, which the caller frees, at these ascending
	 * addresses, where `find` has added places without a name. Quick until `forget` is called,
	 * and soon after `find`; any thread. NULL, as `forget`: all places have names.
	 */
	void (*name)(void *context, const struct probe_file *file, const uint64_t *addresses,
		     size_t nr, char **names);
	/* No names are needed for now: memory for `name` can be released. */
	void (*forget)(void *context);
	void *context;
	size_t max_places; /* a process with more is refused */
	bool has_gate;	   /* calls count only inside of the gate that `find` adds */
	bool has_span;	   /* or calls of the gates themselves are timed; never with has_gate */
	/* By number of the gate: its calls that take as long are slow; 0: the longest of them. */
	uint64_t slow_ns[PATCH_SPANS_MAX];
	uint64_t slow_most_ns[PATCH_SPANS_MAX]; /* as prober_await_slow() sets it */
	/* Likewise, of two functions: what users call the time between them; NULL: it is one.
	   Borrowed. */
	const char *pairs[PATCH_SPANS_MAX];
	struct heap_options heap; /* set if allocations are wanted */
};

struct prober *prober_new(const struct prober_options *options);
/* prober_remove() must have been called, unless nothing was installed. */
void prober_free(struct prober *prober);

/*
 * Calls of that gate that take as long are slow, whatever else are. Before any probes are put in.
 */
void prober_await_slow(struct prober *prober, unsigned int gate, uint64_t length_ns);

/*
 * Put probes into a running process, before it is sampled. Not a failure: the process has nothing
 * that is wanted, or nothing that can be counted. On failure, with a message, the process is
 * unchanged. ERR_INVALID: the gate is the reason, which the profile will also say.
 */
int prober_attach(struct prober *prober, pid_t pid, struct err *err);

/*
 * Run a command up to the first instruction of its program, with its libraries loaded, and put
 * probes in: so nothing is missed. Returns the result of launch_run(). If the probes fail, *err
 * says why, and the command goes on without them. It stays stopped there until the same thread
 * calls prober_let_go(); prober_remove() and prober_free() call that, too.
 */
int prober_launch(struct prober *prober, struct launch *launch, struct err *err);
void prober_let_go(struct prober *prober);

/* Processes as a recording knows them; any thread. `serial` is the row in the profile. */
enum prober_birth {
	PROBER_ROOT,   /* known from prober_attach() or prober_launch() */
	PROBER_FORKED, /* with its parent's memory */
	/* In another program, or found only now: the prober's thread will look at it soon. */
	PROBER_EXECED,
};

/* `program` is proc_program_id(), as it was read just now. */
void prober_born(struct prober *prober, uint32_t serial, pid_t pid, uint64_t program,
		 uint32_t parent, enum prober_birth birth);
/* It ended at this time (CLOCK_MONOTONIC), and all of its allocations were read. */
void prober_gone(struct prober *prober, uint32_t serial, uint64_t time_ns);

/* Calls and allocations are counted only while these are true; at first they are false. */
struct prober_counting {
	bool calls, memory;
};

/* Any thread. */
void prober_set_counting(struct prober *prober, struct prober_counting counting, uint64_t now_ns);

/* All calls that were counted so far, of all places and processes with probes. Any thread. */
uint64_t prober_nr_calls(struct prober *prober);

/*
 * Calls of two functions (naming_add_pair()). The second is read first, so that what has ended has
 * begun. Any thread.
 */
struct prober_pair {
	uint64_t calls[2];   /* since the probes were put in */
	size_t nr_places[2]; /* where the probes are */
	bool is_from_start;  /* of the program */
};

struct prober_pair prober_read_pair(struct prober *prober);

/* The place in the program of a sample's thread; as patched_original_pc(). Any thread. */
bool prober_original_pc(struct prober *prober, pid_t pid, uint64_t pc, uint64_t link,
			uint64_t *original, unsigned int *pushed_bytes);

/* Are allocations wanted? Constant. */
bool prober_has_heap(const struct prober *prober);
bool prober_has_all_blocks(const struct prober *prober); /* not a sample of them */
/*
 * The search for pointers to live blocks in the end; NULL: it is not wanted. Constant. The thread
 * that reads the rings feeds it, and searches.
 */
struct reach *prober_reach(struct prober *prober);

/*
 * The records of allocations of a process with such probes of its own, which may have several. Its
 * forked children write into the same ring.
 */
struct prober_ring {
	struct heap_ring *ring; /* borrowed until the next prober_publish() */
	uint32_t serial;	/* UINT32_MAX: the recording does not know the process yet */
	pid_t pid;
	bool is_over; /* the process has ended, and so have all that are known to write there */
};

/*
 * All of them, to be read by the thread that calls prober_publish(), or, unless `is_all`, those but
 * the ones of which `answers.are_over` is set: more comes there only from a child that nothing is
 * known of yet. Writes up to `cap`, and returns how many there are.
 */
size_t prober_rings(struct prober *prober, struct prober_ring *rings, size_t cap, bool is_all);
/* Answer the questions of the blob in those processes; by the same thread, as often. */
void prober_answer_heaps(struct prober *prober, uint64_t now_ns);
/*
 * May the process with this serial have written into the memory that was made for `owner`? Yes if
 * it is that process, or was forked from it, or if its parent is unknown and it has no such probes
 * of its own. Records name their writer, which need not be true.
 */
bool prober_is_writer(struct prober *prober, uint32_t owner, uint32_t serial);
/* A process that waits at its end to be searched. */
struct prober_exit {
	struct heap_shared *shared;
	uint32_t owner; /* serial of the process that the memory was made for */
	struct heap_exit waiting;
	pid_t pid; /* its id here; if unknown, in its own PID namespace */
};

/*
 * Find such a process; false: there is none. The process waits until it is let go, or until
 * prober_end_exits() lets all go; later ones do not wait.
 */
bool prober_next_exit(struct prober *prober, struct prober_exit *exit);
void prober_end_exits(struct prober *prober);
/*
 * Call this now and then. Has as much of stacks copied as walks need. Doubles the mean of sampling
 * if records were dropped for lack of room since the last call; else halves it, down to the
 * requested one.
 */
void prober_adapt_heap(struct prober *prober, uint32_t stack_bytes);
/* With --mem=all: how a process with this serial gets from a frame to its caller's. Any thread. */
void prober_add_heap_step(struct prober *prober, uint32_t serial, const struct heap_step *step);

/*
 * How an interpreter's frames are linked in the process with this serial, so that stacks of
 * allocations have them. False: the process is not known yet. Any thread.
 */
bool prober_set_frame_links(struct prober *prober, uint32_t serial,
			    const struct frame_links *links);

/*
 * Add the totals of allocations of each process up to now to the profile, which has all data up to
 * this time. With `discards`, views show nothing of the time before. By the thread of
 * prober_publish().
 */
void prober_add_moments(struct prober *prober, struct profile *profile, uint64_t now_ns,
			bool discards, uint64_t start_ns);

/*
 * Bring the rows of the profile up to date: counts, refusals and counters, of processes and modules
 * that it has. By the thread that owns the profile. `start_ns` is its time 0. `is_last`: the
 * recording is over, so that nothing can be added later.
 */
void prober_publish(struct prober *prober, struct profile *profile, uint64_t start_ns,
		    bool is_last);

/*
 * Remove all probes, also from processes that the recording does not know. The counts stay known.
 * *nr_left: the processes in which something had to be left; `err` says why in one of them.
 */
void prober_remove(struct prober *prober, size_t *nr_left, struct err *err);
/*
 * Add the cost of the removal, if anything was removed, and the results of a last look at the code.
 */
void prober_publish_removal(struct prober *prober, struct profile *profile);

#endif
