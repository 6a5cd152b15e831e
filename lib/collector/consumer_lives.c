// SPDX-License-Identifier: GPL-2.0-or-later
/* Handles messages about processes and threads: their births, names, waits and ends. */
#include <assert.h>

#include "base/alloc.h"
#include "collector/consumer_priv.h"
#include "collector/message.h"
#include "jit/jit_names.h"
#include "mapping/space.h"
#include "proc/program.h"
#include "proc/read.h"
#include "profile/profile.h"
#include "wait/wait_rows.h"

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

void consumer_name_thread(struct consumer *consumer, struct thread *thread, const char *name)
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
		consumer_name_thread(consumer, thread, name);
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
	row.nr_unseen = said->nr_unseen;
	row.stands_for_unseen = false;
	row.children_ns = 0;
	profile_add_process(profile, &row);
}

void consumer_handle_process(struct consumer *consumer, const struct message *message)
{
	const struct message_process *said = &message->body.process;
	struct process *parent = serial_table_find(&consumer->processes, said->parent);
	struct process *process = xcalloc(1, sizeof(*process));

	serial_table_add(&consumer->processes, said->serial, process);
	process->serial = said->serial;
	process->pid = said->pid;
	process->program = said->is_gone && parent ? parent->program : said->program;
	process->main_thread = process->former = SERIAL_NONE;
	process->unseen_row = THREAD_NONE;
	add_process_row(consumer, message);
	if (said->is_gone && parent)
		process->space = space_share(parent->space);
	else if (said->forked && parent)
		process->space = space_fork(parent->space, said->pid);
	else
		process->space = space_new(consumer->profile->modules, said->pid);
	space_is_of_program(process->space, process->program);
	if (said->maps)
		space_update(process->space, said->maps, said->nr_maps_bytes, NULL);
	if (!said->is_gone)
		consumer_look_for_interpreter(consumer, process);
	jit_names_begin(consumer->walker.jit_names, said->pid);
	if (parent && parent->pid == said->pid) {
		parent->is_succeeded = true;
		process->former = parent->serial;
	}
	if (said->pid)
		pid_table_set(&consumer->processes_by_pid, said->pid, process);
	process->is_found_late = said->is_gone;
	process->round = consumer->rounds.nr;
	process->last_block_ns = message->time_ns;
	if (said->is_gone)
		serial_list_add(&consumer->rounds.late, said->serial);
}

void consumer_handle_maps(struct consumer *consumer, const struct message *message)
{
	const struct message_process *said = &message->body.process;
	struct process *process = serial_table_get(&consumer->processes, said->serial);

	if (said->comm)
		name_process(consumer, process, said->comm);
	if (said->maps)
		space_update(process->space, said->maps, said->nr_maps_bytes, NULL);
	consumer_look_for_interpreter(consumer, process);
}

struct thread_id consumer_main_row(struct consumer *consumer, struct process *process)
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

/*
 * The row of all threads that ended before a sample found them, or were not read at their end: up
 * to time_ns.
 */
static struct thread_id unseen_row(struct consumer *consumer, struct process *process,
				   uint64_t time_ns)
{
	struct profile *profile = consumer->profile;
	struct profile_thread row = {.process = process->serial,
				     .name = profile_intern(profile, SHORT_LIVED_NAME),
				     .start_ns = profile->processes[process->serial].start_ns};

	if (process->unseen_row.v == THREAD_NONE.v)
		process->unseen_row = profile_add_thread(profile, &row);
	profile->threads[process->unseen_row.v].end_ns =
		samples_profile_time(&consumer->sink, time_ns);
	return process->unseen_row;
}

void consumer_handle_process_rest(struct consumer *consumer, const struct message *message)
{
	const struct message_process *said = &message->body.process;
	struct process *process = serial_table_get(&consumer->processes, said->serial);
	struct thread *thread = serial_table_find(&consumer->threads, process->main_thread);

	if (thread && !said->had_short_threads) /* the samples of a thread are in order */
		samples_emit_held(&consumer->sink, &thread->samples);
	samples_add_unattributed(
		&consumer->sink,
		said->had_short_threads ? unseen_row(consumer, process, message->time_ns)
					: consumer_main_row(consumer, process),
		message->time_ns, &(struct account_weights){.cpu_ns = said->cpu_ns});
}

void consumer_finish_process(struct consumer *consumer, struct process *process, uint64_t time_ns,
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

void consumer_handle_process_end(struct consumer *consumer, const struct message *message)
{
	const struct message_process *said = &message->body.process;
	struct process *process = serial_table_get(&consumer->processes, said->serial);
	struct profile_process *row = &consumer->profile->processes[said->serial];

	consumer_finish_process(consumer, process, message->time_ns,
				said->is_continued ? PROCESS_EXECUTED : PROCESS_ENDED);
	row->split = split_of(consumer, said->has_split, &said->split);
	row->stands_for_unseen = said->stands_for_unseen;
	row->children_ns = said->children_ns;
	consumer_end_process(consumer, said->serial);
}

/* --- threads --- */

void consumer_note_blocked(struct consumer *consumer, struct thread *thread, bool is_blocked)
{
	consumer->progress.nr_blocked += is_blocked;
	consumer->progress.nr_blocked -= thread->is_blocked;
	thread->is_blocked = is_blocked;
}

void consumer_note_functions(struct consumer *consumer, struct thread *thread, bool lacks)
{
	consumer->nr_lacking += lacks;
	consumer->nr_lacking -= thread->lacks_functions;
	thread->lacks_functions = lacks;
}

static void add_thread_row(struct consumer *consumer, struct thread *thread, uint32_t serial,
			   uint64_t time_ns)
{
	struct process *process = thread->process;
	bool is_leader = thread->tid == process->pid;
	uint32_t known;
	struct profile_thread row = {
		.process = process->serial,
		.tid = thread->tid,
		.name = consumer->profile->processes[process->serial].name,
		.start_ns = samples_profile_time(&consumer->sink, time_ns),
	};

	if (key_map_take(&consumer->writer_rows, process->serial, (uint64_t)thread->tid, &known))
		thread->samples.row.v = known;
	else
		thread->samples.row = profile_add_thread(consumer->profile, &row);
	if (is_leader || !process->has_leader) {
		process->main_thread = serial;
		process->main_row = thread->samples.row;
		process->has_leader = is_leader;
	}
}

void consumer_handle_thread(struct consumer *consumer, const struct message *message)
{
	const struct message_thread *said = &message->body.thread;
	struct thread *thread = xcalloc(1, sizeof(*thread));

	serial_table_add(&consumer->threads, said->serial, thread);
	thread->process = serial_table_get(&consumer->processes, said->process);
	thread->tid = said->tid;
	thread->hints = said->hints;
	pid_table_set(&consumer->threads_by_tid, said->tid, thread);
	add_thread_row(consumer, thread, said->serial, message->time_ns);
	account_start(&thread->samples.account, &said->clocks);
	consumer->progress.nr_threads++;
	/* The leader is named as its process; by now it may have gone through exec. */
	if (said->name)
		consumer_name_thread(consumer, thread, said->name);
	else if (said->tid != thread->process->pid)
		read_name(consumer, thread);
}

void consumer_handle_thread_clocks(struct consumer *consumer, const struct message *message)
{
	const struct message_thread *said = &message->body.thread;
	struct thread *thread = serial_table_get(&consumer->threads, said->serial);

	if (message->kind == MESSAGE_THREAD_BASE)
		account_start(&thread->samples.account, &said->clocks);
	else
		samples_rest(&consumer->sink, &thread->samples, &said->clocks);
}

/* --- waits --- */

/* A thread that waits, in search of a lock's owner. */
struct waiting {
	const struct consumer *consumer;
	const struct process *process;
};

static struct thread_id find_owner(void *context, pid_t tid)
{
	const struct waiting *waiting = context;
	const struct thread *thread = consumer_thread_of(waiting->consumer, waiting->process, tid);

	return thread ? thread->samples.row : THREAD_NONE;
}

/* Forget the threads that wait for a known owner by now, or have ended. */
static void drop_proved(struct consumer *consumer)
{
	struct serial_list *list = &consumer->unproved;
	size_t kept = 0;

	for (size_t i = 0; i < list->nr; i++) {
		struct thread *thread = serial_table_find(&consumer->threads, list->at[i]);

		if (thread && thread->unproved.is_known)
			list->at[kept++] = list->at[i];
		else if (thread)
			thread->is_listed = false;
	}
	list->nr = kept;
}

void consumer_list_unproved(struct consumer *consumer, struct thread *thread, uint32_t serial)
{
	if (!thread->unproved.is_known || thread->is_listed)
		return;
	if (consumer->unproved.nr >= UNPROVED_MAX)
		drop_proved(consumer);
	if (consumer->unproved.nr >= UNPROVED_MAX)
		return;
	thread->is_listed = true;
	serial_list_add(&consumer->unproved, serial);
}

void consumer_set_wait(struct consumer *consumer, struct thread *thread,
		       const struct seen_wait *wait)
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

/*
 * A thread that others wait for ends: they may have begun to wait before it was met, and go on only
 * after its end.
 */
static void prove_waits_for(struct consumer *consumer, const struct thread *owner)
{
	struct serial_list *list = &consumer->unproved;

	if (!list->nr)
		return;
	for (size_t i = 0; i < list->nr; i++) {
		struct thread *thread = serial_table_find(&consumer->threads, list->at[i]);

		if (thread && thread->unproved.is_known && thread->process == owner->process &&
		    thread->unproved.owner == owner->tid)
			consumer_prove_owner(consumer, thread);
	}
	drop_proved(consumer);
}

void consumer_prove_owner(struct consumer *consumer, struct thread *thread)
{
	const struct seen_wait wait = thread->unproved;

	if (wait.is_known && thread->samples.sleep.is_held)
		consumer_set_wait(consumer, thread, &wait);
}

void consumer_handle_thread_end(struct consumer *consumer, const struct message *message)
{
	const struct message_thread *said = &message->body.thread;
	struct thread *thread = serial_table_get(&consumer->threads, said->serial);
	struct profile_thread *row = &consumer->profile->threads[thread->samples.row.v];

	consumer_prove_owner(consumer, thread);
	prove_waits_for(consumer, thread);
	if (said->has_clocks)
		samples_end(&consumer->sink, &thread->samples, &said->clocks);
	else
		samples_emit_held(&consumer->sink, &thread->samples);
	row->end_ns = samples_profile_time(&consumer->sink, message->time_ns);
	row->split = split_of(consumer, said->has_split, &said->split);
	row->nr_switches = consumer->sink.is_within ? 0 : said->nr_switches;
	row->stands_for_unseen = said->stands_for_unseen;
	row->was_missed = said->was_missed;
	consumer_note_blocked(consumer, thread, false);
	consumer_note_functions(consumer, thread, false);
	consumer->progress.nr_threads--;
	consumer_end_thread(consumer, said->serial);
}
