/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_COLLECTOR_COLLECTOR_H
#define PROFC_COLLECTOR_COLLECTOR_H

#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/consumer.h"

struct snapshot;

/*
 * The consuming half of a recording: a thread that takes messages from a bounded queue, walks the
 * stacks in them, interns them in the profile, attributes the time of each thread to its samples,
 * and has the file written, which is at most a second behind. The producing half, a sampler,
 * publishes what it finds and never waits for it: when the queue is full, it drops stacks, and
 * counts them; their time goes to other samples of the thread.
 *
 *   publish -> queue -> handle (maps, walk, account) -> samples -> flush
 *
 * Functions marked "producer" are called by one thread at a time, which may change under a lock of
 * the caller's; the others by any thread.
 */
struct collector;

/* NULL with the reason where there is no thread to be had. */
struct collector *collector_start(const struct collector_options *options, struct err *err);
enum collector_state collector_state(const struct collector *collector);

/* What is in the queue never takes more than this, but for the small parts of messages. */
#define COLLECTOR_QUEUE_MAX_BYTES ((size_t)32 * 1024 * 1024)

/*
 * Producer: the message is the collector's from now on. Never waits. Wakes the collector, which
 * else looks after the queue by itself, only for a burst, or where collector_call_for_code() wants
 * it to come after a sample.
 */
void collector_publish(struct collector *collector, struct message *message);
/* Producer: a snapshot to fill for a MESSAGE_SAMPLE, its content undefined: a used one, or new. */
struct snapshot *collector_take_snapshot(struct collector *collector);

enum collector_call {
	COLLECTOR_COMES_SOON, /* by itself */
	COLLECTOR_CALLED,     /* it will be woken by the next MESSAGE_SAMPLE */
	COLLECTOR_LEFT_ALONE, /* it was woken for other code just now: ask again */
};

/*
 * Producer: a sample is about to be published that found code as none has before. By the end of a
 * rest of the collector the code may be gone.
 */
enum collector_call collector_call_for_code(struct collector *collector, uint64_t now_ns);

/* Does it take so many bytes more? Where not, drop what is large in a message. */
bool collector_has_room(const struct collector *collector, size_t nr_bytes);
/* Is it more than half full: does the collector not keep up? */
bool collector_is_behind(const struct collector *collector);
/* When it takes, or should have taken, from the queue again: late where that is long ago. */
uint64_t collector_due_ns(const struct collector *collector);

/*
 * A mark in time with the user's own words; `at_ns`, unless it is 0 for now, is a moment that has
 * just been. Any thread.
 */
void collector_mark(struct collector *collector, const char *text, uint64_t at_ns);

/* A moment of a recording. */
struct collector_cut {
	sem_t made;
	uint64_t nr_bytes;
};

/*
 * Have what was published up to now, and no more than that, written. Any thread; never waits. *cut
 * must stay where it is until collector_cut_wait(); it comes about by the end of
 * collector_finish().
 */
void collector_cut(struct collector *collector, struct collector_cut *cut);
/*
 * Wait for it; once. How many bytes of the file hold what was recorded up to the cut; 0: they could
 * not be written. The collector may be gone by now.
 */
uint64_t collector_cut_wait(struct collector_cut *cut);

struct collector_progress collector_progress(struct collector *collector);

/*
 * Producer: no message follows. Empties the queue, hands out what has gathered, writes, ends the
 * thread, and sets the counters that it knows: queue_bytes_max, working_cpu_ns,
 * unattributed_cpu_ns, unattributed_blocked_ns and stacks_NAME. Profile and writer are the
 * caller's again. `failure`, which may be NULL, says why where state is COLLECTOR_WRITE_FAILED.
 */
void collector_finish(struct collector *collector, struct collector_result *result,
		      struct err *failure);
/* Once finished. NULL is nothing. */
void collector_free(struct collector *collector);

#endif
