// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "proc/privileges.h"
#include "proc/program.h"
#include "proc/read.h"
#include "sampler/sampler_priv.h"
#include "target/target.h"

/* Enough for nearly all stacks; walks that need more raise it. */
#define FIRST_STACK_BYTES (256u * 1024)

static char *process_exe(pid_t pid)
{
	char path[4096];

	return proc_read_process_link(pid, "exe", path, sizeof(path)) ? xstrdup(path) : NULL;
}

/* The arguments, joined by spaces. */
static char *process_command(pid_t pid)
{
	struct buf text = {0};
	char *joined = NULL;

	if (proc_read_process_file(pid, "cmdline", &text) && text.nr_bytes) {
		for (size_t i = 0; i + 1 < text.nr_bytes; i++) {
			if (!text.bytes[i])
				text.bytes[i] = ' ';
		}
		joined = xstrndup(buf_str(&text), text.nr_bytes);
	}
	buf_release(&text);
	return joined;
}

static struct sampled_process *begin_process(struct sampler *sampler, struct message *message)
{
	struct sampled_process *process = xcalloc(1, sizeof(*process));
	struct message_process *told = &message->body.process;

	process->serial = sampler->next_process_serial++;
	process->pid = told->pid;
	process->program = told->program;
	process->start_ns = message->time_ns;
	ARRAY_GROW(sampler->processes, sampler->nr_processes, sampler->cap_processes);
	process->index = sampler->nr_processes;
	sampler->processes[sampler->nr_processes++] = process;
	told->serial = process->serial;
	/* Where not all of its threads are counted, no total is that of those that are. */
	process->split.rests = !sampler->counting;
	process->split.lost = sampler->options.threads != NULL;
	sampler_tell(sampler, message);
	return process;
}

/* A process whose program is only now being met: at its exec, or when we attach. */
static struct sampled_process *meet_process(struct sampler *sampler, pid_t pid, uint32_t parent,
					    uint64_t now_ns)
{
	struct message *message = message_new(MESSAGE_PROCESS, now_ns);
	struct message_process *told = &message->body.process;

	told->pid = pid;
	told->parent = parent;
	young_read_maps(sampler, message);
	told->program = proc_program_id(pid, pid);
	told->comm = young_name(told->program, pid, pid);
	told->exe = process_exe(pid);
	told->command = process_command(pid);
	return begin_process(sampler, message);
}

static struct sampled_process *fork_process(struct sampler *sampler, pid_t pid,
					    const struct sampled_process *parent, uint64_t now_ns)
{
	struct message *message = message_new(MESSAGE_PROCESS, now_ns);
	struct sampled_process *process;

	message->body.process.pid = pid;
	message->body.process.parent = parent->serial;
	message->body.process.forked = true;
	message->body.process.program = parent->program;
	process = begin_process(sampler, message);
	young_inherit_maps(process, parent);
	return process;
}

static struct message *message_about(const struct sampler *sampler,
				     const struct sampled_thread *thread, enum message_kind kind,
				     const struct account_clocks *clocks)
{
	struct message *message = message_new(kind, clocks->time_ns);
	struct message_thread *told = &message->body.thread;

	told->serial = thread->serial;
	told->process = thread->process->serial;
	told->tid = thread->tracee ? thread->tracee->tid : 0;
	told->hints = thread->hints;
	told->clocks = *clocks;
	told->has_clocks = sampler->counting;
	return message;
}

static void tell_thread(struct sampler *sampler, const struct sampled_thread *thread,
			enum message_kind kind, const struct account_clocks *clocks)
{
	sampler_tell(sampler, message_about(sampler, thread, kind, clocks));
}

/* `name` is NULL if it is not known. */
static struct sampled_thread *begin_named(struct sampler *sampler, struct sampled_process *process,
					  struct tracee *tracee,
					  const struct account_clocks *clocks, const char *name)
{
	struct message *message;
	struct sampled_thread *thread = xcalloc(1, sizeof(*thread));

	thread->serial = sampler->next_thread_serial++;
	thread->process = process;
	thread->tracee = tracee;
	thread->told_ns = clocks->time_ns;
	thread->split_cpu_ns = clocks->cpu_ns;
	thread->counted_cpu_ns = clocks->cpu_ns;
	thread->hints = xcalloc(1, sizeof(*thread->hints));
	atomic_init(&thread->hints->max_stack_bytes, FIRST_STACK_BYTES);
	thread->split.rests = !sampler->counting;
	tracee->owner = thread;
	process->nr_threads++;
	look_add_thread(sampler, thread);
	message = message_about(sampler, thread, MESSAGE_THREAD, clocks);
	/* The first thread is named as its process, which is told. */
	if (name && tracee->tid != tracee->tgid) {
		message->body.thread.name = xstrdup(name);
		thread->name_is_new = true;
	}
	sampler_tell(sampler, message);
	return thread;
}

static void begin_thread(struct sampler *sampler, struct sampled_process *process,
			 struct tracee *tracee, const struct account_clocks *clocks)
{
	begin_named(sampler, process, tracee, clocks, NULL);
}

/* Where the time of all its threads went that falls into the recording; it may be gone. */
static void rest_process_split(struct sampled_process *process)
{
	struct proc_cpu_split now;

	if (!process->split.rests)
		cpu_split_meter_rest(&process->split,
				     proc_read_cpu_split(process->pid, 0, &now) ? &now : NULL);
}

static void begin_process_split(struct sampled_process *process)
{
	struct proc_cpu_split now;

	cpu_split_meter_begin(&process->split,
			      proc_read_cpu_split(process->pid, 0, &now) ? &now : NULL);
}

/*
 * The same of one thread that is there. Of thousands most have slept: who has used no more than a
 * tick since its clock showed `cpu_ns` is not asked.
 */
static bool read_thread_split(const struct sampled_thread *thread,
			      const struct proc_schedstat *clocks, uint64_t cpu_ns,
			      struct proc_cpu_split *now)
{
	const struct tracee *tracee = thread->tracee;

	return clocks && clocks->cpu_ns >= cpu_ns + PROC_CPU_SPLIT_LEAST_NS &&
	       proc_read_cpu_split(tracee->tgid, tracee->tid, now);
}

static void rest_thread_split(struct sampled_thread *thread, const struct proc_schedstat *clocks)
{
	struct proc_cpu_split now;

	if (thread->split.rests)
		return;
	if (read_thread_split(thread, clocks, thread->split_cpu_ns, &now))
		cpu_split_meter_rest(&thread->split, &now);
	else
		cpu_split_meter_rest(&thread->split, NULL);
}

static void begin_thread_split(struct sampled_thread *thread, const struct proc_schedstat *clocks)
{
	struct proc_cpu_split now = {0};

	if (clocks->cpu_ns < PROC_CPU_SPLIT_LEAST_NS || read_thread_split(thread, clocks, 0, &now))
		cpu_split_meter_begin(&thread->split, &now);
	else
		cpu_split_meter_begin(&thread->split, NULL);
	thread->split_cpu_ns = clocks->cpu_ns;
}

static void end_process(struct sampler *sampler, struct sampled_process *process, uint64_t now_ns)
{
	struct message *message = message_new(MESSAGE_PROCESS_END, now_ns);

	rest_process_split(process);
	message->body.process.has_split =
		cpu_split_meter_sum(&process->split, &message->body.process.split);
	message->body.process.serial = process->serial;
	message->body.process.pid = process->pid;
	sampler_tell(sampler, message);
	process_clock_release(&process->clock);
	free(process->places);
	if (sampler->owes_maps_of == process)
		sampler->owes_maps_of = NULL;
	sampler->processes[process->index] = sampler->processes[--sampler->nr_processes];
	sampler->processes[process->index]->index = process->index;
	free(process);
}

/* What its stops cost it in the governor's window is not forgotten with it. */
static void leave_cost(struct sampler *sampler, const struct sampled_thread *thread,
		       const struct proc_schedstat *clocks, uint64_t now_ns)
{
	uint64_t window_ns = now_ns - sampler->window_start_ns;
	uint64_t cpu_ns = clocks ? clocks->cpu_ns : 0;
	struct governor_cost cost = look_window_cost(sampler, thread);

	sampler->ended_cost.cost_ns += cost.cost_ns;
	sampler->ended_cost.nr_stops += cost.nr_stops;
	sampler->ended_cpu_ns += cpu_ns < window_ns ? cpu_ns : window_ns;
}

static struct account_clocks clocks_at(const struct proc_schedstat *read, uint64_t time_ns)
{
	return (struct account_clocks){
		.time_ns = time_ns, .cpu_ns = read->cpu_ns, .runq_ns = read->runq_ns};
}

/* clocks may be NULL: the last ones were not to be had. */
static void end_thread(struct sampler *sampler, struct sampled_thread *thread,
		       const struct proc_schedstat *clocks, uint64_t now_ns)
{
	struct message *message = message_new(MESSAGE_THREAD_END, now_ns);
	struct message_thread *told = &message->body.thread;

	if (clocks)
		hunt_saw_clock(thread, clocks->cpu_ns);
	/* Its last sleep may have gone on after a pause, which is nobody's time. */
	if (clocks && sampler->counting)
		look_slept_until_end(sampler, thread, clocks, now_ns);
	look_tell_sleep(sampler, thread);
	leave_cost(sampler, thread, clocks, now_ns);
	told->serial = thread->serial;
	told->process = thread->process->serial;
	if (clocks && sampler->counting && choose_is_counted(sampler, thread)) {
		told->has_clocks = true;
		told->clocks = clocks_at(clocks, now_ns);
	}
	told->has_split = cpu_split_meter_sum(&thread->split, &told->split);
	sampler_tell(sampler, message);
	if (thread->tracee)
		thread->tracee->owner = NULL;
	look_remove_thread(sampler, thread);
	if (--thread->process->nr_threads == 0)
		end_process(sampler, thread->process, now_ns);
	free(thread);
}

static struct sampled_process *process_of(const struct sampler *sampler, pid_t pid)
{
	for (size_t i = sampler->nr_processes; i-- > 0;) {
		if (sampler->processes[i]->pid == pid)
			return sampler->processes[i];
	}
	return NULL;
}

static void thread_born(struct sampler *sampler, const struct target_event *event)
{
	struct sampled_process *process = process_of(sampler, event->tracee->tgid);
	struct account_clocks clocks = {.time_ns = event->time_ns};

	if (process)
		begin_thread(sampler, process, event->tracee, &clocks);
}

static void process_born(struct sampler *sampler, const struct target_event *event)
{
	struct sampled_process *parent = process_of(sampler, event->parent_pid);
	struct account_clocks clocks = {.time_ns = event->time_ns};
	struct sampled_process *process;
	pid_t pid = event->tracee->tgid;

	process = parent ? fork_process(sampler, pid, parent, event->time_ns)
			 : meet_process(sampler, pid, SERIAL_NONE, event->time_ns);
	begin_thread(sampler, process, event->tracee, &clocks);
}

/* The kernel gives no privileges to who is traced by somebody without them. */
static void note_privileges(struct sampler *sampler, pid_t pid)
{
	struct sampler_result *result = &sampler->result;

	if (!result->unprivileged[0] && proc_lacks_set_user_id(pid))
		proc_read_comm(pid, pid, result->unprivileged, sizeof(result->unprivileged));
}

/* Up to its end or its exec, of who had less than a tick nothing. */
static void take_splits(struct sampled_thread *thread, const struct target_event *event)
{
	bool has_run = event->final.cpu_ns >= thread->split_cpu_ns + PROC_CPU_SPLIT_LEAST_NS;

	cpu_split_meter_rest(&thread->split, event->has_split && has_run ? &event->split : NULL);
	if (event->has_process_split)
		cpu_split_meter_rest(&thread->process->split, &event->process_split);
}

/* From an exec on: who had less than a tick before begins at 0. */
static void begin_splits(const struct target_event *event)
{
	struct sampled_thread *thread = event->tracee->owner;

	thread->split.base = event->split;
	thread->process->split.base = event->process_split;
}

/* The command that we started: its fork from profc is not its time. */
static void command_began(struct sampler *sampler, const struct target_event *event)
{
	struct account_clocks clocks = {.time_ns = event->time_ns,
					.cpu_ns = event->final.cpu_ns,
					.runq_ns = event->final.runq_ns};

	sampler->command_ran = true;
	begin_thread(sampler,
		     meet_process(sampler, event->tracee->tgid, SERIAL_NONE, event->time_ns),
		     event->tracee, &clocks);
	begin_splits(event);
	sem_post(&sampler->started);
}

/* All threads but the caller of exec are gone, and the caller counts for a new program. */
static void process_executed(struct sampler *sampler, const struct target_event *event)
{
	struct sampled_thread *caller = event->tracee->owner;
	struct sampled_thread *leader = event->former_leader_owner;
	struct account_clocks clocks = {.time_ns = event->time_ns,
					.cpu_ns = event->final.cpu_ns,
					.runq_ns = event->final.runq_ns};
	struct sampled_process *process;
	uint32_t former;

	note_privileges(sampler, event->tracee->tgid);
	if (!caller) {
		command_began(sampler, event);
		return;
	}
	former = caller->process->serial;
	if (leader) {
		leader->tracee = NULL;
		end_thread(sampler, leader, NULL, event->time_ns);
	}
	process = meet_process(sampler, event->tracee->tgid, former, event->time_ns);
	take_splits(caller, event);
	end_thread(sampler, caller, event->has_final ? &event->final : NULL, event->time_ns);
	begin_thread(sampler, process, event->tracee, &clocks);
	begin_splits(event);
}

static void process_exiting(struct sampler *sampler, const struct target_event *event)
{
	struct sampled_thread *thread = event->tracee->owner;

	if (thread)
		young_tell_last_maps(sampler, thread->process, event->time_ns);
}

static void tell_of_command_s_end(const struct sampler *sampler)
{
	const uint64_t one = 1;

	if (write(sampler->command_end_fd, &one, sizeof(one)) < 0)
		return; /* an eventfd of ours takes a 1, unless it could not be made */
}

static void thread_gone(struct sampler *sampler, const struct target_event *event)
{
	struct sampled_thread *thread = event->tracee->owner;
	bool is_command = event->tracee->tid == sampler->result.command_pid;

	if (is_command) {
		sampler->result.command_exited = true;
		sampler->result.command_status = event->wait_status;
		tell_of_command_s_end(sampler);
		if (!sampler->command_ran)
			sampler->result.exec_errno = target_exec_errno(sampler->target);
	}
	if (thread) {
		take_splits(thread, event);
		end_thread(sampler, thread, event->has_final ? &event->final : NULL,
			   event->time_ns);
	}
	target_forget(sampler->target, event->tracee);
}

void follow_event(struct sampler *sampler, struct target_event *event)
{
	switch (event->kind) {
	case TARGET_EVENT_NONE:
		return;
	case TARGET_EVENT_INTERRUPTED:
		look_at_held(sampler, event->tracee);
		return;
	case TARGET_EVENT_STOPPED:
		look_at_stopped(sampler, event->tracee);
		break;
	case TARGET_EVENT_THREAD:
		thread_born(sampler, event);
		break;
	case TARGET_EVENT_PROCESS:
		process_born(sampler, event);
		break;
	case TARGET_EVENT_EXEC:
		process_executed(sampler, event);
		break;
	case TARGET_EVENT_EXITING:
		process_exiting(sampler, event);
		break;
	case TARGET_EVENT_GONE:
		thread_gone(sampler, event);
		return;
	}
	target_resume(sampler->target, event->tracee);
}

/* How long a process has been there, if that is known. */
static uint64_t age_ns(const struct target_met *met)
{
	uint64_t start_ns = met->start_ticks * (NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK));
	uint64_t now_ns = clock_boot_ns();

	return met->name && now_ns > start_ns ? now_ns - start_ns : 0;
}

static struct sampled_process *meet_attached(struct sampler *sampler, const struct tracee *tracee,
					     const struct target_met *met, uint64_t now_ns)
{
	struct sampled_process *process = meet_process(sampler, tracee->tgid, SERIAL_NONE, now_ns);
	uint64_t age = age_ns(met);

	process->start_ns -= age < now_ns ? age : now_ns;
	begin_process_split(process);
	process->split.rests = !sampler->counting;
	return process;
}

static void thread_attached(void *context, struct tracee *tracee, const struct target_met *met)
{
	struct sampler *sampler = context;
	struct sampled_process *process = process_of(sampler, tracee->tgid);
	uint64_t now_ns = clock_monotonic_ns();
	struct account_clocks clocks = {.time_ns = now_ns};
	struct sampled_thread *thread;

	if (met->has_clocks) {
		clocks.cpu_ns = met->clocks.cpu_ns;
		clocks.runq_ns = met->clocks.runq_ns;
	}
	if (!process)
		process = meet_attached(sampler, tracee, met, now_ns);
	thread = begin_named(sampler, process, tracee, &clocks, met->name);
	thread->pcount = thread->looked_pcount = met->clocks.pcount;
	thread->split.base = met->split;
	thread->split.lost |= !met->name;
	look_at_met(sampler, thread, met);
}

static bool is_asked_to_end(const struct sampler *sampler)
{
	const atomic_bool *end_asked = sampler->options.end_asked;

	return end_asked && atomic_load_explicit(end_asked, memory_order_relaxed);
}

static bool serve_others(void *context)
{
	struct sampler *sampler = context;

	serve_between(sampler);
	return !is_asked_to_end(sampler);
}

static int attach_to_all(struct sampler *sampler, struct err *err)
{
	const struct sampler_options *options = &sampler->options;
	const struct target_attacher attacher = {
		.each = thread_attached, .serve = serve_others, .context = sampler};
	int status = 0;

	for (size_t i = 0; status == 0 && i < options->nr_pids; i++)
		status = target_check_program(options->pids[i], err);
	for (size_t i = 0; status == 0 && i < options->nr_pids && !is_asked_to_end(sampler); i++)
		status = target_attach(sampler->target, options->pids[i], &attacher, err);
	return status;
}

int follow_start(struct sampler *sampler, struct err *err)
{
	const struct sampler_options *options = &sampler->options;
	int status;

	if (options->argv) {
		struct target_command command = {.argv = options->argv,
						 .signals = options->command_signals};

		return target_spawn(sampler->target, &command, &sampler->result.command_pid, err);
	}
	status = attach_to_all(sampler, err);
	if (status == 0)
		sem_post(&sampler->started);
	return status;
}

/* Of thousands not all; who has to be served is, meanwhile. */
#define LAST_LOOKS_NS  (500 * NS_PER_MS)
#define LOOKS_UNSERVED 16

void follow_look_last(struct sampler *sampler)
{
	uint64_t until_ns = clock_monotonic_ns() + LAST_LOOKS_NS;

	for (size_t i = 0; i < sampler->nr_threads && clock_monotonic_ns() < until_ns; i++) {
		look_last(sampler, sampler->threads[i]);
		if (i % LOOKS_UNSERVED == 0)
			serve_between(sampler);
	}
}

/* Who is still there when the recording ends. */
void follow_end(struct sampler *sampler, uint64_t now_ns)
{
	if (sampler->counting)
		sampler->counted_ns += now_ns - sampler->counting_since_ns;
	while (sampler->nr_threads) {
		struct sampled_thread *thread = sampler->threads[sampler->nr_threads - 1];
		struct proc_schedstat clocks;
		bool has_clocks = target_clocks(thread->tracee, &clocks);

		if (has_clocks && sampler->counting)
			look_may_sleep_on(sampler, thread, &clocks, now_ns);
		rest_thread_split(thread, has_clocks ? &clocks : NULL);
		end_thread(sampler, thread, has_clocks ? &clocks : NULL, now_ns);
	}
	sampler->counting = false;
}

void follow_last_event(struct sampler *sampler, const struct target_event *event)
{
	if (event->kind == TARGET_EVENT_GONE)
		thread_gone(sampler, event);
	else
		target_resume(sampler->target, event->tracee);
}

/* What was not seen up to now is the rest. */
void follow_pause_counting(struct sampler *sampler, uint64_t now_ns)
{
	for (size_t i = 0; i < sampler->nr_threads; i++) {
		struct sampled_thread *thread = sampler->threads[i];
		struct account_clocks clocks;
		struct proc_schedstat read;
		bool has_read = target_clocks(thread->tracee, &read);

		if (choose_is_counted(sampler, thread) && has_read) {
			look_may_sleep_on(sampler, thread, &read, now_ns);
			look_tell_sleep(sampler, thread);
			clocks = clocks_at(&read, now_ns);
			tell_thread(sampler, thread, MESSAGE_THREAD_REST, &clocks);
		}
		rest_thread_split(thread, has_read ? &read : NULL);
	}
	for (size_t i = 0; i < sampler->nr_processes; i++)
		rest_process_split(sampler->processes[i]);
	sampler->counting = false;
	sampler->counted_ns += now_ns - sampler->counting_since_ns;
}

/* What happened while nothing was counted belongs to nobody. */
void follow_count_from(struct sampler *sampler, struct sampled_thread *thread, uint64_t now_ns)
{
	struct proc_schedstat read = {0};
	struct account_clocks clocks;

	target_clocks(thread->tracee, &read);
	clocks = clocks_at(&read, now_ns);
	thread->was_seen = false;
	thread->name_is_new = false;
	thread->nr_slept = 0;
	thread->counted_cpu_ns = clocks.cpu_ns;
	thread->surely_ran = false;
	begin_thread_split(thread, &read);
	tell_thread(sampler, thread, MESSAGE_THREAD_BASE, &clocks);
}

void follow_resume_counting(struct sampler *sampler, uint64_t now_ns)
{
	sampler->counting = true;
	sampler->counting_since_ns = now_ns;
	for (size_t i = 0; i < sampler->nr_processes; i++)
		begin_process_split(sampler->processes[i]);
	for (size_t i = 0; i < sampler->nr_threads; i++)
		follow_count_from(sampler, sampler->threads[i], now_ns);
}
