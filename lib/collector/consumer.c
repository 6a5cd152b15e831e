// SPDX-License-Identifier: GPL-2.0-or-later
/* The state of a consumer, and questions about the processes and threads that it knows. */
#include "collector/consumer_priv.h"

#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "collector/block_rows.h"
#include "collector/context_rows.h"
#include "collector/message.h"
#include "collector/script_frames.h"
#include "collector/wanted_hints.h"
#include "context/context.h"
#include "jit/jit_names.h"
#include "mapping/code_filter.h"
#include "mapping/space.h"
#include "wait/wait_rows.h"

/* An agent sees each row once: rows must not be split, or joined, after that. */
static enum heap_rows rows_of_blocks(const struct collector_options *options)
{
	if (!options->has_all_blocks)
		return HEAP_ROWS_EACH;
	return options->has_searches || options->look ? HEAP_ROWS_ALIVE_EACH : HEAP_ROWS_ALIKE;
}

struct consumer *consumer_new(const struct collector_options *options, struct snapshot_ring *used)
{
	struct consumer *consumer = xcalloc(1, sizeof(*consumer));

	assert(!options->profile->nr_processes);
	consumer->profile = options->profile;
	consumer->writer = options->writer;
	consumer->used = used;
	consumer->steps = options->steps;
	consumer->interpreters = options->interpreters;
	consumer->rounds.source = options->blocks;
	consumer->blocks = block_rows_new(options->profile, rows_of_blocks(options));
	block_rows_keep(consumer->blocks, &options->heap_keep);
	consumer->hooks.add_rows = options->add_rows;
	consumer->hooks.rows_context = options->rows_context;
	consumer->hooks.look = options->look;
	options->profile->spans.are_taken = options->look;
	consumer->hooks.look_context = options->look_context;
	consumer->walker = (struct walker){
		.profile = options->profile,
		.unwinder = unwinder_new(options->unwinder, options->max_depth),
		.jit_names = jit_names_new(options->profile),
		.scripts = script_frames_new(options->profile),
		.within = options->within
				  ? code_filter_new(options->within, options->profile->modules)
				  : NULL,
	};
	consumer->waits = wait_rows_new(options->profile);
	consumer->contexts = context_rows_new(options->profile);
	unwinder_check_each(consumer->walker.unwinder, options->check_unwinder);
	unwinder_end_by(consumer->walker.unwinder, options->ended);
	consumer->sink = (struct sample_sink){.profile = options->profile,
					      .start_ns = options->start_ns,
					      .period_ns = options->period_ns,
					      .is_within = options->within != NULL};
	return consumer;
}

void serial_table_add(struct serial_table *table, uint32_t serial, void *object)
{
	assert(table->nr == serial);
	ARRAY_GROW(table->at, table->nr, table->cap);
	table->at[table->nr++] = object;
}

void *serial_table_find(const struct serial_table *table, uint32_t serial)
{
	return serial < table->nr ? table->at[serial] : NULL;
}

void *serial_table_get(const struct serial_table *table, uint32_t serial)
{
	void *object = serial_table_find(table, serial);

	assert(object);
	return object;
}

void consumer_end_process(struct consumer *consumer, uint32_t serial)
{
	struct process *process = serial_table_find(&consumer->processes, serial);

	if (!process)
		return;
	if (pid_table_get(&consumer->processes_by_pid, process->pid) == process)
		pid_table_remove(&consumer->processes_by_pid, process->pid);
	if (!space_is_shared(process->space))
		unwinder_forget_space(consumer->walker.unwinder, process->space);
	space_free(process->space);
	live_maps_release(&process->live_maps);
	script_process_free(process->script.process);
	context_process_free(process->context);
	free(process);
	consumer->processes.at[serial] = NULL;
}

void consumer_end_thread(struct consumer *consumer, uint32_t serial)
{
	struct thread *thread = serial_table_find(&consumer->threads, serial);

	if (!thread)
		return;
	if (pid_table_get(&consumer->threads_by_tid, thread->tid) == thread)
		pid_table_remove(&consumer->threads_by_tid, thread->tid);
	thread_hints_free(thread->hints);
	free(thread);
	consumer->threads.at[serial] = NULL;
}

void consumer_free(struct consumer *consumer)
{
	if (!consumer)
		return;
	for (uint32_t i = 0; i < consumer->threads.nr; i++)
		consumer_end_thread(consumer, i);
	for (uint32_t i = 0; i < consumer->processes.nr; i++)
		consumer_end_process(consumer, i);
	block_rows_free(consumer->blocks);
	wait_rows_free(consumer->waits);
	context_rows_free(consumer->contexts);
	pid_table_release(&consumer->threads_by_tid);
	pid_table_release(&consumer->processes_by_pid);
	key_map_release(&consumer->writer_rows);
	for (size_t i = 0; i < consumer->rounds.nr_waiting; i++)
		message_free(consumer->rounds.waiting[i]);
	free(consumer->rounds.waiting);
	free(consumer->rounds.late.at);
	free(consumer->threads.at);
	free(consumer->processes.at);
	free(consumer->touched.at);
	free(consumer->unproved.at);
	free(consumer->unwatched.at);
	unwind_walk_release(&consumer->walker.walk);
	unwinder_free(consumer->walker.unwinder);
	jit_names_free(consumer->walker.jit_names);
	script_frames_free(consumer->walker.scripts);
	code_filter_free(consumer->walker.within);
	free(consumer);
}

void serial_list_add(struct serial_list *list, uint32_t serial)
{
	ARRAY_GROW(list->at, list->nr, list->cap);
	list->at[list->nr++] = serial;
}

struct thread *consumer_thread_of(const struct consumer *consumer, const struct process *process,
				  pid_t tid)
{
	struct thread *thread = pid_table_get(&consumer->threads_by_tid, tid);

	return thread && thread->process == process ? thread : NULL;
}

uint32_t consumer_find_process(const struct consumer *consumer, pid_t id)
{
	const struct process *process = pid_table_get(&consumer->processes_by_pid, id);
	const struct thread *thread = process ? NULL : pid_table_get(&consumer->threads_by_tid, id);

	if (thread)
		process = thread->process;
	for (const struct process *former = process; former;
	     former = serial_table_find(&consumer->processes, process->former))
		process = former;
	return process ? process->serial : SERIAL_NONE;
}

bool consumer_has_begun(const struct consumer *consumer, uint32_t serial)
{
	return serial < consumer->processes.nr;
}

pid_t consumer_pid_of(const struct consumer *consumer, uint32_t serial)
{
	const struct process *process = serial_table_find(&consumer->processes, serial);

	return process ? process->pid : 0;
}

uint32_t consumer_parent_of_late(const struct consumer *consumer, uint32_t serial)
{
	const struct process *process = serial_table_find(&consumer->processes, serial);

	return process && process->is_found_late ? consumer->profile->processes[serial].parent
						 : SERIAL_NONE;
}

bool consumer_has_thread(const struct consumer *consumer, uint32_t serial, pid_t tid)
{
	const struct thread *thread = pid_table_get(&consumer->threads_by_tid, tid);

	return thread && thread->process->serial == serial;
}

void consumer_watch_later(struct consumer *consumer, struct process *process)
{
	if (!process->maps.is_queued)
		serial_list_add(&consumer->unwatched, process->serial);
	process->maps.is_queued = true;
}

uint64_t consumer_watch_maps(struct consumer *consumer)
{
	for (size_t i = 0; i < consumer->unwatched.nr; i++) {
		struct process *process =
			serial_table_find(&consumer->processes, consumer->unwatched.at[i]);

		if (!process) /* it has ended since */
			continue;
		process->maps.is_queued = false;
		maps_watch(&process->maps, process->space, consumer->unwatched.nr);
	}
	consumer->unwatched.nr = 0;
	jit_names_poll(consumer->walker.jit_names, clock_monotonic_ns());
	return consumer->restless_until_ns;
}

/*
 * A second or less. A full queue of large stacks has few of them, and walking one takes far less.
 */
#define WORK_AFTER_END (UINT64_C(1) << 25)

void consumer_hurry(struct consumer *consumer)
{
	consumer->rounds.is_hurried = true;
	unwinder_bound(consumer->walker.unwinder, WORK_AFTER_END);
}

struct collector_progress consumer_progress(const struct consumer *consumer)
{
	struct collector_progress progress = consumer->progress;

	progress.nr_observed = consumer->sink.nr_samples;
	return progress;
}
