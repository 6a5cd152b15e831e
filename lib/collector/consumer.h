/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_COLLECTOR_CONSUMER_H
#define PROFC_COLLECTOR_CONSUMER_H

#include <stdint.h>

#include "collector/terms.h"

struct err;

struct message;
struct snapshot_ring;

/*
 * What becomes of messages: the processes and threads that there are, and what was sampled of them,
 * turned into rows and samples of the profile. Used by one thread at a time, and knows nothing of
 * the others.
 */
struct consumer;

/* `used` is borrowed: where snapshots go that have been walked. */
struct consumer *consumer_new(const struct collector_options *options, struct snapshot_ring *used);
void consumer_free(struct consumer *consumer);

/* Deal with a message, which is the consumer's from now on. */
void consumer_handle(struct consumer *consumer, struct message *message);
/*
 * All messages that were there have been handled: read the maps of the processes that they were
 * about anew, where it is time to. Until when messages should not wait: address spaces change while
 * they do.
 */
uint64_t consumer_watch_maps(struct consumer *consumer);
/* Write what has gathered. Negative when the file could not be written. */
int consumer_flush(struct consumer *consumer, struct err *err);
/*
 * No message will follow: what is left to be read is read, what is held back handed out, and its
 * counters set in the profile.
 */
void consumer_end(struct consumer *consumer);

struct collector_progress consumer_progress(const struct consumer *consumer);
/* All of the result but for what is the thread's. */
void consumer_result(const struct consumer *consumer, struct collector_result *result);

#endif
