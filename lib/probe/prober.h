/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PROBE_PROBER_H
#define PROFC_PROBE_PROBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "heap/heap_exit.h"
#include "heap/heap_options.h"
#include "probe/wanted.h"

struct err;
struct heap_ring;
struct launch;
struct profile;
struct reach;

/*
 * All that is counted in a recording: which processes have probes, what they have counted, and that
 * it is taken away in the end. A thread of its own looks after processes that execute another
 * program, and for libraries that are loaded later.
 */
struct prober;

struct prober_options {
	/*
	 * What of a file is to be counted; called once for each file, by any thread, one at a time.
	 * `wanted` is to be filled in.
	 */
	void (*find)(void *context, const struct probe_file *file, struct wanted *wanted);
	void *context;
	size_t max_places; /* more in one process are refused */
	bool has_gate;	   /* what is counted counts only inside of what `find` adds as one */
	struct heap_options heap; /* if allocations are wanted */
};

struct prober *prober_new(const struct prober_options *options);
/* prober_remove() has been called, or nothing was installed. */
void prober_free(struct prober *prober);

/*
 * Put probes into a running process, before it is sampled. That nothing in it is wanted, or can
 * be counted, is no failure. Fails, with words, where the process does
 * not allow it, and then nothing is changed in it: ERR_INVALID where that is only so for the gate,
 * which is in the recording, too.
 */
int prober_attach(struct prober *prober, pid_t pid, struct err *err);

/*
 * Run a command, as launch_run(), up to the first instruction of its program, its libraries loaded,
 * and put probes in there: nothing is missed. Returns what launch_run() does. A failure of
 * the probes, in *err, leaves the command without them. It stands there, to be looked at, until
 * prober_let_go() is called by the same thread; prober_remove() and prober_free() do so, too.
 */
int prober_launch(struct prober *prober, struct launch *launch, struct err *err);
void prober_let_go(struct prober *prober);

/* Processes as a recording knows them; any thread. `serial` is the row in the profile. */
enum prober_birth {
	PROBER_ROOT,   /* prober_attach() or prober_launch() has seen to it */
	PROBER_FORKED, /* with its parent's memory */
	PROBER_EXECED, /* in another program: looked at soon, by the prober's thread */
};

void prober_born(struct prober *prober, uint32_t serial, pid_t pid, uint32_t parent,
		 enum prober_birth birth);
void prober_gone(struct prober *prober, uint32_t serial);

/* Only what is called, or allocated, while this is so is counted: at first it is not. */
struct prober_counting {
	bool calls, memory;
};

/* Any thread. */
void prober_set_counting(struct prober *prober, struct prober_counting counting, uint64_t now_ns);

/* Where a sample's thread stands in the program; as patched_original_pc(). Any thread. */
bool prober_original_pc(struct prober *prober, pid_t pid, uint64_t pc, uint64_t *original,
			unsigned int *pushed_bytes);

/* Are allocations wanted? Always the same. */
bool prober_has_heap(const struct prober *prober);
bool prober_has_all_blocks(const struct prober *prober); /* not a sample of them */
/*
 * Is what is alive in the end to be searched for? Else NULL; always the same. What it is told is
 * up to the thread of prober_for_each_heap(), and so is when it searches.
 */
struct reach *prober_reach(struct prober *prober);
/*
 * What is sampled of the allocations of each process that has such probes of its own (its forked
 * children write into the same): `serial` and `pid` are that process'. A process may have more
 * than one. For one thread; no other function of the prober may be called meanwhile by `each`,
 * but for the next one.
 */
void prober_for_each_heap(struct prober *prober,
			  void (*each)(void *context, uint32_t serial, pid_t pid,
				       struct heap_ring *heap),
			  void *context);
/* Answer what our code in those processes has asked; by the same thread, as often. */
void prober_answer_heaps(struct prober *prober, uint64_t now_ns);
/*
 * May a process have written into the memory that was made for `owner`? So if it is that one, or
 * was forked from it, or nothing is known of who forked it and it has no such probes of its own.
 * By `each`, for what is written there says so of itself.
 */
bool prober_is_writer(const struct prober *prober, uint32_t owner, uint32_t serial);
/* A process that waits, in its end, to be searched. */
struct prober_exit {
	struct heap_shared *shared;
	uint32_t owner; /* the serial of the process that this was made for */
	struct heap_exit waiting;
	pid_t pid; /* as we know it, or else as it knows itself */
};

/*
 * One of them; false: there is none. By the thread of prober_for_each_heap(). It waits until it is
 * let go, or prober_end_exits() lets go of all, and no more are to wait.
 */
bool prober_next_exit(struct prober *prober, struct prober_exit *exit);
/* As prober_is_writer(), of one that has that id. */
bool prober_is_exit_of(struct prober *prober, const struct prober_exit *exit, uint32_t serial);
void prober_end_exits(struct prober *prober);
/*
 * Now and then: have so much of stacks copied as walks need, and one block in twice as many bytes
 * sampled if records were dropped for want of room since the last time, else in half as many, down
 * to what was asked for.
 */
void prober_adapt_heap(struct prober *prober, uint32_t stack_bytes);
/*
 * Where all allocations are recorded: how a process, which a recording knows by its serial, gets
 * from a frame to its caller's. Any thread.
 */
void prober_add_heap_step(struct prober *prober, uint32_t serial, const struct heap_step *step);

/*
 * What each process has allocated up to now, for rows that are added to the profile once it has all
 * else of that time. If it `discards`, views then show nothing of that time. Any thread. One block
 * of memory, which the caller frees with free().
 */
struct prober_moments *prober_take_moments(struct prober *prober, uint64_t now_ns, bool discards);
/* As prober_publish(). */
void prober_add_moments(const struct prober_moments *moments, struct profile *profile,
			uint64_t start_ns);

/*
 * Bring the rows of the profile up to date: counts, refusals and counters, of processes and modules
 * that it has. By the thread that owns the profile. `start_ns` is its time 0.
 */
void prober_publish(struct prober *prober, struct profile *profile, uint64_t start_ns);

/*
 * Take all probes away, from processes that a recording does not know, too. What was
 * counted up to then stays known. *nr_left: processes in which something had to be left, of which
 * `err` says why in one.
 */
void prober_remove(struct prober *prober, size_t *nr_left, struct err *err);
/*
 * What that cost, if anything was taken away, and what a last look at the code has shown, into the
 * profile.
 */
void prober_publish_removal(struct prober *prober, struct profile *profile);

#endif
