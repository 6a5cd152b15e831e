// SPDX-License-Identifier: GPL-2.0-or-later
/* The sampler's records of processes and threads, and their clocks. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "collector/wanted_hints.h"
#include "proc/program.h"
#include "proc/read.h"
#include "sampler/dues_priv.h"
#include "sampler/guard_priv.h"
#include "sampler/publish_priv.h"
#include "sampler/sampler_priv.h"
#include "wait/descriptors.h"

/* Enough for nearly all stacks; a walk that needs more raises it. */
#define FIRST_STACK_BYTES (256u * 1024)

static struct account_clocks account_clocks_at(const struct proc_schedstat *clocks,
					       uint64_t time_ns)
{
	return (struct account_clocks){
		.time_ns = time_ns, .cpu_ns = clocks->cpu_ns, .runq_ns = clocks->runq_ns};
}

static char *read_comm(const struct roster_process *process)
{
	char name[PROC_COMM_MAX_BYTES];

	return proc_program_read_comm(process->program, process->pid, process->pid, name,
				      sizeof(name))
		       ? xstrdup(name)
		       : NULL;
}

/* Do its clocks, or those of the program that it has left by an exec, count from 0? */
static bool is_born_in_recording(const struct roster_process *process)
{
	return process->origin != ROSTER_RUNNING && process->origin != ROSTER_JOINED_RUNNING;
}

bool book_counts_all(const struct sampler *sampler)
{
	return !sampler->options.threads && !sampler->options.no_cpu;
}

/* Note the CPU time before the counted part. */
static void begin_cpu(const struct sampler *sampler, struct sampled_process *process,
		      const struct process_cpu *former)
{
	struct process_cpu *cpu = &process->cpu;
	struct proc_cpu_split split = {0};
	pid_t pid = process->roster->pid;
	bool has_split = true;

	roster_process_cpu_ns(process->roster, &cpu->latest_ns);
	/* After an exec the new program continues where the former one was covered. */
	if (former)
		cpu->base_ns = former->base_ns + former->covered_ns + former->handed_out_ns;
	else if (!is_born_in_recording(process->roster))
		cpu->base_ns = cpu->latest_ns;
	if (cpu->base_ns)
		has_split = proc_read_cpu_split(pid, 0, &split);
	cpu->counts = sampler->session->counting;
	/* If some of its threads are not counted, the process' totals are not those of the others.
	 */
	cpu->split.lost = !book_counts_all(sampler);
	cpu->split.rests = !cpu->counts;
	if (cpu->counts)
		cpu_split_meter_begin(&cpu->split, has_split ? &split : NULL);
}

static void process_born(void *context, struct roster_process *process,
			 struct roster_process *parent, bool is_exec)
{
	struct sampler *sampler = context;
	struct sampled_process *former = parent ? parent->owner : NULL;
	uint64_t now_ns = clock_monotonic_ns();
	struct message *message = message_new(MESSAGE_PROCESS, now_ns);
	struct sampled_process *record = xcalloc(1, sizeof(*record));
	struct message_process *about = &message->body.process;

	record->serial = sampler->next_process++;
	record->roster = process;
	record->start_ns = record->read_ns = now_ns;
	record->due.of = record;
	process->owner = record;
	about->serial = record->serial;
	about->pid = process->pid;
	about->program = process->program;
	about->parent = former ? former->serial : SERIAL_NONE;
	/*
	 * Between fork and exec it has its parent's program and mappings. If it has ended
	 * meanwhile, profc does not know whether it reached its exec: all that remains are stacks
	 * from before, and a name.
	 */
	record->is_forked = former && !is_exec && process->program == parent->program;
	record->hints = process_hints_new(record->is_forked ? former->hints : NULL);
	about->forked = record->is_forked || (former && !is_exec && !process->program);
	if (!about->forked)
		maps_read(sampler, message, process->pid);
	if (!record->is_forked) {
		about->comm = read_comm(process);
		about->exe = proc_exe(process->pid);
		about->command = proc_command_line(process->pid);
	}
	begin_cpu(sampler, record, is_exec ? &former->cpu : NULL);
	advances_begin_process(&sampler->advances, record, is_exec ? former : NULL,
			       is_born_in_recording(process));
	if (is_exec) {
		record->met.nr = former->met.nr;
		record->children_ns = former->children_ns;
		former->cpu.is_continued = true;
		former->cpu.counts = false;
	}
	probing_born(sampler, about, process->origin);
	collector_publish(sampler->collector, message);
	due_queue_put(&sampler->clocks.due, &record->due, now_ns);
}

static struct message *message_about(enum message_kind kind, const struct sampled_thread *thread,
				     uint64_t now_ns)
{
	struct message *message = message_new(kind, now_ns);
	struct message_thread *about = &message->body.thread;

	about->serial = thread->serial;
	about->process = thread->process->serial;
	about->tid = thread->roster->tracee.tid;
	about->hints = thread->hints;
	about->clocks = account_clocks_at(&thread->clocks, now_ns);
	about->has_clocks = true;
	return message;
}

/* The clocks of a thread as its counted time began. */
static struct proc_schedstat base_of(const struct sampled_thread *thread, bool is_new,
				     const struct proc_schedstat *now)
{
	const struct process_cpu *cpu = &thread->process->cpu;
	struct proc_schedstat base = *now;

	/* After an exec, time not covered yet belongs to the new program. */
	if (!is_new && is_born_in_recording(thread->process->roster))
		base.cpu_ns -= min_u64(base.cpu_ns,
				       cpu->latest_ns - min_u64(cpu->base_ns, cpu->latest_ns));
	else if (is_new)
		base.cpu_ns = base.runq_ns = 0;
	return base;
}

/* False, without a reading, if the thread has used less than a tick of the kernel. */
static bool read_split(const struct sampled_thread *thread, uint64_t since_cpu_ns,
		       struct proc_cpu_split *split)
{
	const struct tracee *tracee = &thread->roster->tracee;

	return thread->clocks.cpu_ns >= since_cpu_ns + PROC_CPU_SPLIT_LEAST_NS &&
	       proc_read_cpu_split(tracee->tgid, tracee->tid, split);
}

static void begin_split(struct sampled_thread *thread)
{
	struct proc_cpu_split now = {0};
	bool is_known =
		thread->clocks.cpu_ns < PROC_CPU_SPLIT_LEAST_NS || read_split(thread, 0, &now);

	cpu_split_meter_begin(&thread->split, is_known ? &now : NULL);
	thread->split_read.from_cpu_ns = thread->clocks.cpu_ns;
}

static void rest_split(struct sampled_thread *thread)
{
	struct proc_cpu_split now;
	bool is_known;

	if (thread->split.rests)
		return;
	is_known = read_split(thread, thread->split_read.from_cpu_ns, &now);
	if (!is_known) {
		now = thread->split_read.seen;
		is_known = proc_cpu_split_covers(&now, thread->clocks.cpu_ns);
	}
	cpu_split_meter_rest(&thread->split, is_known ? &now : NULL,
			     thread->clocks.cpu_ns - min_u64(thread->split_read.from_cpu_ns,
							     thread->clocks.cpu_ns));
}

static bool has_begun_in_tick(const struct sampler *sampler, const struct sampled_process *process)
{
	return sampler->tick.now_ns && process->start_ns >= sampler->tick.now_ns;
}

static void thread_born(void *context, struct roster_thread *roster, bool is_new)
{
	struct sampler *sampler = context;
	struct sampled_thread *thread = xcalloc(1, sizeof(*thread));
	uint64_t now_ns = clock_monotonic_ns();
	struct proc_schedstat now = {0};
	struct message *message;

	/* If it cannot be read any more, it was about to end. */
	if (!tracee_clocks(&roster->tracee, &now) || now.pcount)
		thread->met.born_ns = now_ns;
	thread->serial = sampler->next_thread++;
	thread->process = roster->process->owner;
	thread->process->cpu.had_threads |= roster->process->nr_threads > 1;
	thread->roster = roster;
	thread->cpu = -1;
	thread->nr_arrivals = is_new ? now.pcount : 0;
	thread->is_chosen = book_counts_all(sampler);
	thread->published_ns = thread->read_ns = now_ns;
	thread->hints = thread_hints_new(thread->process->hints);
	atomic_init(&thread->hints->max_stack_bytes, FIRST_STACK_BYTES);
	thread->due.of = thread;
	roster->owner = thread;
	guard_new_thread(thread, sampler->session->rights.sees_kernel_stacks);
	advances_begin_thread(&sampler->advances, thread, is_new, now.cpu_ns);
	thread->clocks = base_of(thread, is_new, &now);
	thread->split.rests = !sampler->session->counting;
	if (!thread->split.rests)
		begin_split(thread);
	if (!thread->split.rests && is_new)
		thread->split.nr_switches = now.pcount;
	message = message_about(MESSAGE_THREAD, thread, now_ns - (is_new ? now.cpu_ns : 0));
	collector_publish(sampler->collector, message);
	/*
	 * The tick that finds a birth or an exec samples it as well: later ticks find mostly
	 * threads that live long. It samples them first: others will still be there.
	 */
	due_put(sampler, thread, is_new || has_begun_in_tick(sampler, thread->process), 0);
}

void book_note_clocks(struct sampled_thread *thread, const struct proc_schedstat *clocks,
		      uint64_t now_ns)
{
	if (clocks->cpu_ns > thread->clocks.cpu_ns)
		thread->process->cpu.covered_ns += clocks->cpu_ns - thread->clocks.cpu_ns;
	if (clocks->pcount > thread->clocks.pcount && !thread->split.rests)
		thread->split.nr_switches += clocks->pcount - thread->clocks.pcount;
	thread->clocks = *clocks;
	thread->read_ns = now_ns;
}

static void meet(struct meetings *met, uint64_t tick_ns)
{
	met->nr += met->last_ns != tick_ns;
	met->last_ns = tick_ns;
}

void book_met(struct sampled_thread *thread, uint64_t tick_ns)
{
	meet(&thread->met, tick_ns);
	meet(&thread->process->met, tick_ns);
}

void book_ran(struct sampled_thread *thread)
{
	thread->met.ran_ns = thread->met.last_ns;
	thread->process->met.ran_ns = thread->process->met.last_ns;
}

void book_missed(struct sampled_thread *thread)
{
	thread->met.missed_ns = thread->met.last_ns;
}

/*
 * Would the time around its last sample be unknown without the tick of that? If its clock was not
 * read after that tick, all later time is; if no other tick met it, all. See profile/short_lives.h.
 */
static bool stands_for_unseen(const struct meetings *met, bool was_read)
{
	uint64_t found_ns = max_u64(met->ran_ns, met->missed_ns);

	return found_ns && (met->nr == 1 || (!was_read && met->last_ns == found_ns));
}

/* CPU time on the clock of the process, less that of its threads and that already published. */
static uint64_t uncovered_ns(struct sampled_process *process)
{
	struct process_cpu *cpu = &process->cpu;
	uint64_t known_ns = cpu->base_ns + cpu->covered_ns + cpu->handed_out_ns;

	roster_process_cpu_ns(process->roster, &cpu->latest_ns);
	return cpu->latest_ns > known_ns ? cpu->latest_ns - known_ns : 0;
}

/* Give credit for stops: its threads together may lose a part of the CPU time of the process. */
void book_credit(struct sampler *sampler, struct sampled_process *process)
{
	struct process_cpu *cpu = &process->cpu;
	uint64_t from_ns = max_u64(cpu->credited_ns, cpu->base_ns);
	uint64_t to_ns = max_u64(cpu->latest_ns, cpu->base_ns + cpu->covered_ns);

	if (to_ns <= from_ns)
		return;
	governor_credit(&sampler->governor, to_ns - from_ns);
	cpu->credited_ns = to_ns;
}

/* A smaller rest is time that passed between two readings. */
#define REST_LEAST_NS (50 * NS_PER_US)

static void publish_rest(struct sampler *sampler, struct sampled_process *process, uint64_t rest_ns,
			 uint64_t now_ns)
{
	struct message *message;

	if (rest_ns < REST_LEAST_NS || !process->cpu.counts || !book_counts_all(sampler))
		return;
	process->cpu.handed_out_ns += rest_ns;
	process->cpu.rest_read_ns = now_ns;
	message = message_new(MESSAGE_PROCESS_REST, now_ns);
	message->body.process.serial = process->serial;
	message->body.process.pid = process->roster->pid;
	message->body.process.cpu_ns = rest_ns;
	message->body.process.had_short_threads = process->cpu.had_short_threads;
	collector_publish(sampler->collector, message);
}

/* By how much the clocks of its threads have advanced since they were last read. */
static uint64_t unread_ns(const struct sampled_process *process)
{
	struct proc_schedstat clocks;
	uint64_t sum_ns = 0;

	for (struct roster_thread *roster = process->roster->threads; roster;
	     roster = roster->next) {
		const struct sampled_thread *thread = roster->owner;

		if (tracee_clocks(&roster->tracee, &clocks))
			sum_ns += clocks.cpu_ns - min_u64(clocks.cpu_ns, thread->clocks.cpu_ns);
	}
	return sum_ns;
}

/*
 * A recorder that keeps the last seconds, and what is sent each minute, are to have their part. To
 * read the clocks of all threads takes some microseconds each: at most a hundredth of the time.
 */
#define REST_PAUSE_NS NS_PER_SEC
#define REST_EACH_NS  NS_PER_MS

void book_see_rest(struct sampler *sampler, struct sampled_process *process, uint64_t now_ns)
{
	struct process_cpu *cpu = &process->cpu;
	uint64_t pause_ns = max_u64(REST_PAUSE_NS, process->roster->nr_threads * REST_EACH_NS);
	uint64_t rest_ns;

	if (!cpu->had_short_threads || now_ns < cpu->rest_read_ns + pause_ns)
		return;
	/* The clock of the process first: what threads use meanwhile is theirs. */
	rest_ns = uncovered_ns(process);
	cpu->rest_read_ns = now_ns;
	if (rest_ns >= REST_LEAST_NS)
		publish_rest(sampler, process, rest_ns - min_u64(rest_ns, unread_ns(process)),
			     now_ns);
}

/*
 * Read it before the process ends: each time its CPU time has grown by this part, at least a tick.
 * The kernel sums up the times of all threads for that: one more tick for so many.
 */
#define SPLIT_PART    32
#define SPLIT_THREADS 256

void book_see_split(struct sampled_process *process)
{
	struct process_cpu *cpu = &process->cpu;
	uint64_t nr_ticks = 1 + process->roster->nr_threads / SPLIT_THREADS;
	uint64_t pause_ns =
		max_u64(cpu->latest_ns / SPLIT_PART, nr_ticks * PROC_CPU_SPLIT_LEAST_NS);

	if (cpu->latest_ns >= cpu->split_seen_ns + pause_ns &&
	    proc_read_cpu_split(process->roster->pid, 0, &cpu->split_seen))
		cpu->split_seen_ns = cpu->latest_ns;
}

void book_see_children(struct sampled_process *process, const struct proc_stat *stat)
{
	process->children_ns = max_u64(process->children_ns, proc_cpu_of_children(stat));
}

/* False if it was reaped. */
static bool read_last_stat(struct sampled_process *process, struct proc_cpu_split *split)
{
	struct proc_stat stat;

	if (!proc_read_process_stat(process->roster->pid, &stat) ||
	    stat.start_ticks != process->roster->start_ticks)
		return false;
	*split = proc_cpu_split_of_stat(&stat);
	book_see_children(process, &stat);
	return true;
}

/* For a reaped process: the larger of its last reading and the sum of its ended threads. */
static bool last_split(const struct process_cpu *cpu, struct proc_cpu_split *split)
{
	*split = cpu->split.base;
	proc_cpu_split_add(split, &cpu->split_of_threads);
	if (proc_cpu_split_sum(&cpu->split_seen) > proc_cpu_split_sum(split))
		*split = cpu->split_seen;
	return proc_cpu_split_sum(split) > proc_cpu_split_sum(&cpu->split.base);
}

static void end_cpu(struct sampler *sampler, struct sampled_process *process, uint64_t now_ns)
{
	struct process_cpu *cpu = &process->cpu;
	struct proc_cpu_split now;

	publish_rest(sampler, process, uncovered_ns(process), now_ns);
	book_credit(sampler, process);
	if (cpu->counts) {
		bool is_known = read_last_stat(process, &now);

		if (!is_known)
			is_known = last_split(cpu, &now);
		cpu_split_meter_rest(&cpu->split, is_known ? &now : NULL,
				     cpu->latest_ns - min_u64(cpu->base_ns, cpu->latest_ns));
		if (book_counts_all(sampler))
			advances_publish_rest(&sampler->advances, process, now_ns);
	}
	cpu->counts = false;
}

/* If the process never had another thread, the rest on its clock is this thread's. */
static void add_last_cpu(struct sampled_thread *thread)
{
	struct sampled_process *process = thread->process;
	uint64_t rest_ns;

	if (process->roster->threads || process->cpu.had_threads || !process->cpu.counts ||
	    !thread->is_chosen)
		return;
	rest_ns = uncovered_ns(process);
	thread->clocks.cpu_ns += rest_ns;
	process->cpu.covered_ns += rest_ns;
}

void book_free_thread(struct sampled_thread *thread)
{
	roster_release_thread(thread->roster);
	seen_wait_release(&thread->sleep.wait);
	free(thread->advances);
	free(thread);
}

/* Else what a process has beyond the clocks of its threads is but what they used at last. */
#define SHORT_TICKS 8

static bool is_short(const struct sampled_thread *thread)
{
	return thread->roster->tracee.tid != thread->process->roster->pid &&
	       thread->met.nr <= SHORT_TICKS;
}

static void thread_gone(void *context, struct roster_thread *roster)
{
	struct sampler *sampler = context;
	struct sampled_thread *thread = roster->owner;
	uint64_t now_ns = clock_monotonic_ns();
	struct proc_schedstat clocks;
	struct message *message;
	/* After an exec, its files show the clocks of the new program. */
	bool is_readable =
		!thread->process->cpu.is_continued && tracee_clocks(&roster->tracee, &clocks);

	thread->process->met.was_read_last = is_readable;
	thread->process->cpu.had_short_threads |= is_short(thread);
	if (is_readable)
		book_note_clocks(thread, &clocks, now_ns);
	add_last_cpu(thread);
	if (is_readable && sampler->session->counting)
		publish_may_sleep_on(sampler, thread, &clocks, now_ns);
	else if (!is_readable && !thread->process->cpu.is_continued)
		publish_slept_to_end(thread, now_ns);
	publish_sleep(sampler, thread);
	rest_split(thread);
	advances_end_thread(&sampler->advances, thread, now_ns, is_readable,
			    sampler->session->counting && thread->is_chosen);
	message = message_about(MESSAGE_THREAD_END, thread, now_ns);
	/* As last read: its later CPU time is part of the rest of its process. */
	message->body.thread.has_clocks = sampler->session->counting && thread->is_chosen;
	message->body.thread.clocks.time_ns = thread->read_ns;
	message->body.thread.has_split =
		cpu_split_meter_sum(&thread->split, &message->body.thread.split);
	message->body.thread.nr_switches = thread->split.nr_switches;
	message->body.thread.stands_for_unseen = sampler->session->counting &&
						 !thread->process->cpu.is_continued &&
						 stands_for_unseen(&thread->met, is_readable);
	message->body.thread.was_missed = message->body.thread.stands_for_unseen &&
					  thread->met.missed_ns > thread->met.ran_ns;
	proc_cpu_split_add(&thread->process->cpu.split_of_threads, &message->body.thread.split);
	collector_publish(sampler->collector, message);
	due_forget(sampler, thread);
	thread->hints = NULL; /* the collector owns them now */
	if (thread->visitor)
		thread->is_gone = true; /* freed when the visit is over */
	else
		book_free_thread(thread);
}

/* The end of the recording is the same for all processes that are still alive then. */
static uint64_t end_of(const struct sampler *sampler, const struct roster_process *roster,
		       uint64_t now_ns)
{
	if (roster->dead_ns)
		return roster->dead_ns;
	return sampler->session->ended_ns ? sampler->session->ended_ns : now_ns;
}

/* Its clock can be read until its parent has reaped it. */
static bool process_stands(const struct sampler *sampler, const struct sampled_process *process)
{
	uint64_t cpu_ns;
	bool was_read =
		process->met.was_read_last || roster_process_cpu_ns(process->roster, &cpu_ns);

	return sampler->session->counting && !process->cpu.is_continued &&
	       stands_for_unseen(&process->met, was_read);
}

static void process_gone(void *context, struct roster_process *roster)
{
	struct sampler *sampler = context;
	struct sampled_process *process = roster->owner;
	uint64_t now_ns = clock_monotonic_ns();
	struct message *message = message_new(MESSAGE_PROCESS_END, end_of(sampler, roster, now_ns));

	end_cpu(sampler, process, now_ns);
	if (!process->cpu.is_continued)
		sampler->session->ended_cpu_ns += max_u64(
			process->cpu.latest_ns, process->cpu.base_ns + process->cpu.covered_ns);
	message->body.process.serial = process->serial;
	message->body.process.pid = roster->pid;
	message->body.process.is_continued = process->cpu.is_continued;
	message->body.process.stands_for_unseen = process_stands(sampler, process);
	message->body.process.children_ns = process->children_ns;
	message->body.process.has_split =
		cpu_split_meter_sum(&process->cpu.split, &message->body.process.split);
	proc_cpu_split_add(&sampler->session->ended_split, &message->body.process.split);
	collector_publish(sampler->collector, message);
	due_queue_remove(&sampler->clocks.due, &process->due);
	sampler->clocks.nr_watched -= process->cpu.clock.is_watched;
	process_clock_release(&process->cpu.clock);
	free(process->places);
	free(process->advances);
	descriptors_free(process->descriptors);
	process_hints_free(process->hints);
	free(process);
}

struct roster_listener book_listener(struct sampler *sampler)
{
	return (struct roster_listener){.process_born = process_born,
					.thread_born = thread_born,
					.thread_gone = thread_gone,
					.process_gone = process_gone,
					.context = sampler};
}

/* Threads set their names as they begin to run: read them soon, then ever more rarely. */
#define FIRST_NAME_PAUSE_NS   (NS_PER_MS / 2)
#define LONGEST_NAME_PAUSE_NS NS_PER_SEC

static bool name_fits(const struct sampler *sampler, const struct sampled_thread *thread)
{
	const struct tracee *tracee = &thread->roster->tracee;
	char name[PROC_COMM_MAX_BYTES];

	return proc_read_comm(tracee->tgid, tracee->tid, name, sizeof(name)) &&
	       regexec(sampler->options.threads, name, 0, NULL, 0) == 0;
}

static void count_from(struct sampler *sampler, struct sampled_thread *thread,
		       const struct proc_schedstat *clocks, uint64_t now_ns)
{
	thread->clocks = *clocks;
	seen_wait_release(&thread->sleep.wait);
	thread->sleep = (struct seen_sleep){0};
	thread->cost.held_ns = 0;
	advances_count_from_now(&sampler->advances, thread);
	collector_publish(sampler->collector, message_about(MESSAGE_THREAD_BASE, thread, now_ns));
}

bool book_is_chosen(struct sampler *sampler, struct sampled_thread *thread, uint64_t now_ns)
{
	struct proc_schedstat clocks;

	if (thread->is_chosen)
		return true;
	if (now_ns < thread->name_pause.again_ns)
		return false;
	if (name_fits(sampler, thread) && tracee_clocks(&thread->roster->tracee, &clocks)) {
		thread->is_chosen = true;
		count_from(sampler, thread, &clocks, now_ns);
		return true;
	}
	thread->name_pause.pause_ns =
		thread->name_pause.pause_ns
			? min_u64(2 * thread->name_pause.pause_ns, LONGEST_NAME_PAUSE_NS)
			: FIRST_NAME_PAUSE_NS;
	thread->name_pause.again_ns = now_ns + thread->name_pause.pause_ns;
	return false;
}

static void begin_process(struct sampler *sampler, struct sampled_process *process, uint64_t now_ns)
{
	struct process_cpu *cpu = &process->cpu;
	struct roster_thread *roster;
	struct proc_cpu_split split;
	struct proc_schedstat clocks;

	roster_process_cpu_ns(process->roster, &cpu->latest_ns);
	cpu->base_ns = cpu->latest_ns;
	cpu->covered_ns = cpu->handed_out_ns = cpu->known_rest_ns = 0;
	cpu->counts = true;
	advances_count_process_from_now(&sampler->advances, process);
	cpu_split_meter_begin(&cpu->split,
			      proc_read_cpu_split(process->roster->pid, 0, &split) ? &split : NULL);
	for (roster = process->roster->threads; roster; roster = roster->next) {
		struct sampled_thread *thread = roster->owner;

		if (!tracee_clocks(&roster->tracee, &clocks))
			continue;
		count_from(sampler, thread, &clocks, now_ns);
		begin_split(thread);
		due_put(sampler, thread, true, now_ns);
	}
}

void book_begin_counting(struct sampler *sampler, uint64_t now_ns)
{
	for (size_t i = 0; i < roster_nr_processes(sampler->roster); i++)
		begin_process(sampler, roster_process_at(sampler->roster, i)->owner, now_ns);
}

static void end_thread(struct sampler *sampler, struct sampled_thread *thread, uint64_t now_ns)
{
	struct proc_schedstat clocks;

	if (!thread->is_chosen || !tracee_clocks(&thread->roster->tracee, &clocks))
		return;
	publish_may_sleep_on(sampler, thread, &clocks, now_ns);
	publish_sleep(sampler, thread);
	book_note_clocks(thread, &clocks, now_ns);
	rest_split(thread);
	advances_publish(&sampler->advances, thread, now_ns, false);
	collector_publish(sampler->collector, message_about(MESSAGE_THREAD_REST, thread, now_ns));
}

void book_end_counting(struct sampler *sampler, uint64_t now_ns)
{
	for (size_t i = 0; i < roster_nr_processes(sampler->roster); i++) {
		struct roster_process *process = roster_process_at(sampler->roster, i);

		for (struct roster_thread *thread = process->threads; thread; thread = thread->next)
			end_thread(sampler, thread->owner, now_ns);
		end_cpu(sampler, process->owner, now_ns);
	}
}

bool book_is_dead(struct roster_thread *thread)
{
	struct proc_stat stat;

	return !tracee_stat(&thread->tracee, &stat) || stat.state == 'Z' || stat.state == 'X';
}

/* A dead thread of the process, or NULL. */
static struct roster_thread *dead_thread(const struct roster_process *process)
{
	struct roster_thread *thread = process->threads;

	while (thread && !book_is_dead(thread))
		thread = thread->next;
	return thread;
}

void book_keep(struct sampler *sampler, uint64_t now_ns)
{
	size_t i = 0;

	roster_poll(sampler->roster, now_ns);
	roster_join(sampler->roster, now_ns);
	while (i < roster_nr_processes(sampler->roster)) {
		struct roster_thread *dead = dead_thread(roster_process_at(sampler->roster, i));

		if (dead)
			roster_thread_gone(sampler->roster, dead); /* perhaps with its process */
		else
			i++;
	}
}

/* Stop recording all processes; they continue. */
void book_end(struct sampler *sampler, uint64_t now_ns)
{
	if (sampler->session->counting)
		book_end_counting(sampler, now_ns);
	sampler->session->counting = false;
	probing_end_counting(sampler);
	while (roster_nr_processes(sampler->roster)) {
		struct roster_process *process = roster_process_at(sampler->roster, 0);

		roster_forget(sampler->roster, process);
	}
}
