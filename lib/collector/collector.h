/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_COLLECTOR_COLLECTOR_H
#define PROFC_COLLECTOR_COLLECTOR_H

#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector/consumer.h"

struct profile;
struct snapshot;

/*
 * The consuming half of a recording: a thread that takes messages from a bounded queue, walks the
 * stacks in them, interns them in the profile, attributes the time of each thread to its samples,
 * and writes the file at least once a second. The producing half, a sampler, publishes messages and
 * never waits: when the queue is full it drops stacks, and counts them; their time goes to other
 * samples of the thread. Between messages that thread reads allocations (block_source.h).
 *
 *   publish -> queue -> handle (maps, walk, account) -> samples -> flush
 *   records of allocations -> read -> handle (walk, gather) -> flush
 *
 * Functions marked "producer" are called by one thread at a time, which may change under a lock of
 * the caller's; the others by any thread.
 */
struct collector;

/* NULL, with the reason: no thread could be started. */
struct collector *collector_start(const struct collector_options *options, struct err *err);
enum collector_state collector_state(const struct collector *collector);

/* The queue never holds more than this, but for the small parts of messages. */
#define COLLECTOR_QUEUE_MAX_BYTES ((size_t)32 * 1024 * 1024)

/*
 * Producer: hand over a message. Never waits. The collector looks after the queue by itself; this
 * wakes it only for a burst, or after a sample for which collector_call_for_code() wants it.
 */
void collector_publish(struct collector *collector, struct message *message);
/* Producer: a snapshot to fill for a MESSAGE_SAMPLE, used or new, with undefined contents. */
struct snapshot *collector_take_snapshot(struct collector *collector);

enum collector_call {
	COLLECTOR_COMES_SOON, /* by itself */
	COLLECTOR_CALLED,     /* it will be woken by the next MESSAGE_SAMPLE */
	COLLECTOR_LEFT_ALONE, /* it was woken for other code just now: ask again */
};

/*
 * Producer: the next sample to be published found code that no sample has found before. When the
 * collector has rested, the code may be gone.
 */
enum collector_call collector_call_for_code(struct collector *collector, uint64_t now_ns);

/* Is there room for so many bytes more? If not, drop the large parts of a message. */
bool collector_has_room(const struct collector *collector, size_t nr_bytes);
/* Is it more than half full, because the collector does not keep up? */
bool collector_is_behind(const struct collector *collector);
/* When the collector takes from the queue again, or should have: it is late if that is long ago. */
uint64_t collector_due_ns(const struct collector *collector);

/* Set a mark with the user's text. `at_ns` is a moment that has just been; 0: now. Any thread. */
void collector_mark(struct collector *collector, const char *text, uint64_t at_ns);

/* A moment of a recording. */
struct collector_cut {
	sem_t made;
	uint64_t nr_bytes;
	/*
	 * Called by the collector's thread at the cut, with all rows up to it; the samples went to
	 * collector_options.look before. NULL: not called.
	 */
	void (*look)(void *context, const struct profile *profile);
	void *context;
};

/*
 * Have everything written that was published up to now, and no more. Any thread; never waits. *cut
 * must stay where it is until collector_cut_wait(); its `look` is set before. The cut is made by
 * the end of collector_finish().
 */
void collector_cut(struct collector *collector, struct collector_cut *cut);
/*
 * Wait for the cut; once. Returns how many bytes of the file hold everything up to the cut; 0: they
 * could not be written; 1 where there is no file. The collector may be gone by now.
 */
uint64_t collector_cut_wait(struct collector_cut *cut);

/*
 * Producer: let the collector's thread call run() once it has handled all messages published
 * before, and read all allocations up to now.
 */
void collector_post(struct collector *collector,
		    void (*run)(void *context, struct consumer *consumer), void *context);
/*
 * The same, and wait until run() has returned, which may so use data of the producer. The producer
 * must not hold a lock that the collector's thread waits for: this would wait for ever.
 * *is_waiting, at first false, is true while the producer only waits: run() begins then, and the
 * collector's thread sets it to false when run() has returned.
 */
void collector_run(struct collector *collector,
		   void (*run)(void *context, struct consumer *consumer), void *context,
		   _Atomic bool *is_waiting);

/*
 * The CPU time that its thread has used up to its last rest, to walk stacks and to write what they
 * add up to. Cuts are not part of it; 0 where it reads allocations. Any thread.
 */
uint64_t collector_cpu_ns(const struct collector *collector);

struct collector_progress collector_progress(struct collector *collector);

/*
 * Producer: no message follows. Empties the queue, emits samples that are held back, writes, ends
 * the thread, and sets its counters: queue_bytes_max, working_cpu_ns, unattributed_cpu_ns,
 * unattributed_blocked_ns and stacks_NAME. Profile and writer are the caller's again. `failure`,
 * which may be NULL, gets the reason if the state is COLLECTOR_WRITE_FAILED.
 */
void collector_finish(struct collector *collector, struct collector_result *result,
		      struct err *failure);
/* Once it is finished. May be NULL. */
void collector_free(struct collector *collector);

#endif
