/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_RECORDING_KEEP_H
#define PROFC_CMD_RECORDING_KEEP_H

#include <stdbool.h>

#include "profile/heap_forget.h"
#include "symbol/symbol.h"

struct counting;
struct err;
struct profile;
struct record_options;
struct sampler;

/*
 * A recording without a file. A flight recorder: --keep. The last samples stay in memory, and upon
 * a trigger they become a profile in a directory, which a thread beside the recording writes, as
 * names take long to be found. And --every: recording_push.h. One thread calls all functions but
 * keep_collect().
 */
struct keep;

/*
 * NULL in *keep without --keep and --every. ERR_INVALID: a trigger that is none, or options that
 * cannot be combined. The options are borrowed.
 */
int keep_new(const struct record_options *options, const char *command, struct keep **keep,
	     struct err *err);
void keep_free(struct keep *keep);
/*
 * Have the calls recorded that are triggers. ERR_INVALID: they are not timed. Both may be NULL.
 */
int keep_await_calls(struct keep *keep, struct counting *counting, struct err *err);
/*
 * Make the directory, if it is not there, the socket of 'profc ctl' in it, and the way to push,
 * while profc has one thread.
 */
int keep_open(struct keep *keep, struct err *err);
/*
 * The options of names are borrowed as they are elsewhere. The counting is borrowed as well, up to
 * keep_finish(); NULL: nothing is counted. With `tells_manager` the service manager is told of each
 * profile.
 */
void keep_begin(struct keep *keep, const struct symbol_options *symbols,
		const struct counting *counting, bool clears_line, bool tells_manager);
/* collector_options.look: take the samples that are to be written. `context` is the keep. */
void keep_collect(void *context, const struct profile *profile);
/* Is it a flight recorder? NULL is none. */
bool keep_has_triggers(const struct keep *keep);
/* How much of memory is kept. */
struct heap_keep keep_heap(const struct keep *keep);

/*
 * Has the profile so large tables that it is to be left for a new one? Then finish the sampler,
 * hand over its profile, and start one with a new profile, elapsed_ns after the former.
 */
bool keep_is_full(const struct keep *keep, const struct sampler *sampler);
void keep_continue(struct keep *keep, struct profile *profile, uint64_t elapsed_ns);
/* When the profile of now began, since the first one did. */
uint64_t keep_base_ns(const struct keep *keep);

/* Is there no process to record? The service manager is told. */
void keep_set_waiting(struct keep *keep, bool is_waiting);
/* How long poll(2) may wait, in milliseconds. */
int keep_timeout_ms(const struct keep *keep);
/* Look at the triggers, and write what is due. To be called after that time, or before. */
void keep_look(struct keep *keep, struct sampler *sampler);
/* SIGUSR2; a line of --control; a mark of the user's, which the sampler has. */
void keep_signal(struct keep *keep, struct sampler *sampler);
/* Is sampler_core_fd() to be waited for, for the trigger `crash`? Then keep_core() is to follow. */
bool keep_awaits_core(const struct keep *keep);
void keep_core(struct keep *keep, struct sampler *sampler);
/* The last process of --unit or --comm has ended. */
void keep_gone(struct keep *keep, struct sampler *sampler);
void keep_control(struct keep *keep, struct sampler *sampler, const char *label);
void keep_mark(struct keep *keep, struct sampler *sampler, const char *text);
/* Readable when 'profc ctl' asks for something; -1: it cannot. */
int keep_fd(const struct keep *keep);
/* Do what it asks for. False: the recording is to end. */
bool keep_serve(struct keep *keep, struct sampler *sampler);

/*
 * The recording has ended, and the sampler has finished: write what is due, and by the trigger
 * `exit`. False: a profile could not be written, now or before, which has been said.
 */
bool keep_finish(struct keep *keep, struct profile *profile);

#endif
