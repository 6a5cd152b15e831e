// SPDX-License-Identifier: GPL-2.0-or-later
/* Handles all messages, those about samples and counters here; writes the profile now and then. */
#include <ctype.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "collector/advance_rows.h"
#include "collector/block_rows.h"
#include "collector/consumer_priv.h"
#include "collector/context_rows.h"
#include "collector/kernel_frames.h"
#include "collector/message.h"
#include "collector/queue.h"
#include "collector/script_frames.h"
#include "jit/jit_names.h"
#include "profile/profile.h"
#include "snapshot/snapshot.h"
#include "store/store.h"
#include "wait/wait_rows.h"

/* --- samples --- */

/* It exits, and has no stack of its own any more. */
static bool is_in_kernel_alone(const struct message_sample *seen)
{
	return seen->state != SEEN_BLOCKED && !seen->snapshot->regs.known &&
	       seen->snapshot->nr_kernel_bytes;
}

static void handle_exit(struct consumer *consumer, struct thread *thread,
			const struct message_sample *seen)
{
	struct stack_id stack;

	if (consumer->sink.is_within) {
		samples_leave_out(&consumer->sink, &thread->samples, seen, STACK_END_ROOT);
		return;
	}
	stack = kernel_frames_intern(consumer->profile, seen->snapshot);
	thread->advancing.latest = (struct sampled_stack){stack, STACK_END_ROOT};
	thread->samples.labels = 0;
	samples_add(&consumer->sink, &thread->samples, seen, stack, STACK_END_ROOT);
	consumer->walker.nr_stacks_by_end[STACK_END_ROOT]++;
	consumer->progress.nr_samples++;
}

static void read_labels(struct consumer *consumer, struct thread *thread,
			const struct message_sample *seen)
{
	struct process *process = thread->process;
	const struct context_subject subject = {
		.process = &process->context,
		.space = process->space,
		.row = &consumer->profile->processes[process->serial],
		.hints = thread->hints,
		.asks_registers = &thread->asks_registers,
	};

	thread->samples.labels = context_rows_read(consumer->contexts, &subject, seen->snapshot);
}

/* When its wait ends by itself, if it does. */
static void add_time_out(struct consumer *consumer, const struct thread *thread,
			 const struct message_sample *seen)
{
	const struct time_out *time_out = &seen->wait.time_out;
	struct profile_time_out row = {
		.thread = thread->samples.row.v,
		.word = seen->wait.number,
		.seen_ns = samples_profile_time(&consumer->sink, seen->clocks.time_ns),
		.ns = time_out->ns};
	uint64_t real_ns;

	switch (time_out->kind) {
	case TIME_OUT_NONE:
		return;
	case TIME_OUT_AFTER:
		row.is_length = true;
		break;
	case TIME_OUT_AT_REAL:
		real_ns = clock_realtime_ns();
		row.ns += clock_monotonic_ns();
		row.ns -= min_u64(row.ns, real_ns);
		row.ns = samples_profile_time(&consumer->sink, row.ns);
		break;
	case TIME_OUT_AT:
		row.ns = samples_profile_time(&consumer->sink, row.ns);
		break;
	}
	profile_add_time_out(consumer->profile, &row);
}

static void handle_stack(struct consumer *consumer, struct thread *thread,
			 const struct message_sample *seen)
{
	struct process *process = thread->process;
	struct script_subject script = consumer_script_subject(process);
	struct stack_id stack;

	script.thread = &thread->script;
	script.hints = thread->hints;
	consumer_watch_later(consumer, process);
	thread->samples.labels = 0;
	stack = walker_walk(&consumer->walker, process->space, &process->maps, seen, &script);
	if (process->maps.restless_until_ns > consumer->restless_until_ns)
		consumer->restless_until_ns = process->maps.restless_until_ns;
	stack_hints_update(thread->hints, &thread->needs, seen->snapshot, &consumer->walker.walk);
	consumer_note_functions(consumer, thread, thread->script.lacks_bytes);
	thread->first_sp = seen->snapshot->first_sp;
	thread->thread_pointer = seen->snapshot->thread_pointer;
	thread->advancing.latest = (struct sampled_stack){stack, consumer->walker.walk.end};
	if (consumer->walker.is_outside) {
		samples_leave_out(&consumer->sink, &thread->samples, seen,
				  consumer->walker.walk.end);
		return;
	}
	read_labels(consumer, thread, seen);
	samples_add(&consumer->sink, &thread->samples, seen, stack, consumer->walker.walk.end);
	if (seen->state == SEEN_BLOCKED) {
		consumer_set_wait(consumer, thread, &seen->wait);
		add_time_out(consumer, thread, seen);
		thread->samples.sleep.sample.kernel =
			kernel_frames_intern(consumer->profile, seen->snapshot);
	}
	consumer->progress.nr_samples++;
}

/* It sleeps on, but another thread has the lock by now. */
static void change_wait(struct consumer *consumer, struct thread *thread,
			const struct seen_wait *wait)
{
	if (!wait->is_known)
		return;
	samples_emit_held(&consumer->sink, &thread->samples);
	consumer_set_wait(consumer, thread, wait);
}

static void handle_sample(struct consumer *consumer, struct message *message)
{
	struct message_sample *seen = &message->body.sample;
	struct thread *thread = serial_table_get(&consumer->threads, seen->thread);

	if (!thread->is_touched)
		serial_list_add(&consumer->touched, seen->thread);
	thread->is_touched = true;
	consumer_prove_owner(consumer, thread); /* while that has not ended */
	if (seen->slept_until_ns)
		samples_lengthen_sleep(&consumer->sink, &thread->samples, seen);
	if (seen->name)
		consumer_name_thread(consumer, thread, seen->name);
	if (!seen->is_new) {
		change_wait(consumer, thread, &seen->wait);
		consumer_list_unproved(consumer, thread, seen->thread);
		return;
	}
	consumer_note_blocked(consumer, thread, seen->state == SEEN_BLOCKED);
	if (seen->snapshot) {
		if (is_in_kernel_alone(seen))
			handle_exit(consumer, thread, seen);
		else
			handle_stack(consumer, thread, seen);
		consumer_list_unproved(consumer, thread, seen->thread);
		snapshot_ring_give(consumer->used, seen->snapshot);
		seen->snapshot = NULL;
		return;
	}
	thread->advancing.latest = (struct sampled_stack){0};
	if (seen->state == SEEN_BLOCKED)
		samples_forget_sleep(&thread->samples);
}

static void handle_advance(struct consumer *consumer, const struct message *message)
{
	const struct message_advance *said = &message->body.advance;
	struct thread *thread = serial_table_find(&consumer->threads, said->thread);
	struct thread_id row =
		thread ? thread->samples.row
		       : consumer_main_row(consumer,
					   serial_table_get(&consumer->processes, said->process));

	advance_rows_add(consumer->profile, row, thread ? &thread->advancing : NULL, said,
			 samples_profile_time(&consumer->sink, message->time_ns));
}

/* --- counters and calls --- */

static void set_left_out(struct profile *profile, const struct left_out *left_out)
{
	profile_set_counter(profile, "within_dropped_cpu_ns", left_out->cpu_ns);
	profile_set_counter(profile, "within_dropped_blocked_ns", left_out->blocked_ns);
	profile_set_counter(profile, "within_dropped_samples", left_out->nr_samples);
	profile_set_counter(profile, "within_cut_samples", left_out->nr_cut);
	profile_set_counter(profile, "within_unknown_cpu_ns", left_out->unknown_cpu_ns);
}

static void set_counters(const struct consumer *consumer)
{
	struct profile *profile = consumer->profile;

	if (consumer->sink.is_within)
		set_left_out(profile, &consumer->sink.left_out);
	block_rows_count(consumer->blocks);
	script_frames_set_counters(consumer->walker.scripts, consumer->nr_lacking);
	context_rows_set_counters(consumer->contexts);
	profile_set_counter(profile, "unattributed_cpu_ns", consumer->sink.unattributed_cpu_ns);
	profile_set_counter(profile, "unattributed_blocked_ns",
			    consumer->sink.unattributed_blocked_ns);
	for (int end = 0; end < STACK_END_COUNT; end++) {
		char name[64];

		if (!consumer->walker.nr_stacks_by_end[end])
			continue;
		snprintf(name, sizeof(name), "stacks_%s", stack_end_name((enum stack_end)end));
		for (char *c = name; *c; c++)
			*c = *c == ' ' || *c == '-' ? '_' : (char)tolower((unsigned char)*c);
		profile_set_counter(profile, name, consumer->walker.nr_stacks_by_end[end]);
	}
}

static void handle_counters(struct consumer *consumer, const struct message *message)
{
	const struct message_counters *said = &message->body.counters;

	for (size_t i = 0; i < said->nr; i++)
		profile_set_counter(consumer->profile, said->rows[i].name, said->rows[i].value);
	set_counters(consumer);
}

static void handle_call(struct consumer *consumer, const struct message *message)
{
	const struct message_call *call = &message->body.call;

	/* The producer may still be publishing the message. */
	while (call->is_waiting && !atomic_load(call->is_waiting))
		sched_yield();
	call->run(call->context, consumer);
	if (call->is_waiting)
		atomic_store(call->is_waiting, false);
	if (call->done)
		sem_post(call->done);
}

/* --- messages --- */

void consumer_handle_now(struct consumer *consumer, struct message *message)
{
	switch (message->kind) {
	case MESSAGE_PROCESS:
		consumer_handle_process(consumer, message);
		break;
	case MESSAGE_MAPS:
		consumer_handle_maps(consumer, message);
		break;
	case MESSAGE_PROCESS_REST:
		consumer_handle_process_rest(consumer, message);
		break;
	case MESSAGE_PROCESS_END:
		consumer_handle_process_end(consumer, message);
		break;
	case MESSAGE_THREAD:
		consumer_handle_thread(consumer, message);
		break;
	case MESSAGE_THREAD_BASE:
	case MESSAGE_THREAD_REST:
		consumer_handle_thread_clocks(consumer, message);
		break;
	case MESSAGE_SAMPLE:
		handle_sample(consumer, message);
		break;
	case MESSAGE_ADVANCE:
		handle_advance(consumer, message);
		break;
	case MESSAGE_THREAD_END:
		consumer_handle_thread_end(consumer, message);
		break;
	case MESSAGE_COUNTERS:
		handle_counters(consumer, message);
		break;
	case MESSAGE_CALL:
		handle_call(consumer, message);
		break;
	}
	message_free(message);
}

void consumer_handle(struct consumer *consumer, struct message *message)
{
	struct rounds *rounds = &consumer->rounds;
	bool waits = message->kind == MESSAGE_THREAD_END || message->kind == MESSAGE_PROCESS_END ||
		     message->kind == MESSAGE_CALL;

	if (!rounds->source.read || !waits) {
		consumer_handle_now(consumer, message);
		return;
	}
	ARRAY_GROW(rounds->waiting, rounds->nr_waiting, rounds->cap_waiting);
	rounds->waiting[rounds->nr_waiting++] = message;
}

/* --- now and then --- */

/* Only touched threads hold a sample back. */
static void flush_threads(struct consumer *consumer)
{
	for (size_t i = 0; i < consumer->touched.nr; i++) {
		struct thread *thread =
			serial_table_find(&consumer->threads, consumer->touched.at[i]);

		if (!thread) /* it has ended since */
			continue;
		consumer_prove_owner(consumer, thread);
		samples_emit_held(&consumer->sink, &thread->samples);
		thread->is_touched = false;
	}
	consumer->touched.nr = 0;
}

/* Most recordings have a file, and forget nothing. */
static void forget_blocks(struct consumer *consumer)
{
	uint64_t now_ns = samples_profile_time(&consumer->sink, clock_monotonic_ns());
	cleanup_free uint32_t *numbers = block_rows_forget(consumer->blocks, now_ns);

	for (uint32_t i = 0; numbers && i < consumer->processes.nr; i++) {
		struct process *process = serial_table_find(&consumer->processes, i);

		if (process)
			live_maps_renumber(&process->live_maps, numbers);
	}
}

int consumer_flush(struct consumer *consumer, struct err *err)
{
	int status = 0;

	flush_threads(consumer);
	jit_names_catch_up(consumer->walker.jit_names);
	wait_rows_catch_up(consumer->waits);
	if (consumer->is_over)
		block_rows_end(consumer->blocks);
	else if (block_rows_is_gathering_due(consumer->blocks))
		block_rows_gather(consumer->blocks);
	script_frames_set_counters(consumer->walker.scripts, consumer->nr_lacking);
	if (consumer->hooks.add_rows)
		consumer->hooks.add_rows(consumer->hooks.rows_context, consumer->profile);
	if (consumer->hooks.look)
		consumer->hooks.look(consumer->hooks.look_context, consumer->profile);
	if (consumer->writer)
		status = store_writer_flush(consumer->writer, consumer->profile, err);
	profile_drop_samples(consumer->profile);
	if (consumer->hooks.look)
		profile_drop_calls(consumer->profile);
	forget_blocks(consumer);
	return status;
}

void consumer_end(struct consumer *consumer, struct collector_result *result)
{
	consumer->is_over = true;
	flush_threads(consumer);
	jit_names_end_all(consumer->walker.jit_names);
	set_counters(consumer);
	result->nr_samples = consumer->sink.nr_samples;
	result->cpu_ns = consumer->sink.cpu_ns;
	result->unwinder_check = *unwinder_check_result(consumer->walker.unwinder);
}
