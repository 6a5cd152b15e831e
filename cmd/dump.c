// SPDX-License-Identifier: GPL-2.0-or-later
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "calltree/expand.h"
#include "cmd/command.h"
#include "cmd/filter_options.h"
#include "cmd/live.h"
#include "cmd/pager.h"
#include "cmd/record_options.h"
#include "cmd/view_options.h"
#include "collector/script_frames.h"
#include "proc/read.h"
#include "profile/fold_scripts.h"
#include "profile/profile.h"
#include "profile/show_kernel.h"
#include "roster/attached.h"
#include "roster/joiners.h"
#include "sampler/sampler.h"
#include "symbol/resolve.h"
#include "view/dump.h"

/* Looks a second at a thread; sleepers are not stopped, so that few meet any. */
#define LOOKS_HZ 100
/* How long to wait for the first look at every thread. */
#define LONGEST_NS	  (2 * NS_PER_SEC)
#define LONGEST_ASLEEP_NS (10 * NS_PER_SEC)
#define ONE_WAIT_NS	  (30 * NS_PER_MS)

struct dump_args {
	struct record_options record; /* of which it takes a few */
	bool json, no_inline, kernel, native;
	struct view_options view;
};

#define AT(member)	  offsetof(struct dump_args, member)
#define AT_RECORD(member) offsetof(struct dump_args, record.member)

static const struct option_row rows[] = {
	{.type = OPTION_SECTION, .name = "What is shown"},
	{.type = OPTION_LIST,
	 .short_name = 'p',
	 .name = "pid",
	 .argument = "PID",
	 .offset = AT(record.pid_texts),
	 .commas = true,
	 .help = "the process; repeat for more"},
	RECORD_JOIN_OPTION_ROWS(AT_RECORD, " that run now"),
	{.type = OPTION_FLAG,
	 .name = "no-inline",
	 .offset = AT(no_inline),
	 .help = "leave out inlined functions"},
	KERNEL_OPTION_ROW(struct dump_args, kernel),
	NATIVE_OPTION_ROW(struct dump_args, native),
	{.type = OPTION_SECTION, .name = "Output"},
	JSON_OPTION_ROW(struct dump_args, json),
	VIEW_OPTION_ROWS(struct dump_args, view),
	SYMBOL_OPTION_ROWS(struct dump_args, record.symbols),
	OPTIONS_END,
};

/* The threads of the profile, by row. */
struct dumping {
	const struct dump_args *args;
	struct attached attached;
	struct joiners joiners; /* empty: none */
	struct profile *profile;
	struct dump_thread *threads; /* owned */
	size_t nr_threads;	     /* of those, the ones to show */
};

static bool has_stack(const struct sample *sample)
{
	return sample->kind != SAMPLE_UNATTRIBUTED && sample->end != STACK_END_NOT_TAKEN;
}

/* The last look at each thread. */
static void choose_samples(struct dumping *dumping)
{
	const struct profile *profile = dumping->profile;

	for (size_t i = 0; i < profile->nr_threads; i++)
		dumping->threads[i] = (struct dump_thread){.row = (uint32_t)i};
	for (size_t i = 0; i < profile->nr_samples; i++) {
		const struct sample *sample = &profile->samples[i];

		if (has_stack(sample))
			dumping->threads[sample->thread.v].sample = sample;
	}
}

/*
 * The state of the thread now; if it has woken or fallen asleep since its stack was taken, or is
 * stopped for the next one at this moment, the state at that time.
 */
static char state_of(const struct profile *profile, const struct dump_thread *thread)
{
	const struct profile_thread *row = &profile->threads[thread->row];
	const struct sample *sample = thread->sample;
	struct proc_stat stat;

	if (!proc_read_task_stat(profile->processes[row->process].pid, row->tid, &stat))
		return '?';
	if (sample && (stat.state == 'R' || stat.state == 'S' || stat.state == 't'))
		return sample->kind == SAMPLE_BLOCKED ? 'S' : 'R';
	return stat.state;
}

static bool is_stopped(const struct dump_thread *thread)
{
	return thread->state == 'T' || thread->state == 't';
}

/* Each sleeper gets its turn; a running thread may be held by another tracer. */
static bool is_awaited(const struct dumping *dumping, size_t i, uint64_t elapsed_ns)
{
	const struct dump_thread *thread = &dumping->threads[i];
	bool sleeps = thread->state == 'S' || thread->state == 'D';

	return !thread->sample && !dumping->profile->threads[i].end_ns &&
	       elapsed_ns < (sleeps ? LONGEST_ASLEEP_NS : LONGEST_NS);
}

static bool all_seen(const struct dumping *dumping, uint64_t elapsed_ns)
{
	/* The first look at a process shows its interpreter, the next its functions. */
	if (profile_counter(dumping->profile, SCRIPT_LACKING) && elapsed_ns < LONGEST_NS)
		return false;
	for (size_t i = 0; i < dumping->profile->nr_threads; i++) {
		if (is_awaited(dumping, i, elapsed_ns))
			return false;
	}
	return dumping->profile->nr_threads > 0 || elapsed_ns >= LONGEST_NS;
}

static const char *why_no_stack(const struct dumping *dumping, const struct dump_thread *thread,
				const struct sampler_refusal *refusal)
{
	const struct profile_thread *row = &dumping->profile->threads[thread->row];

	if (refusal->nr && refusal->pid == dumping->profile->processes[row->process].pid)
		return refusal->tracer ? "another process traces it" : "it may not be traced";
	return is_stopped(thread) ? "it is stopped by job control"
				  : "it could not be sampled in time";
}

/* Returns the status of profc: some threads may have none. */
static int check_stacks(struct dumping *dumping, const struct sampler_refusal *refusal)
{
	const char *first = NULL;
	size_t nr = 0;

	for (size_t i = 0; i < dumping->nr_threads; i++) {
		struct dump_thread *thread = &dumping->threads[i];

		if (thread->sample)
			continue;
		thread->why_no_stack = why_no_stack(dumping, thread, refusal);
		first = first ? first : thread->why_no_stack;
		nr++;
	}
	if (nr)
		print_warning("%zu of %zu threads %s no stack: %s", nr, dumping->nr_threads,
			      nr == 1 ? "has" : "have", first);
	return nr ? EXIT_CANNOT : EXIT_DONE;
}

static void dumping_clear(struct dumping *dumping)
{
	profile_free(dumping->profile);
	free(dumping->threads);
	dumping->profile = NULL;
	dumping->threads = NULL;
}

static int read_once(struct dumping *dumping, struct live *live, struct err *err)
{
	int status;

	dumping_clear(dumping);
	status = live_profile(live, &dumping->profile, err);
	if (status < 0)
		return status;
	dumping->threads = xcalloc(dumping->profile->nr_threads, sizeof(*dumping->threads));
	choose_samples(dumping);
	for (size_t i = 0; i < dumping->profile->nr_threads; i++)
		dumping->threads[i].state = state_of(dumping->profile, &dumping->threads[i]);
	return 0;
}

/* Until every thread was looked at, or some cannot be. */
static int take(struct dumping *dumping, struct live *live, struct err *err)
{
	const struct timespec pause = {.tv_nsec = (long)ONE_WAIT_NS};
	uint64_t begun_ns = clock_monotonic_ns();
	int status;

	do {
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
		status = read_once(dumping, live, err);
	} while (status == 0 && !all_seen(dumping, clock_monotonic_ns() - begun_ns));
	return status;
}

/* Keeps threads that still live; some may have ended since the beginning. */
static size_t drop_ended(struct dumping *dumping)
{
	size_t kept = 0;

	for (size_t i = 0; i < dumping->profile->nr_threads; i++) {
		if (!dumping->profile->threads[i].end_ns)
			dumping->threads[kept++] = dumping->threads[i];
	}
	return kept;
}

static int print(struct dumping *dumping)
{
	const struct dump_args *args = dumping->args;
	struct view view = view_options_resolve(&args->view);
	struct expansion *expansion = expansion_new(dumping->profile, args->no_inline);
	const struct dump dump = {.expansion = expansion,
				  .threads = dumping->threads,
				  .nr_threads = dumping->nr_threads};
	struct pager pager;
	int status;

	pager_begin(&pager, !args->json && !args->view.no_pager);
	if (args->json)
		dump_print_json(&dump, &pager.sink);
	else
		dump_print_text(&dump, &view, &pager.sink);
	status = pager_end(&pager);
	expansion_free(expansion);
	return status;
}

static int fail_empty(const struct dumping *dumping, const struct sampler_joined *joined)
{
	struct err err = ERR_INIT;
	struct buf words = {0};

	if (joined->nr_refused) {
		err = joined->refusal;
	} else if (joiners_is_empty(&dumping->joiners)) {
		err_set(&err, ERR_GONE, "it ended before it could be looked at");
	} else {
		joiners_append_words(&dumping->joiners, &words);
		err_set(&err, ERR_GONE, "no process of %s is running", buf_str(&words));
	}
	buf_release(&words);
	return fail_with(&err);
}

static int dump(struct dumping *dumping)
{
	struct symbol_options symbols = symbol_options_of(&dumping->args->record.symbols, NULL);
	struct err err = ERR_INIT;
	const struct live_request request = {
		.options = &dumping->args->record,
		.attached = &dumping->attached,
		.joiners = joiners_is_empty(&dumping->joiners) ? NULL : &dumping->joiners};
	struct live *live = live_start(&request, &err);
	struct sampler_joined joined;
	struct sampler_refusal refusal;
	int status;

	if (!live)
		return fail_with(&err);
	status = take(dumping, live, &err);
	joined = sampler_joined(live_sampler(live));
	refusal = live_stop(live)->refusal;
	live_free(live);
	if (status < 0)
		return fail_with(&err);
	dumping->nr_threads = drop_ended(dumping);
	if (!dumping->nr_threads)
		return fail_empty(dumping, &joined);
	resolve_profile(dumping->profile, &symbols, NULL);
	if (!dumping->args->native)
		profile_fold_scripts(dumping->profile);
	if (dumping->args->kernel && !profile_show_kernel(dumping->profile))
		print_warning("there are no functions of the kernel: no thread was seen asleep, or "
			      "the kernel did not show them");
	status = check_stacks(dumping, &refusal);
	if (joined.nr_refused) {
		print_warning("%zu process%s left out: %s", joined.nr_refused,
			      joined.nr_refused == 1 ? " is" : "es are", joined.refusal.what);
		status = EXIT_CANNOT;
	}
	return print(dumping) == EXIT_DONE ? status : EXIT_CANNOT;
}

static int check_and_dump(const struct command *self, const struct dump_args *args)
{
	struct dumping dumping = {.args = args};
	struct err err = ERR_INIT;
	int status;

	if (record_options_joiners(&args->record, &dumping.joiners, &err) < 0 ||
	    record_options_attached(&args->record, &dumping.attached, &err) < 0)
		status = usage_error(self, &err);
	else
		status = dump(&dumping);
	dumping_clear(&dumping);
	attached_release(&dumping.attached);
	joiners_release(&dumping.joiners);
	return status;
}

static int run_dump(const struct command *self, int argc, char **argv)
{
	struct dump_args args = {.view = VIEW_OPTIONS_INIT};
	struct err err = ERR_INIT;
	int first, status;

	record_options_init(&args.record);
	args.record.frequency_hz = LOOKS_HZ;
	args.record.no_children = true;
	args.record.max_overhead_percent = 0; /* each thread is looked at once: leave none out */
	if (options_parse(rows, &args, argc, argv, false, &first, &err) < 0 ||
	    record_options_check_words(&args.record, argv + first, &err) < 0)
		status = usage_error(self, &err);
	else
		status = check_and_dump(self, &args);
	options_release(rows, &args);
	return status;
}

const struct command command_dump = {
	.name = "dump",
	.synopsis = "-p PID | --unit NAME | --comm REGEX [OPTIONS]",
	.summary = "show the stack of every thread, once",
	.help = "Shows where each thread of running processes is: whether it runs or sleeps, in "
		"which system call and on what, who holds the lock it waits for, and its stack, "
		"innermost function first. Threads that sleep are not woken; the processes run "
		"on as if nothing had happened.\n\n"
		"Examples:\n"
		"  profc dump -p 1234\n"
		"  profc dump --unit nginx\n"
		"  profc dump -p 1234 --json",
	.options = rows,
	.run = run_dump,
};
