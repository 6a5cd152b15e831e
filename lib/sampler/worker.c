// SPDX-License-Identifier: GPL-2.0-or-later
#include "sampler/worker.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "jit/jit_names.h"
#include "mapping/space.h"
#include "profile/profile.h"
#include "sampler/worker_priv.h"
#include "store/store.h"

struct worker *worker_new(const struct worker_options *options)
{
	struct worker *worker = xcalloc(1, sizeof(*worker));

	worker->options = *options;
	worker->profile = options->profile;
	worker->unwinder = unwinder_new(options->unwinder, options->max_depth);
	unwinder_check_each(worker->unwinder, options->check_unwinder);
	worker->jit_names = jit_names_new(worker->profile);
	return worker;
}

static void free_process(struct worker *worker, struct worker_process *process)
{
	if (process->space) {
		unwinder_forget_space(worker->unwinder, process->space);
		space_free(process->space);
		process->space = NULL;
	}
	for (size_t i = 0; i < process->nr_waiting; i++)
		message_free(process->waiting[i]); /* none, unless the recording was broken off */
	free(process->waiting);
	process->waiting = NULL;
	process->nr_waiting = process->cap_waiting = 0;
}

void worker_free(struct worker *worker)
{
	if (!worker)
		return;
	for (size_t i = 0; i < worker->nr_processes; i++)
		free_process(worker, &worker->processes[i]);
	for (size_t i = 0; i < worker->nr_threads; i++)
		free(worker->threads[i].hints);
	free(worker->processes);
	free(worker->to_watch);
	free(worker->touched);
	free(worker->threads);
	unwind_walk_release(&worker->walk);
	unwinder_free(worker->unwinder);
	jit_names_free(worker->jit_names);
	free(worker);
}

static void note_asleep(struct worker *worker, struct worker_thread *thread, bool is_asleep)
{
	worker->progress.nr_asleep += is_asleep;
	worker->progress.nr_asleep -= thread->is_asleep;
	thread->is_asleep = is_asleep;
}

/*
 * The look itself. False when its process is gone and its last memory map, which is on
 * its way, is needed first.
 */
static bool handle_look(struct worker *worker, struct worker_thread *thread,
			const struct message_sighting *sighting)
{
	struct worker_process *process = &worker->processes[thread->process];
	struct worker_stack stack;

	if (!sighting->snapshot)
		return true; /* the time stays owed to the next sighting */
	if (!worker_walk(worker, process, thread, sighting, &stack))
		return false;
	if (sighting->kind == SIGHTING_ASLEEP)
		worker_add_blocked(worker, thread, sighting, &stack);
	else
		worker_add_running(worker, thread, sighting, &stack);
	worker->progress.nr_sightings++;
	return true;
}

static void touch(struct worker *worker, struct worker_thread *thread)
{
	if (thread->is_touched)
		return;
	thread->is_touched = true;
	ARRAY_GROW(worker->touched, worker->nr_touched, worker->cap_touched);
	worker->touched[worker->nr_touched++] = (uint32_t)(thread - worker->threads);
}

static bool handle_sighting(struct worker *worker, struct message *message)
{
	struct message_sighting *sighting = &message->body.sighting;
	struct worker_thread *thread = &worker->threads[sighting->thread];

	touch(worker, thread);
	if (sighting->nr_slept)
		worker_add_sleep(thread, sighting->slept_until_ns, sighting->nr_slept);
	sighting->nr_slept = 0;
	if (sighting->name)
		worker_name_thread(worker, thread, sighting->name);
	if (sighting->is_new)
		note_asleep(worker, thread, sighting->kind == SIGHTING_ASLEEP);
	return !sighting->is_new || handle_look(worker, thread, sighting);
}

static void handle_thread(struct worker *worker, const struct message *message)
{
	const struct message_thread *told = &message->body.thread;
	struct worker_process *process = &worker->processes[told->process];
	struct profile_thread row = {.process = process->id.v, .tid = told->tid};
	struct worker_thread *thread;

	ARRAY_GROW(worker->threads, worker->nr_threads, worker->cap_threads);
	thread = &worker->threads[worker->nr_threads++];
	worker->progress.nr_threads++;
	*thread = (struct worker_thread){.process = told->process, .hints = told->hints};
	account_start(&thread->account, &told->clocks);
	row.name = worker->profile->processes[process->id.v].name;
	row.start_ns = worker_profile_time(worker, message->time_ns);
	thread->id = profile_add_thread(worker->profile, &row);
	/* The first thread is named as its process; by now it may have gone through exec. */
	if (told->name)
		worker_name_thread(worker, thread, told->name);
	else if (told->tid != process->pid)
		worker_read_thread_name(worker, thread);
}

static struct cpu_split split_of(bool is_known, const struct proc_cpu_split *split)
{
	if (!is_known)
		return (struct cpu_split){0};
	return (struct cpu_split){
		.user_ns = split->user_ns, .system_ns = split->system_ns, .known = true};
}

static void handle_thread_end(struct worker *worker, const struct message *message)
{
	const struct message_thread *told = &message->body.thread;
	struct worker_thread *thread = &worker->threads[told->serial];

	if (told->has_clocks)
		worker_lengthen_last_run(worker, thread, &told->clocks);
	worker_emit_gathered(worker, thread);
	if (told->has_clocks)
		worker_hand_out_rest(worker, thread, &told->clocks);
	worker->profile->threads[thread->id.v].end_ns =
		worker_profile_time(worker, message->time_ns);
	worker->profile->threads[thread->id.v].split = split_of(told->has_split, &told->split);
	thread->ended = true;
	note_asleep(worker, thread, false);
	worker->progress.nr_threads--;
	free(thread->hints);
	thread->hints = NULL;
}

static void handle_process(struct worker *worker, const struct message *message)
{
	const struct message_process *told = &message->body.process;
	struct profile *profile = worker->profile;
	struct worker_process *parent =
		told->parent == SERIAL_NONE ? NULL : &worker->processes[told->parent];
	struct profile_process row = {.pid = told->pid, .parent = PROCESS_NONE};
	struct worker_process *process;
	uint32_t parent_serial = told->parent;

	if (parent) {
		row = profile->processes[parent->id.v];
		row.pid = told->pid;
		row.parent = parent->id.v;
	}
	if (told->comm)
		row.name = profile_intern(profile, told->comm);
	if (told->exe)
		row.exe = profile_intern(profile, told->exe);
	if (told->command)
		row.command = profile_intern(profile, told->command);
	row.start_ns = worker_profile_time(worker, message->time_ns);
	row.end_ns = 0;
	row.split = (struct cpu_split){0};
	ARRAY_GROW(worker->processes, worker->nr_processes, worker->cap_processes);
	process = &worker->processes[worker->nr_processes++];
	*process = (struct worker_process){.pid = told->pid, .program = told->program};
	process->id = profile_add_process(profile, &row);
	if (told->forked && parent_serial != SERIAL_NONE && worker->processes[parent_serial].space)
		process->space = space_fork(worker->processes[parent_serial].space, told->pid);
	else
		process->space = space_new(profile->modules, told->pid);
	space_is_of_program(process->space, told->program);
	jit_names_begin(worker->jit_names, told->pid);
	if (told->maps)
		space_update(process->space, told->maps, told->nr_maps_bytes, NULL);
}

static void handle(struct worker *worker, struct message *message);

/* In order; those that come to none of the code that is known by now wait once more. */
static void handle_waiting(struct worker *worker, struct worker_process *process)
{
	struct message **waiting = process->waiting;
	size_t nr = process->nr_waiting;

	process->waiting = NULL;
	process->nr_waiting = process->cap_waiting = 0;
	for (size_t i = 0; i < nr; i++)
		handle(worker, waiting[i]);
	free(waiting);
}

/* The last memory map is there, or will never be: deal with what has waited for it. */
static void end_waiting(struct worker *worker, struct worker_process *process)
{
	uint32_t serial = (uint32_t)(process - worker->processes);

	process->final_maps = true;
	handle_waiting(worker, process);
	assert(!worker->processes[serial].nr_waiting);
}

/* The name of a process is that of its first thread. */
static void rename_process(struct worker *worker, uint32_t serial, const char *comm)
{
	struct profile *profile = worker->profile;
	struct worker_process *process = &worker->processes[serial];
	struct str_id name = profile_intern(profile, comm);

	profile->processes[process->id.v].name = name;
	for (size_t i = worker->first_live_thread; i < worker->nr_threads; i++) {
		struct profile_thread *row = &profile->threads[worker->threads[i].id.v];

		if (worker->threads[i].process == serial && row->tid == process->pid)
			row->name = name;
	}
}

static void handle_maps(struct worker *worker, const struct message *message)
{
	const struct message_process *told = &message->body.process;
	struct worker_process *process = &worker->processes[told->serial];

	if (told->comm)
		rename_process(worker, told->serial, told->comm);
	if (told->maps && process->space)
		space_update(process->space, told->maps, told->nr_maps_bytes, NULL);
	if (told->is_last)
		end_waiting(worker, process);
	else if (told->maps)
		handle_waiting(worker, process); /* the next map may show less again */
}

static void handle_process_end(struct worker *worker, const struct message *message)
{
	struct worker_process *process = &worker->processes[message->body.process.serial];

	end_waiting(worker, process);
	jit_names_end(worker->jit_names, process->pid);
	worker->profile->processes[process->id.v].end_ns =
		worker_profile_time(worker, message->time_ns);
	worker->profile->processes[process->id.v].split =
		split_of(message->body.process.has_split, &message->body.process.split);
	free_process(worker, process);
}

/* The process whose threads a message is about, if it is about threads. */
static struct worker_process *process_of(struct worker *worker, const struct message *message)
{
	if (message->kind == MESSAGE_SIGHTING)
		return &worker->processes[worker->threads[message->body.sighting.thread].process];
	if (message->kind == MESSAGE_THREAD_END)
		return &worker->processes[message->body.thread.process];
	return NULL;
}

/*
 * What a process leaves behind between its death and the news of it, or the next map that was read
 * of it, is hardly ever that much, however late we are.
 */
#define WAITING_MAX 4096

static void wait_for_maps(struct worker_process *process, struct message *message)
{
	assert(process); /* messages that wait are about threads */
	ARRAY_GROW(process->waiting, process->nr_waiting, process->cap_waiting);
	process->waiting[process->nr_waiting++] = message;
}

static void handle_counters(struct worker *worker, const struct message *message)
{
	const struct message_counters *told = &message->body.counters;

	for (size_t i = 0; i < told->nr; i++)
		profile_set_counter(worker->profile, told->rows[i].name, told->rows[i].value);
	worker_set_counters(worker);
}

static void reuse_snapshot(struct worker *worker, struct message *message)
{
	struct message_sighting *sighting = &message->body.sighting;

	if (message->kind != MESSAGE_SIGHTING || !sighting->snapshot)
		return;
	snapshot_ring_give(worker->options.used_snapshots, sighting->snapshot);
	sighting->snapshot = NULL;
}

/* Takes the message over. */
static void handle(struct worker *worker, struct message *message)
{
	struct worker_process *process = process_of(worker, message);

	if (process && process->nr_waiting >= WAITING_MAX)
		end_waiting(worker, process);
	if (process && process->nr_waiting) {
		wait_for_maps(process, message); /* in order */
		return;
	}
	switch (message->kind) {
	case MESSAGE_PROCESS:
		handle_process(worker, message);
		break;
	case MESSAGE_MAPS:
		handle_maps(worker, message);
		break;
	case MESSAGE_PROCESS_END:
		handle_process_end(worker, message);
		break;
	case MESSAGE_THREAD:
		handle_thread(worker, message);
		break;
	case MESSAGE_THREAD_BASE:
		account_start(&worker->threads[message->body.thread.serial].account,
			      &message->body.thread.clocks);
		break;
	case MESSAGE_THREAD_REST:
		worker_hand_out_rest(worker, &worker->threads[message->body.thread.serial],
				     &message->body.thread.clocks);
		break;
	case MESSAGE_SIGHTING:
		if (!handle_sighting(worker, message)) {
			wait_for_maps(process, message);
			return;
		}
		break;
	case MESSAGE_THREAD_END:
		handle_thread_end(worker, message);
		break;
	case MESSAGE_COUNTERS:
		handle_counters(worker, message);
		break;
	}
	reuse_snapshot(worker, message);
	message_free(message);
}

void worker_handle(struct worker *worker, struct message *message)
{
	handle(worker, message);
}

/* Names change as programs begin to work: read again those of threads that ran. */
static void flush_thread(struct worker *worker, struct worker_thread *thread)
{
	if (!thread->ended && thread->ran_since_flush)
		worker_read_thread_name(worker, thread);
	worker_emit_gathered(worker, thread);
	thread->ran_since_flush = false;
	thread->is_touched = false;
}

int worker_flush(struct worker *worker, struct err *err)
{
	int status;

	while (worker->first_live_thread < worker->nr_threads &&
	       worker->threads[worker->first_live_thread].ended)
		worker->first_live_thread++;
	for (size_t i = 0; i < worker->nr_touched; i++)
		flush_thread(worker, &worker->threads[worker->touched[i]]);
	worker->nr_touched = 0;
	jit_names_catch_up(worker->jit_names);
	status = store_writer_flush(worker->options.writer, worker->profile, err);
	worker->profile->nr_samples = 0;
	return status;
}

void worker_end(struct worker *worker)
{
	for (size_t i = 0; i < worker->nr_processes; i++) {
		if (worker->processes[i].nr_waiting)
			end_waiting(worker, &worker->processes[i]);
	}
	for (size_t i = worker->first_live_thread; i < worker->nr_threads; i++)
		worker_emit_gathered(worker, &worker->threads[i]);
	jit_names_end_all(worker->jit_names);
}

const struct worker_progress *worker_progress(const struct worker *worker)
{
	return &worker->progress;
}

uint64_t worker_nr_samples(const struct worker *worker)
{
	return worker->nr_samples;
}

uint64_t worker_cpu_ns(const struct worker *worker)
{
	return worker->cpu_ns;
}

const struct unwinder_check *worker_unwinder_check(const struct worker *worker)
{
	return unwinder_check_result(worker->unwinder);
}

void worker_set_counters(const struct worker *worker)
{
	struct profile *profile = worker->profile;

	profile_set_counter(profile, "unattributed_cpu_ns", worker->unattributed_cpu_ns);
	profile_set_counter(profile, "unattributed_blocked_ns", worker->unattributed_blocked_ns);
	for (int end = 0; end < STACK_END_COUNT; end++) {
		char name[64];

		if (!worker->nr_stacks_by_end[end])
			continue;
		snprintf(name, sizeof(name), "stacks_%s", stack_end_name((enum stack_end)end));
		for (char *c = name; *c; c++) {
			if (*c == ' ' || *c == '-')
				*c = '_';
			else if (*c >= 'A' && *c <= 'Z')
				*c = (char)(*c - 'A' + 'a');
		}
		profile_set_counter(profile, name, worker->nr_stacks_by_end[end]);
	}
}
