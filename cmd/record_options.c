// SPDX-License-Identifier: GPL-2.0-or-later
/* The options that commands which record share. */
#include "cmd/record_options.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/err.h"
#include "roster/attached.h"
#include "roster/joiners.h"

/* In the order of enum unwinder_kind. */
const char *const record_unwinder_choices[] = {"auto", "cfi", "libunwind", "fp", NULL};

#define AT(member) offsetof(struct record_options, member)

const struct option_row record_option_rows[] = {
	RECORD_WHAT_OPTION_ROWS(AT),
	{.type = OPTION_FLAG,
	 .name = "paused",
	 .offset = AT(paused),
	 .help = "start paused; --control or SIGUSR1 resumes"},
	{.type = OPTION_STRING,
	 .name = "control",
	 .argument = "fifo:PATH",
	 .offset = AT(control),
	 .help = "read commands from this FIFO: pause, resume, snapshot FILE, dump LABEL, stop, "
		 "mark "
		 "TEXT, mem start, mem stop, mem discard, mem search TEXT"},
	{.type = OPTION_STRING,
	 .name = "within",
	 .argument = "FUNC",
	 .offset = AT(count.within),
	 .help = "sample and count only while a thread is inside of this function"},
	{.type = OPTION_LIST,
	 .name = "spans",
	 .argument = "FUNC[:FUNC][>TIME]",
	 .offset = AT(count.spans),
	 .help = "time each call of this function, or from one to another, or as "
		 "usdt:PROVIDER:PROBE:PROBE between static probes: 'profc report --spans' "
		 "shows how long they take; those that take TIME or longer are slow; repeatable"},
	{.type = OPTION_FLAG,
	 .name = "wakers",
	 .offset = AT(count.wakers),
	 .help = "note what ends waits for conditions, semaphores and locks: 'profc report "
		 "--wakers' shows it"},
	RECORD_HOW_OPTION_ROWS(AT),
	{.type = OPTION_FLAG,
	 .name = "check-unwinder",
	 .offset = AT(check_unwinder),
	 .help = "unwind every stack with libunwind too, and report differences",
	 .hidden = true},
	COUNT_OPTION_ROWS(AT),
	MEMORY_OPTION_ROWS(AT),
	{.type = OPTION_FLAG,
	 .name = "mem-paused",
	 .offset = AT(count.memory_paused),
	 .help = "record no allocations until --control says 'mem start'"},
	{.type = OPTION_SECTION, .name = "Flight recorder"},
	{.type = OPTION_DURATION,
	 .name = "keep",
	 .argument = "TIME",
	 .offset = AT(keep.span_ns),
	 .min = 2e9,
	 .max = 36e11,
	 .help = "keep the last TIME in memory, and write it to the directory of -o upon a "
		 "trigger (default frequency then: up to 49)"},
	{.type = OPTION_SIZE,
	 .name = "keep-size",
	 .argument = "BYTES",
	 .offset = AT(keep.max_bytes),
	 .help = "keep no more than BYTES: less time, then (default: 64M)"},
	{.type = OPTION_LIST,
	 .name = "trigger",
	 .argument = "T",
	 .offset = AT(keep.triggers),
	 .help = "write it upon exit, crash, gone (of --unit), 'cpu>PCT%/TIME', 'rss>SIZE', "
		 "'stall>TIME', "
		 "'runq>PCT%/TIME', 'span:FUNC>TIME' or 'mark:NAME>TIME', in quotes; repeatable "
		 "(always: SIGUSR2, 'profc ctl DIR dump', and 'dump LABEL' of --control)"},
	{.type = OPTION_UINT,
	 .name = "limit",
	 .argument = "N",
	 .offset = AT(keep.limit),
	 .min = 1,
	 .max = 1e6,
	 .help = "keep the newest N files of the program (default: 10)"},
	{.type = OPTION_SECTION, .name = "Pushing"},
	{.type = OPTION_DURATION,
	 .name = "every",
	 .argument = "TIME",
	 .offset = AT(keep.every.span_ns),
	 .min = 1e9,
	 .max = 36e11,
	 .help = "push each TIME of the recording, and write no profile (default frequency then: "
		 "up to 49)"},
	PUSH_OPTION_ROWS(struct record_options, keep.every.push),
	{.type = OPTION_LIST,
	 .name = "push-metrics",
	 .argument = "LIST",
	 .offset = AT(keep.every.metrics),
	 .choices = metric_names,
	 .commas = true,
	 .help = "push only these, as cpu,blocked (default: cpu, runq, blocked, those of "
		 "--metrics, and alloc and live with --mem)"},
	{.type = OPTION_FILE,
	 .name = "push-spool",
	 .argument = "DIR",
	 .offset = AT(keep.every.spool),
	 .help = "keep what is not delivered yet in DIR, up to 256M, also for the next recording "
		 "(default: 16M in memory)"},
	{.type = OPTION_SECTION, .name = "Output"},
	{.type = OPTION_FILE,
	 .short_name = 'o',
	 .name = "output",
	 .argument = "FILE",
	 .offset = AT(output),
	 .help = "write the profile to FILE; - is standard output (default: profc.data); with "
		 "--keep, a directory (profc.dumps)"},
	{.type = OPTION_STRING,
	 .name = "html",
	 .argument = "FILE",
	 .offset = AT(use.html),
	 .without = "",
	 .help = "write a page for the browser, too (without =FILE: beside the profile, "
		 "profc.html)"},
	{.type = OPTION_FLAG,
	 .name = "open",
	 .offset = AT(use.open),
	 .help = "open the page in the browser; without --html a temporary one"},
	{.type = OPTION_FLAG,
	 .name = "no-symbols",
	 .offset = AT(no_symbols),
	 .help = "do not resolve symbols at the end; see `profc symbolize`"},
	{.type = OPTION_FLAG,
	 .name = "with-source",
	 .offset = AT(use.with_source),
	 .help = "keep the source text and the instructions of what was sampled in the profile"},
	{.type = OPTION_UINT,
	 .name = "max-samples",
	 .argument = "N",
	 .offset = AT(max_samples),
	 .min = 1,
	 .max = 1e15,
	 .help = "end the recording after N samples"},
	{.type = OPTION_SIZE,
	 .name = "max-size",
	 .argument = "BYTES",
	 .offset = AT(max_size_bytes),
	 .help = "end the recording when the profile has so many bytes, names not counted: 500K, "
		 "20M, 2G"},
	{.type = OPTION_STRING,
	 .name = "agent",
	 .argument = "CMD",
	 .offset = AT(agent),
	 .help = "tell the shell command CMD all that is recorded, as lines of JSON on its "
		 "standard "
		 "input: see profc-agent(5)"},
	{.type = OPTION_FLAG,
	 .short_name = 'q',
	 .name = "quiet",
	 .offset = AT(quiet),
	 .help = "print only errors and warnings"},
	{.type = OPTION_FLAG,
	 .short_name = 'v',
	 .name = "verbose",
	 .offset = AT(verbose),
	 .help = "print losses, perturbation and overhead at the end"},
	SYMBOL_OPTION_ROWS(struct record_options, symbols),
	OPTIONS_END,
};

void record_options_init(struct record_options *options)
{
	*options = (struct record_options){
		.max_overhead_percent = 2,
		.max_depth = 65536,
		.count = COUNT_OPTION_VALUES_INIT,
		.symbols = SYMBOL_OPTION_VALUES_INIT,
	};
}

/*
 * All of a recorder is to use less than half a percent of one CPU, of which some hundredths are of
 * the thread that looks for triggers.
 */
#define MAX_COST_PERCENT 0.45

void record_options_settle(struct record_options *options)
{
	bool is_always_on = options->keep.span_ns || options->keep.every.span_ns;

	if (options->frequency_hz)
		return; /* it is kept as it was asked for */
	options->frequency_hz = is_always_on ? 49 : 500;
	options->keep.max_cost_percent = is_always_on ? MAX_COST_PERCENT : 0;
}

int record_options_check_words(const struct record_options *options, char *const *words,
			       struct err *err)
{
	if (*words) {
		err_set(err, ERR_INVALID, "unexpected word '%s'", *words);
		err_hint(err,
			 "processes are named with -p PID, --unit or --comm; `pgrep -a NAME` lists "
			 "their IDs");
		return ERR_INVALID;
	}
	if (!record_options_attach(options))
		return err_set(
			err, ERR_INVALID,
			"which process? Neither -p PID nor --unit NAME nor --comm REGEX was given");
	return 0;
}

bool record_options_attach(const struct record_options *options)
{
	return options->pid_texts.nr || options->select.units.nr || options->select.names.nr;
}

int record_options_refuse_command(const struct record_options *options, struct err *err)
{
	return err_set(err, ERR_INVALID, "%s cannot be combined with a command",
		       options->pid_texts.nr	  ? "-p"
		       : options->select.units.nr ? "--unit"
						  : "--comm");
}

int record_options_check_lasting(const struct record_options *options, const char *with,
				 struct err *err)
{
	const struct count_options *count = &options->count;
	bool pushes = strcmp(with, "--every") == 0;
	const struct {
		bool is_given;
		const char *option, *hint;
	} unfit[] = {
		{count->no_cpu, "--no-cpu",
		 "samples say what happened: --count and --mem go with them"},
		{count->memory && strcmp(count->memory, "all") == 0, "--mem=all",
		 "--mem=64K finds the same, within the interval shown"},
		{count->reachable, "--reachable",
		 "it searches memory at the end of a recording: profc attach --mem --reachable "
		 "-d 1m, when it has grown"},
		{count->wakers, "--wakers",
		 "what ended a wait is not kept: profc attach --wakers -d 1m records it"},
		{count->spans.nr && pushes, "--spans",
		 "what is pushed has no times of calls: files of --keep have them"},
		{options->agent && count_options_have_memory(count), "--agent and --mem at once",
		 "memory of long ago is forgotten, of which an agent would still be told; either "
		 "of them goes"},
		{options->use.html || options->use.open, "--html or --open",
		 "profc view DIR/ shows the newest profile that was written"},
		{options->use.with_source, "--with-source",
		 "profc annotate reads sources where they are, or where --source-path says"},
		{options->max_size_bytes, "--max-size",
		 "--keep-size bounds what is kept, and --limit how many profiles are left"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(unfit); i++) {
		if (!unfit[i].is_given)
			continue;
		err_set(err, ERR_INVALID, "%s cannot be combined with %s", with, unfit[i].option);
		err_hint(err, "%s", unfit[i].hint);
		return ERR_INVALID;
	}
	return 0;
}

int record_options_joiners(const struct record_options *options, struct joiners *joiners,
			   struct err *err)
{
	const struct select_options *select = &options->select;
	int status = 0;

	for (size_t i = 0; i < select->units.nr && status == 0; i++)
		status = joiners_add_unit(joiners, select->units.values[i], err);
	for (size_t i = 0; i < select->names.nr && status == 0; i++)
		status = joiners_add_name(joiners, select->names.values[i], err);
	if (status == 0 && options->count.within && !joiners_is_empty(joiners))
		status = err_set(err, ERR_INVALID,
				 "--within cannot be combined with --unit and --comm");
	return status;
}

static int parse_pid(const char *text, pid_t *pid, struct err *err)
{
	char *end;
	long number;

	errno = 0;
	number = strtol(text, &end, 10);
	if (errno || end == text || *end || number <= 0 || number > INT_MAX) {
		err_set(err, ERR_INVALID, "invalid process ID '%s'", text);
		err_hint(err, "`pgrep -a NAME` lists process IDs");
		return ERR_INVALID;
	}
	*pid = (pid_t)number;
	return 0;
}

int record_options_attached(const struct record_options *options, struct attached *attached,
			    struct err *err)
{
	size_t nr = options->pid_texts.nr;
	int status = 0;

	*attached = (struct attached){xcalloc(nr + 1, sizeof(pid_t)), nr, nr};
	for (size_t i = 0; i < nr && status == 0; i++)
		status = parse_pid(options->pid_texts.values[i], &attached->pids[i], err);
	if (status < 0)
		attached_release(attached);
	else if (!options->no_children)
		attached_add_descendants(attached);
	return status;
}

int record_options_threads(const struct record_options *options, regex_t *threads, struct err *err)
{
	int status = regcomp(threads, options->threads, REG_EXTENDED | REG_NOSUB);
	char why[128];

	if (status == 0)
		return 0;
	regerror(status, threads, why, sizeof(why));
	return err_set(err, ERR_INVALID, "--threads: invalid regular expression '%s': %s",
		       options->threads, why);
}
