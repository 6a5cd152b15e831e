// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Turns messages into rows and samples: one function for each kind, and the tasks of each second.
 */
#include "collector/consumer.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "base/pid_table.h"
#include "collector/advance_rows.h"
#include "collector/block_rows.h"
#include "collector/message.h"
#include "collector/queue.h"
#include "collector/samples.h"
#include "collector/walk.h"
#include "jit/jit_names.h"
#include "mapping/code_filter.h"
#include "mapping/space.h"
#include "proc/program.h"
#include "proc/read.h"
#include "profile/live_maps.h"
#include "snapshot/snapshot.h"
#include "store/store.h"
#include "wait/wait_rows.h"

/* A process that has not ended. Its row in the profile has the number of its serial. */
struct process {
	uint32_t serial;
	pid_t pid;
	uint64_t program;  /* proc_program_id(); 0: not known */
	bool is_succeeded; /* executed another program, which goes by the pid now */
	uint32_t former;   /* serial of its life before an exec; or SERIAL_NONE */
	struct space *space;
	struct map_watch maps;
	/* The thread-group leader or, before it is known, the thread that began last. */
	uint32_t main_thread; /* serial; SERIAL_NONE: there was no thread yet */
	struct thread_id main_row;
	bool has_leader;
	struct live_maps live_maps;
	/* Ended when it was found: its end comes after a round without a record of it. */
	bool is_found_late;
	uint64_t round, last_block_ns; /* of its last record */
};

/* A thread that has not ended. */
struct thread {
	struct process *process;
	pid_t tid;
	struct thread_hints *hints; /* owned */
	struct stack_needs needs;
	uint64_t first_sp, thread_pointer; /* as in its last snapshot */
	struct thread_samples samples;
	struct advancing_thread advancing;
	struct seen_wait unproved; /* of its last sleep, if its owner was not known yet */
	bool is_blocked;	   /* when last sampled */
	bool is_touched;	   /* is in consumer.touched */
};

struct serial_list {
	uint32_t *at; /* owned */
	size_t nr, cap;
};

/* Objects by serial; NULL: has ended. This is small beside their rows in the profile. */
struct table {
	void **at; /* owned */
	size_t nr, cap;
};

/* Callbacks that use the profile: see collector_options. */
struct consumer_hooks {
	void (*add_rows)(void *context, struct profile *profile);
	void *rows_context;
	void (*look)(void *context, const struct profile *profile);
	void *look_context;
};

/* Rounds of the block source, and messages that are handled after them. */
struct rounds {
	struct block_source source;
	uint64_t nr; /* rounds begun */
	bool is_open;
	struct message **waiting; /* owned, as is the array */
	size_t nr_waiting, cap_waiting;
	size_t nr_due;		 /* how many of them the open round covers */
	struct serial_list late; /* processes that were found late */
	uint32_t stack_bytes;
};

struct consumer {
	struct profile *profile; /* borrowed, as are the next two */
	struct store_writer *writer;
	struct snapshot_ring *used;
	struct consumer_hooks hooks;
	struct walker walker; /* all but its profile is owned */
	struct sample_sink sink;
	struct table processes, threads;
	struct pid_table threads_by_tid, processes_by_pid;
	struct block_rows *blocks; /* owned */
	struct rounds rounds;
	struct step_sink steps;
	bool is_over;
	struct wait_rows *waits;      /* owned */
	struct serial_list touched;   /* threads sampled since the last flush: few of thousands */
	struct serial_list unwatched; /* processes with stacks walked since the last watch */
	uint64_t restless_until_ns;   /* the latest of all processes */
	struct collector_progress progress;
};

/* An agent sees each row once: rows must not be split, or joined, after that. */
static enum blocks_recorded blocks_recorded(const struct collector_options *options)
{
	if (!options->has_all_blocks)
		return BLOCKS_SAMPLED;
	return options->has_searches || options->look ? BLOCKS_ALL_ALONE : BLOCKS_ALL;
}

struct consumer *consumer_new(const struct collector_options *options, struct snapshot_ring *used)
{
	struct consumer *consumer = xcalloc(1, sizeof(*consumer));

	assert(!options->profile->nr_processes);
	consumer->profile = options->profile;
	consumer->writer = options->writer;
	consumer->used = used;
	consumer->steps = options->steps;
	consumer->rounds.source = options->blocks;
	consumer->blocks = block_rows_new(options->profile, blocks_recorded(options));
	consumer->hooks.add_rows = options->add_rows;
	consumer->hooks.rows_context = options->rows_context;
	consumer->hooks.look = options->look;
	consumer->hooks.look_context = options->look_context;
	consumer->walker = (struct walker){
		.profile = options->profile,
		.unwinder = unwinder_new(options->unwinder, options->max_depth),
		.jit_names = jit_names_new(options->profile),
		.within = options->within
				  ? code_filter_new(options->within, options->profile->modules)
				  : NULL,
	};
	consumer->waits = wait_rows_new(options->profile);
	unwinder_check_each(consumer->walker.unwinder, options->check_unwinder);
	unwinder_end_by(consumer->walker.unwinder, options->ended);
	consumer->sink = (struct sample_sink){.profile = options->profile,
					      .start_ns = options->start_ns,
					      .period_ns = options->period_ns,
					      .is_within = options->within != NULL};
	return consumer;
}

static void table_add(struct table *table, uint32_t serial, void *object)
{
	assert(table->nr == serial);
	ARRAY_GROW(table->at, table->nr, table->cap);
	table->at[table->nr++] = object;
}

/* NULL: it has ended, or there is none. */
static void *table_find(const struct table *table, uint32_t serial)
{
	return serial < table->nr ? table->at[serial] : NULL;
}

/* A message is only ever about a process or thread that has begun, and has not ended. */
static void *table_get(const struct table *table, uint32_t serial)
{
	void *object = table_find(table, serial);

	assert(object);
	return object;
}

static void end_process(struct consumer *consumer, uint32_t serial)
{
	struct process *process = table_find(&consumer->processes, serial);

	if (!process)
		return;
	if (pid_table_get(&consumer->processes_by_pid, process->pid) == process)
		pid_table_remove(&consumer->processes_by_pid, process->pid);
	unwinder_forget_space(consumer->walker.unwinder, process->space);
	space_free(process->space);
	live_maps_release(&process->live_maps);
	free(process);
	consumer->processes.at[serial] = NULL;
}

static void end_thread(struct consumer *consumer, uint32_t serial)
{
	struct thread *thread = table_find(&consumer->threads, serial);

	if (!thread)
		return;
	if (pid_table_get(&consumer->threads_by_tid, thread->tid) == thread)
		pid_table_remove(&consumer->threads_by_tid, thread->tid);
	free(thread->hints);
	free(thread);
	consumer->threads.at[serial] = NULL;
}

void consumer_free(struct consumer *consumer)
{
	if (!consumer)
		return;
	for (uint32_t i = 0; i < consumer->threads.nr; i++)
		end_thread(consumer, i);
	for (uint32_t i = 0; i < consumer->processes.nr; i++)
		end_process(consumer, i);
	block_rows_free(consumer->blocks);
	wait_rows_free(consumer->waits);
	pid_table_release(&consumer->threads_by_tid);
	pid_table_release(&consumer->processes_by_pid);
	for (size_t i = 0; i < consumer->rounds.nr_waiting; i++)
		message_free(consumer->rounds.waiting[i]);
	free(consumer->rounds.waiting);
	free(consumer->rounds.late.at);
	free(consumer->threads.at);
	free(consumer->processes.at);
	free(consumer->touched.at);
	free(consumer->unwatched.at);
	unwind_walk_release(&consumer->walker.walk);
	unwinder_free(consumer->walker.unwinder);
	jit_names_free(consumer->walker.jit_names);
	code_filter_free(consumer->walker.within);
	free(consumer);
}

static void list_add(struct serial_list *list, uint32_t serial)
{
	ARRAY_GROW(list->at, list->nr, list->cap);
	list->at[list->nr++] = serial;
}

/* The kernel's totals include time that was left out. */
static struct cpu_split split_of(const struct consumer *consumer, bool is_known,
				 const struct proc_cpu_split *split)
{
	if (!is_known || consumer->sink.is_within)
		return (struct cpu_split){0};
	return (struct cpu_split){.user_ns = split->user_ns,
				  .system_ns = split->system_ns,
				  .nr_faults = split->nr_faults,
				  .known = true};
}

/* --- names --- */

/* The name of a process is that of its thread-group leader. */
static void name_process(struct consumer *consumer, struct process *process, const char *name)
{
	struct profile *profile = consumer->profile;
	struct str_id id = profile_intern(profile, name);

	profile->processes[process->serial].name = id;
	if (process->has_leader)
		profile->threads[process->main_row.v].name = id;
}

static void name_thread(struct consumer *consumer, struct thread *thread, const char *name)
{
	struct profile *profile = consumer->profile;

	if (thread->tid == thread->process->pid)
		name_process(consumer, thread->process, name);
	else
		profile->threads[thread->samples.row.v].name = profile_intern(profile, name);
}

static void read_name(struct consumer *consumer, struct thread *thread)
{
	const struct process *process = thread->process;
	char name[PROC_COMM_MAX_BYTES];

	if (proc_program_read_comm(process->program, process->pid, thread->tid, name, sizeof(name)))
		name_thread(consumer, thread, name);
}

/* --- processes --- */

/* Members that the message does not have are taken from the parent's row. */
static void add_process_row(struct consumer *consumer, const struct message *message)
{
	const struct message_process *said = &message->body.process;
	struct profile *profile = consumer->profile;
	struct profile_process row = {.parent = PROCESS_NONE};

	if (said->parent != SERIAL_NONE) {
		assert(said->parent < profile->nr_processes);
		row = profile->processes[said->parent];
		row.parent = said->parent;
	}
	row.pid = said->pid;
	if (said->comm)
		row.name = profile_intern(profile, said->comm);
	if (said->exe)
		row.exe = profile_intern(profile, said->exe);
	if (said->command)
		row.command = profile_intern(profile, said->command);
	row.start_ns = samples_profile_time(&consumer->sink, message->time_ns);
	row.end_ns = 0;
	row.split = (struct cpu_split){0};
	profile_add_process(profile, &row);
}

static void handle_process(struct consumer *consumer, const struct message *message)
{
	const struct message_process *said = &message->body.process;
	struct process *parent = table_find(&consumer->processes, said->parent);
	struct process *process = xcalloc(1, sizeof(*process));

	table_add(&consumer->processes, said->serial, process);
	process->serial = said->serial;
	process->pid = said->pid;
	process->program = said->is_gone && parent ? parent->program : said->program;
	process->main_thread = process->former = SERIAL_NONE;
	add_process_row(consumer, message);
	if (said->forked && parent)
		process->space = space_fork(parent->space, said->is_gone ? parent->pid : said->pid);
	else
		process->space = space_new(consumer->profile->modules, said->pid);
	space_is_of_program(process->space, process->program);
	if (said->maps)
		space_update(process->space, said->maps, said->nr_maps_bytes, NULL);
	jit_names_begin(consumer->walker.jit_names, said->pid);
	if (parent && parent->pid == said->pid) {
		parent->is_succeeded = true;
		process->former = parent->serial;
	}
	if (said->pid)
		pid_table_set(&consumer->processes_by_pid, said->pid, process);
	process->is_found_late = said->is_gone;
	process->round = consumer->rounds.nr;
	if (said->is_gone)
		list_add(&consumer->rounds.late, said->serial);
}

static void handle_maps(struct consumer *consumer, const struct message *message)
{
	const struct message_process *said = &message->body.process;
	struct process *process = table_get(&consumer->processes, said->serial);

	if (said->comm)
		name_process(consumer, process, said->comm);
	if (said->maps)
		space_update(process->space, said->maps, said->nr_maps_bytes, NULL);
}

/* A thread row is needed even for a process without a known thread. */
static struct thread_id main_row(struct consumer *consumer, struct process *process)
{
	const struct profile_process *row = &consumer->profile->processes[process->serial];

	if (process->main_thread == SERIAL_NONE && !process->has_leader) {
		process->main_row = profile_add_thread(
			consumer->profile, &(struct profile_thread){.process = process->serial,
								    .tid = process->pid,
								    .name = row->name,
								    .start_ns = row->start_ns});
		process->has_leader = true;
	}
	return process->main_row;
}

static void handle_process_rest(struct consumer *consumer, const struct message *message)
{
	const struct message_process *said = &message->body.process;
	struct process *process = table_get(&consumer->processes, said->serial);
	struct thread *thread = table_find(&consumer->threads, process->main_thread);

	if (thread) /* the samples of a thread are in order */
		samples_emit_held(&consumer->sink, &thread->samples);
	samples_add_unattributed(&consumer->sink, main_row(consumer, process), message->time_ns,
				 &(struct account_weights){.cpu_ns = said->cpu_ns});
}

static void finish_process(struct consumer *consumer, struct process *process, uint64_t time_ns,
			   enum process_end how)
{
	const struct block_source *source = &consumer->rounds.source;

	if (source->end)
		source->end(source->context, consumer, process->serial, time_ns, how);
	if (!process->is_succeeded)
		jit_names_end(consumer->walker.jit_names, process->pid);
	consumer->profile->processes[process->serial].end_ns =
		samples_profile_time(&consumer->sink, time_ns);
}

static void handle_process_end(struct consumer *consumer, const struct message *message)
{
	const struct message_process *said = &message->body.process;
	struct process *process = table_get(&consumer->processes, said->serial);
	struct profile_process *row = &consumer->profile->processes[said->serial];

	finish_process(consumer, process, message->time_ns,
		       said->is_continued ? PROCESS_EXECUTED : PROCESS_ENDED);
	row->split = split_of(consumer, said->has_split, &said->split);
	end_process(consumer, said->serial);
}

/* --- threads --- */

static void note_blocked(struct consumer *consumer, struct thread *thread, bool is_blocked)
{
	consumer->progress.nr_blocked += is_blocked;
	consumer->progress.nr_blocked -= thread->is_blocked;
	thread->is_blocked = is_blocked;
}

static void add_thread_row(struct consumer *consumer, struct thread *thread, uint32_t serial,
			   uint64_t time_ns)
{
	struct process *process = thread->process;
	bool is_leader = thread->tid == process->pid;
	struct profile_thread row = {
		.process = process->serial,
		.tid = thread->tid,
		.name = consumer->profile->processes[process->serial].name,
		.start_ns = samples_profile_time(&consumer->sink, time_ns),
	};

	thread->samples.row = profile_add_thread(consumer->profile, &row);
	if (is_leader || !process->has_leader) {
		process->main_thread = serial;
		process->main_row = thread->samples.row;
		process->has_leader = is_leader;
	}
}

static void handle_thread(struct consumer *consumer, const struct message *message)
{
	const struct message_thread *said = &message->body.thread;
	struct thread *thread = xcalloc(1, sizeof(*thread));

	table_add(&consumer->threads, said->serial, thread);
	thread->process = table_get(&consumer->processes, said->process);
	thread->tid = said->tid;
	thread->hints = said->hints;
	pid_table_set(&consumer->threads_by_tid, said->tid, thread);
	add_thread_row(consumer, thread, said->serial, message->time_ns);
	account_start(&thread->samples.account, &said->clocks);
	consumer->progress.nr_threads++;
	/* The leader is named as its process; by now it may have gone through exec. */
	if (said->name)
		name_thread(consumer, thread, said->name);
	else if (said->tid != thread->process->pid)
		read_name(consumer, thread);
}

static void handle_thread_clocks(struct consumer *consumer, const struct message *message)
{
	const struct message_thread *said = &message->body.thread;
	struct thread *thread = table_get(&consumer->threads, said->serial);

	if (message->kind == MESSAGE_THREAD_BASE)
		account_start(&thread->samples.account, &said->clocks);
	else
		samples_rest(&consumer->sink, &thread->samples, &said->clocks);
}

static struct thread *thread_of(const struct consumer *consumer, const struct process *process,
				pid_t tid)
{
	struct thread *thread = pid_table_get(&consumer->threads_by_tid, tid);

	return thread && thread->process == process ? thread : NULL;
}

/* A thread that waits, in search of a lock's owner. */
struct waiting {
	const struct consumer *consumer;
	const struct process *process;
};

static struct thread_id find_owner(void *context, pid_t tid)
{
	const struct waiting *waiting = context;
	const struct thread *thread = thread_of(waiting->consumer, waiting->process, tid);

	return thread ? thread->samples.row : THREAD_NONE;
}

/* Sets the reason of its last sleep, from now on. The owner may not be known yet. */
static void set_wait(struct consumer *consumer, struct thread *thread, const struct seen_wait *wait)
{
	struct waiting waiting = {.consumer = consumer, .process = thread->process};
	const struct waiting_process of = {.row = thread->process->serial,
					   .pid = thread->process->pid,
					   .space = thread->process->space,
					   .find_thread = find_owner,
					   .context = &waiting};
	uint32_t number = wait_rows_number(consumer->waits, &of, wait);
	bool is_proved =
		!wait->owner || !number ||
		profile_waits(consumer->profile)->rows[number - 1].owner.v != THREAD_NONE.v;

	thread->samples.sleep.sample.wait = number;
	thread->unproved = *wait;
	thread->unproved.object = NULL; /* the message's */
	thread->unproved.is_known = !is_proved;
}

static void prove_owner(struct consumer *consumer, struct thread *thread)
{
	const struct seen_wait wait = thread->unproved;

	if (wait.is_known && thread->samples.sleep.is_held)
		set_wait(consumer, thread, &wait);
}

static void handle_thread_end(struct consumer *consumer, const struct message *message)
{
	const struct message_thread *said = &message->body.thread;
	struct thread *thread = table_get(&consumer->threads, said->serial);
	struct profile_thread *row = &consumer->profile->threads[thread->samples.row.v];

	prove_owner(consumer, thread);
	if (said->has_clocks)
		samples_end(&consumer->sink, &thread->samples, &said->clocks);
	else
		samples_emit_held(&consumer->sink, &thread->samples);
	row->end_ns = samples_profile_time(&consumer->sink, message->time_ns);
	row->split = split_of(consumer, said->has_split, &said->split);
	row->nr_switches = consumer->sink.is_within ? 0 : said->nr_switches;
	note_blocked(consumer, thread, false);
	consumer->progress.nr_threads--;
	end_thread(consumer, said->serial);
}

/* --- samples --- */

static void handle_stack(struct consumer *consumer, struct thread *thread,
			 const struct message_sample *seen)
{
	struct process *process = thread->process;
	struct stack_id stack;

	/* Do not read the map now: the samples that wait after this one belong to the known map. */
	if (!process->maps.is_queued)
		list_add(&consumer->unwatched, process->serial);
	process->maps.is_queued = true;
	stack = walker_walk(&consumer->walker, process->space, &process->maps, seen);
	if (process->maps.restless_until_ns > consumer->restless_until_ns)
		consumer->restless_until_ns = process->maps.restless_until_ns;
	stack_hints_update(thread->hints, &thread->needs, seen->snapshot, &consumer->walker.walk);
	thread->first_sp = seen->snapshot->first_sp;
	thread->thread_pointer = seen->snapshot->thread_pointer;
	thread->advancing.latest = (struct sampled_stack){stack, consumer->walker.walk.end};
	if (consumer->walker.is_outside) {
		samples_leave_out(&consumer->sink, &thread->samples, seen,
				  consumer->walker.walk.end);
		return;
	}
	samples_add(&consumer->sink, &thread->samples, seen, stack, consumer->walker.walk.end);
	if (seen->state == SEEN_BLOCKED)
		set_wait(consumer, thread, &seen->wait);
	consumer->progress.nr_samples++;
}

/* It sleeps on, but another thread has the lock by now. */
static void change_wait(struct consumer *consumer, struct thread *thread,
			const struct seen_wait *wait)
{
	if (!wait->is_known)
		return;
	prove_owner(consumer, thread);
	samples_emit_held(&consumer->sink, &thread->samples);
	set_wait(consumer, thread, wait);
}

static void handle_sample(struct consumer *consumer, struct message *message)
{
	struct message_sample *seen = &message->body.sample;
	struct thread *thread = table_get(&consumer->threads, seen->thread);

	if (!thread->is_touched)
		list_add(&consumer->touched, seen->thread);
	thread->is_touched = true;
	if (seen->slept_until_ns)
		samples_lengthen_sleep(&consumer->sink, &thread->samples, seen);
	if (seen->name)
		name_thread(consumer, thread, seen->name);
	if (!seen->is_new) {
		change_wait(consumer, thread, &seen->wait);
		return;
	}
	note_blocked(consumer, thread, seen->state == SEEN_BLOCKED);
	if (seen->snapshot) {
		handle_stack(consumer, thread, seen);
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
	struct thread *thread = table_find(&consumer->threads, said->thread);
	struct thread_id row =
		thread ? thread->samples.row
		       : main_row(consumer, table_get(&consumer->processes, said->process));

	advance_rows_add(consumer->profile, row, thread ? &thread->advancing : NULL, said,
			 samples_profile_time(&consumer->sink, message->time_ns));
}

static void set_left_out(struct profile *profile, const struct left_out *left_out)
{
	profile_set_counter(profile, "within_dropped_cpu_ns", left_out->cpu_ns);
	profile_set_counter(profile, "within_dropped_blocked_ns", left_out->blocked_ns);
	profile_set_counter(profile, "within_dropped_samples", left_out->nr_samples);
	profile_set_counter(profile, "within_cut_samples", left_out->nr_cut);
	profile_set_counter(profile, "within_unknown_cpu_ns", left_out->unknown_cpu_ns);
}

/* --- memory --- */

/* A thread that no sample has found goes under the name of its process. */
static struct thread_id thread_row_of(struct consumer *consumer, struct process *process, pid_t tid)
{
	const struct thread *thread = thread_of(consumer, process, tid);

	return thread ? thread->samples.row : main_row(consumer, process);
}

static void walk_block(struct consumer *consumer, struct process *process,
		       const struct block_record *record, struct block_seen *place)
{
	const struct message_sample seen = {.snapshot = record->snapshot};
	const struct thread *thread = thread_of(consumer, process, record->tid);
	struct rounds *rounds = &consumer->rounds;

	if (thread) {
		record->snapshot->first_sp = thread->first_sp;
		record->snapshot->thread_pointer = thread->thread_pointer;
	}
	if (!process->maps.is_queued)
		list_add(&consumer->unwatched, process->serial);
	process->maps.is_queued = true;
	place->stack = walker_walk(&consumer->walker, process->space, &process->maps, &seen);
	place->end = (uint8_t)consumer->walker.walk.end;
	if (place->end == STACK_END_BAD_MEMORY && record->snapshot->nr_regions)
		rounds->stack_bytes = (uint32_t)max_u64(rounds->stack_bytes,
							2 * record->snapshot->regions[0].nr_bytes);
}

static void add_block(struct consumer *consumer, struct process *process, struct thread_id thread,
		      const struct block_record *record)
{
	struct block_seen seen = {
		.time_ns = samples_profile_time(&consumer->sink, record->time_ns),
		.thread = thread,
		.maps = &process->live_maps,
		.stack = STACK_EMPTY,
		.end = STACK_END_NOT_TAKEN,
	};

	process->round = consumer->rounds.nr;
	process->last_block_ns = max_u64(process->last_block_ns, record->time_ns);
	if (record->snapshot) {
		walk_block(consumer, process, record, &seen);
		if (block_rows_is_one_of_all(consumer->blocks, record))
			step_sink_tell(&consumer->steps, record->signer, consumer->walker.unwinder,
				       process->space, &consumer->walker.walk);
	}
	block_rows_add(consumer->blocks, record, &seen);
}

void consumer_add_blocks(struct consumer *consumer, const struct block_record *records, size_t nr)
{
	struct process *process = NULL;
	struct thread_id thread = THREAD_NONE;

	for (size_t i = 0; i < nr; i++) {
		const struct block_record *record = &records[i];

		if (!process || process->serial != record->process ||
		    record->tid != records[i - 1].tid) {
			process = table_get(&consumer->processes, record->process);
			thread = thread_row_of(consumer, process, record->tid);
		}
		block_rows_expect(consumer->blocks, record, nr - i);
		add_block(consumer, process, thread, record);
	}
}

uint32_t consumer_find_process(const struct consumer *consumer, pid_t id)
{
	const struct process *process = pid_table_get(&consumer->processes_by_pid, id);
	const struct thread *thread = process ? NULL : pid_table_get(&consumer->threads_by_tid, id);

	if (thread)
		process = thread->process;
	for (const struct process *former = process; former;
	     former = table_find(&consumer->processes, process->former))
		process = former;
	return process ? process->serial : SERIAL_NONE;
}

bool consumer_has_begun(const struct consumer *consumer, uint32_t serial)
{
	return serial < consumer->processes.nr;
}

pid_t consumer_pid_of(const struct consumer *consumer, uint32_t serial)
{
	const struct process *process = table_find(&consumer->processes, serial);

	return process ? process->pid : 0;
}

uint32_t consumer_parent_of_late(const struct consumer *consumer, uint32_t serial)
{
	const struct process *process = table_find(&consumer->processes, serial);

	return process && process->is_found_late ? consumer->profile->processes[serial].parent
						 : SERIAL_NONE;
}

bool consumer_has_thread(const struct consumer *consumer, uint32_t serial, pid_t tid)
{
	const struct thread *thread = pid_table_get(&consumer->threads_by_tid, tid);

	return thread && thread->process->serial == serial;
}

uint32_t consumer_block_stack_bytes(const struct consumer *consumer)
{
	return consumer->rounds.stack_bytes;
}

void consumer_add_search(struct consumer *consumer, const struct block_search *found,
			 const struct searched *searched)
{
	const struct process *process = table_get(&consumer->processes, searched->process);
	const struct block_search_place place = {
		.process = searched->process,
		.time_ns = samples_profile_time(&consumer->sink, searched->time_ns),
		.mark = searched->mark};

	block_rows_search(consumer->blocks, found, &process->live_maps, &place);
}

struct profile *consumer_make_rows(struct consumer *consumer)
{
	block_rows_gather(consumer->blocks);
	return consumer->profile;
}

static void set_counters(const struct consumer *consumer)
{
	struct profile *profile = consumer->profile;

	if (consumer->sink.is_within)
		set_left_out(profile, &consumer->sink.left_out);

	block_rows_count(consumer->blocks);
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

	call->run(call->context, consumer);
	if (call->done)
		sem_post(call->done);
}

static void handle_now(struct consumer *consumer, struct message *message)
{
	switch (message->kind) {
	case MESSAGE_PROCESS:
		handle_process(consumer, message);
		break;
	case MESSAGE_MAPS:
		handle_maps(consumer, message);
		break;
	case MESSAGE_PROCESS_REST:
		handle_process_rest(consumer, message);
		break;
	case MESSAGE_PROCESS_END:
		handle_process_end(consumer, message);
		break;
	case MESSAGE_THREAD:
		handle_thread(consumer, message);
		break;
	case MESSAGE_THREAD_BASE:
	case MESSAGE_THREAD_REST:
		handle_thread_clocks(consumer, message);
		break;
	case MESSAGE_SAMPLE:
		handle_sample(consumer, message);
		break;
	case MESSAGE_ADVANCE:
		handle_advance(consumer, message);
		break;
	case MESSAGE_THREAD_END:
		handle_thread_end(consumer, message);
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

/* --- rounds of the block source --- */

void consumer_handle(struct consumer *consumer, struct message *message)
{
	struct rounds *rounds = &consumer->rounds;
	bool waits = message->kind == MESSAGE_THREAD_END || message->kind == MESSAGE_PROCESS_END ||
		     message->kind == MESSAGE_CALL;

	if (!rounds->source.read || !waits) {
		handle_now(consumer, message);
		return;
	}
	ARRAY_GROW(rounds->waiting, rounds->nr_waiting, rounds->cap_waiting);
	rounds->waiting[rounds->nr_waiting++] = message;
}

bool consumer_has_waiting(const struct consumer *consumer)
{
	return consumer->rounds.nr_waiting || consumer->rounds.late.nr;
}

/* A process that was found late has ended, and its records with it. */
static void end_late(struct consumer *consumer)
{
	struct serial_list *late = &consumer->rounds.late;
	size_t nr_left = 0;

	for (size_t i = 0; i < late->nr; i++) {
		struct process *process = table_get(&consumer->processes, late->at[i]);

		if (process->round == consumer->rounds.nr) {
			late->at[nr_left++] = late->at[i];
			continue;
		}
		finish_process(consumer, process, process->last_block_ns + 1, PROCESS_FOUND_LATE);
		end_process(consumer, late->at[i]);
	}
	late->nr = nr_left;
}

static void end_round(struct consumer *consumer)
{
	struct rounds *rounds = &consumer->rounds;

	rounds->is_open = false;
	for (size_t i = 0; i < rounds->nr_due; i++)
		handle_now(consumer, rounds->waiting[i]);
	rounds->nr_waiting -= rounds->nr_due;
	memmove(rounds->waiting, rounds->waiting + rounds->nr_due,
		rounds->nr_waiting * sizeof(struct message *));
	end_late(consumer);
}

enum blocks_read consumer_read_blocks(struct consumer *consumer)
{
	struct rounds *rounds = &consumer->rounds;
	bool begins = !rounds->is_open;
	enum blocks_read outcome;

	if (!rounds->source.read)
		return BLOCKS_NONE;
	if (begins) {
		rounds->nr++;
		rounds->nr_due = rounds->nr_waiting;
	}
	rounds->is_open = true;
	outcome = rounds->source.read(rounds->source.context, consumer, begins);
	if (outcome == BLOCKS_NONE || outcome == BLOCKS_SOME)
		end_round(consumer);
	return outcome;
}

void consumer_mark(struct consumer *consumer, uint64_t time_ns)
{
	block_rows_mark(consumer->blocks, samples_profile_time(&consumer->sink, time_ns));
}

/* --- now and then --- */

uint64_t consumer_watch_maps(struct consumer *consumer)
{
	for (size_t i = 0; i < consumer->unwatched.nr; i++) {
		struct process *process =
			table_find(&consumer->processes, consumer->unwatched.at[i]);

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
	unwinder_bound(consumer->walker.unwinder, WORK_AFTER_END);
}

/* Only touched threads hold a sample back. */
static void flush_threads(struct consumer *consumer)
{
	for (size_t i = 0; i < consumer->touched.nr; i++) {
		struct thread *thread = table_find(&consumer->threads, consumer->touched.at[i]);

		if (!thread) /* it has ended since */
			continue;
		prove_owner(consumer, thread);
		samples_emit_held(&consumer->sink, &thread->samples);
		thread->is_touched = false;
	}
	consumer->touched.nr = 0;
}

int consumer_flush(struct consumer *consumer, struct err *err)
{
	int status;

	flush_threads(consumer);
	jit_names_catch_up(consumer->walker.jit_names);
	wait_rows_catch_up(consumer->waits);
	if (consumer->is_over || block_rows_is_gathering_due(consumer->blocks))
		block_rows_gather(consumer->blocks);
	if (consumer->hooks.add_rows)
		consumer->hooks.add_rows(consumer->hooks.rows_context, consumer->profile);
	if (consumer->hooks.look)
		consumer->hooks.look(consumer->hooks.look_context, consumer->profile);
	status = store_writer_flush(consumer->writer, consumer->profile, err);
	profile_drop_samples(consumer->profile);
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

struct collector_progress consumer_progress(const struct consumer *consumer)
{
	struct collector_progress progress = consumer->progress;

	progress.nr_observed = consumer->sink.nr_samples;
	return progress;
}
