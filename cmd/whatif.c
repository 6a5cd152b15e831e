// SPDX-License-Identifier: GPL-2.0-or-later
/* profc whatif: which function is worth making faster, by experiment. */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/output_file.h"
#include "base/sink.h"
#include "cmd/command.h"
#include "cmd/counting.h"
#include "cmd/live.h"
#include "cmd/record_options.h"
#include "cmd/recording_child.h"
#include "cmd/search_path.h"
#include "cmd/view_options.h"
#include "cmd/whatif_priv.h"
#include "export/whatif_page.h"
#include "profile/profile.h"
#include "sampler/sampler.h"
#include "view/whatif_facts.h"
#include "view/whatif_text.h"

#define DURATION_NS	 (60 * NS_PER_SEC)
#define LIMIT_DEFAULT	 5
#define LIMIT_MAX	 50
#define SLOWDOWN_PERCENT 50
/* A run may be short, and so is the time to find its functions; what that costs does not count. */
#define RUN_HZ		     2000
#define RUN_OVERHEAD_PERCENT 20
/* A job has stopped by then. */
#define STOP_US 20000

struct whatif_args {
	struct record_options record;
	const char *progress, *latency;
	bool written;
	double max_slowdown_percent;
	uint64_t limit;
	bool json, csv, html;
	const char *output;
	struct output_file file; /* it, opened before any work is done */
	bool is_open;
	struct view_options view;
};

#define AT(member)	  offsetof(struct whatif_args, member)
#define RECORD_AT(member) offsetof(struct whatif_args, record.member)

static const struct option_row rows[] = {
	{.type = OPTION_SECTION, .name = "Target"},
	{.type = OPTION_LIST,
	 .short_name = 'p',
	 .name = "pid",
	 .argument = "PID",
	 .offset = RECORD_AT(pid_texts),
	 .commas = true,
	 .help = "experiment with this running process"},
	{.type = OPTION_STRING,
	 .name = "progress",
	 .argument = "REGEX",
	 .offset = AT(progress),
	 .help = "the program's progress is the calls of this function"},
	{.type = OPTION_FLAG,
	 .name = "written",
	 .offset = AT(written),
	 .help = "its progress is the bytes that it writes (default with -p)"},
	{.type = OPTION_STRING,
	 .name = "latency",
	 .argument = "BEGIN:END",
	 .offset = AT(latency),
	 .help = "how much less time is between the calls of two functions, and not how much "
		 "more progress"},
	{.type = OPTION_DURATION,
	 .short_name = 'd',
	 .name = "duration",
	 .argument = "TIME",
	 .offset = RECORD_AT(duration_ns),
	 .min = 3e9,
	 .max = 1e14,
	 .help = "take TIME for it, at most: 30s, 5m (default: 60s)"},
	{.type = OPTION_DOUBLE,
	 .name = "max-slowdown",
	 .argument = "PCT",
	 .offset = AT(max_slowdown_percent),
	 .min = 5,
	 .max = 95,
	 .help = "hold the program for no more than PCT% of any second (default: 50)"},
	{.type = OPTION_SECTION, .name = "Display"},
	{.type = OPTION_UINT,
	 .short_name = 'n',
	 .name = "limit",
	 .argument = "N",
	 .offset = AT(limit),
	 .min = 1,
	 .max = LIMIT_MAX,
	 .help = "functions to try (default: 5)"},
	JSON_OPTION_ROW(struct whatif_args, json),
	{.type = OPTION_FLAG,
	 .name = "csv",
	 .offset = AT(csv),
	 .help = "comma-separated values (RFC 4180)"},
	{.type = OPTION_FLAG,
	 .name = "html",
	 .offset = AT(html),
	 .help = "write a page for any browser to the FILE of -o, with a curve for each function"},
	{.type = OPTION_FILE,
	 .short_name = 'o',
	 .name = "output",
	 .argument = "FILE",
	 .offset = AT(output),
	 .help = "write to FILE, not to standard error"},
	COLOR_OPTION_ROW(struct whatif_args, view.color),
	WIDTH_OPTION_ROW(struct whatif_args, view),
	NAMES_OPTION_ROW(struct whatif_args, view),
	SYMBOL_OPTION_ROWS(struct whatif_args, record.symbols),
	OPTIONS_END,
};

/* --- the result --- */

static void print_to(const struct whatif *whatif, const struct whatif_facts *facts,
		     struct sink *sink, int fd)
{
	struct view view = view_options_resolve_for(&whatif->args->view, fd);

	if (whatif->args->json)
		whatif_print_json(facts, sink);
	else if (whatif->args->csv)
		whatif_print_csv(facts, sink);
	else if (whatif->args->html)
		whatif_write_html(facts, sink);
	else
		whatif_print_text(facts, &view, sink);
}

static int print(const struct whatif *whatif, const struct whatif_facts *facts, struct err *err)
{
	struct sink sink;
	int failed;

	if (whatif->args->is_open) {
		print_to(whatif, facts, &whatif->args->file.sink, -1);
		whatif->args->is_open = false;
		return output_file_finish(&whatif->args->file, err);
	}
	sink_init_fd(&sink, STDERR_FILENO);
	print_to(whatif, facts, &sink, STDERR_FILENO);
	failed = sink_flush(&sink);
	sink_release(&sink);
	errno = failed;
	return failed ? err_sys(err, "cannot write standard error") : 0;
}

/* If nothing was written. */
static void discard_output(struct whatif_args *args)
{
	if (args->is_open)
		output_file_discard(&args->file);
	args->is_open = false;
}

static char *progress_text(const struct whatif *whatif)
{
	switch (whatif->settings.measure) {
	case WHATIF_WRITTEN:
		break;
	case WHATIF_CALLS:
		return xasprintf("calls of %s", whatif->settings.function);
	case WHATIF_RUNS:
		return xasprintf("runs of %s", whatif->argv[0]);
	case WHATIF_LATENCY:
		return whatif_latency_text(whatif);
	}
	return xstrdup("bytes written");
}

static int show(const struct whatif *whatif, const struct experiment_counts *counts,
		struct err *err)
{
	cleanup_free char *progress = progress_text(whatif);
	const struct whatif_window *baselines = &whatif->baselines;
	const struct whatif_facts facts = {
		.rows = whatif->candidates.rows,
		.functions = whatif->plan.functions,
		.nr = whatif->plan.nr_functions,
		.progress = progress,
		.rate = baselines->virtual_ns
				? (double)baselines->progress / (double)baselines->virtual_ns *
					  (double)NS_PER_SEC
				: 0,
		.run_ns = whatif->settings.measure == WHATIF_RUNS && baselines->progress
				  ? baselines->virtual_ns / baselines->progress
				  : 0,
		.time_ns = whatif->settings.measure == WHATIF_LATENCY
				   ? whatif_window_time_ns(baselines, whatif->plan.none)
				   : 0,
		.elapsed_ns = counts->real_ns,
		.slower_percent = counts->real_ns
					  ? 100.0 * (double)(counts->real_ns - counts->virtual_ns) /
						    (double)counts->real_ns
					  : 0,
		.nr_threads = counts->nr_threads,
		.nr_trials = whatif->nr_trials,
		.nr_holds = counts->nr_holds,
		.nr_sleeps = counts->nr_sleeps,
		.nr_undecided = counts->nr_undecided,
		.spared_percent = counts->nr_running ? 100.0 * (double)counts->nr_spared /
							       (double)counts->nr_running
						     : 0,
		.cut_short = whatif->cut_short,
	};

	return print(whatif, &facts, err);
}

/* --- the run --- */

static int start(struct whatif *whatif, int *exec_errno, struct err *err)
{
	const struct live_request request = {.options = &whatif->args->record,
					     .counting = whatif->counting,
					     .argv = whatif->argv,
					     .attached = &whatif->attached,
					     .command_signals = &whatif->former_signals,
					     .ended = &whatif->listener.asked,
					     .exec_errno = exec_errno};

	whatif->live = live_start(&request, err);
	if (!whatif->live)
		return err->code;
	whatif->pid = whatif->argv ? live_command(whatif->live) : whatif->attached.pids[0];
	return 0;
}

static int find_and_try(struct whatif *whatif, struct err *err)
{
	struct experiment_counts counts = {.nr_holds = 0};
	int status = whatif->settings.measure == WHATIF_RUNS ? whatif_try_runs(whatif, err)
							     : whatif_try_process(whatif, err);

	if (may_show_progress())
		print_progress("%s", "");
	if (whatif->experiment) {
		/* A thread that is let go may be reaped. */
		experiment_aim(whatif->experiment, 0, NULL);
		counts = experiment_counts(whatif->experiment);
		experiment_free(whatif->experiment);
	}
	if (counts.is_reaped && !whatif->is_reaped) {
		whatif->is_reaped = true;
		if (!whatif->status)
			whatif->status = counts.status;
	}
	if (whatif->counting)
		counting_end(whatif->counting);
	return status == 0 ? show(whatif, &counts, err) : status;
}

static int say_not_executable(const struct whatif *whatif, int reason)
{
	struct err err = ERR_INIT;
	int status = program_explain_failure(whatif->argv[0], reason, &err);

	print_err(&err);
	return status == ERR_NOT_FOUND ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

/* As a shell has it; where profc can, it dies of the signal that the command died of. */
static int status_of_command(const struct whatif *whatif)
{
	if (!WIFSIGNALED(whatif->status))
		return WEXITSTATUS(whatif->status);
	recording_child_die_alike(WTERMSIG(whatif->status));
	return 128 + WTERMSIG(whatif->status);
}

/*
 * Job control stops the whole job, but threads that are held would stand still with us, and a trial
 * would last as long: all of it goes on. Some programs take a moment to stop.
 */
static void continue_job(void)
{
	usleep(STOP_US);
	kill(0, SIGCONT);
}

static void take_over_signals(struct whatif *whatif)
{
	sigset_t ours;

	sigemptyset(&ours);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGHUP);
	sigaddset(&ours, SIGQUIT);
	sigaddset(&ours, SIGTSTP);
	/* A closed pipe or a full disk is an error of write(2), not the end of profc. */
	sigaddset(&ours, SIGPIPE);
	sigaddset(&ours, SIGXFSZ);
	child_signals_take_over(&ours, &whatif->former_signals);
	end_listener_start(&whatif->listener, continue_job);
}

/* From the terminal the command, or the current run of it, has got the signal as well. */
static void pass_on(const struct whatif *whatif)
{
	const struct signalfd_siginfo *info = &whatif->listener.info;

	if (whatif->argv && !whatif->is_reaped && info->ssi_code != SI_KERNEL)
		kill(whatif->pid, (int)info->ssi_signo);
}

static int run(struct whatif *whatif)
{
	struct err err = ERR_INIT;
	int own_failure = whatif->argv ? EXIT_PROFC_FAILED : EXIT_CANNOT;
	int reason = whatif->argv ? program_foresee_failure(whatif->argv[0]) : 0;
	int status;

	if (reason)
		return say_not_executable(whatif, reason);
	sampler_reserve_descriptors();
	take_over_signals(whatif);
	if (whatif->settings.measure == WHATIF_RUNS)
		whatif_keep_input(whatif);
	whatif->begun_ns = clock_monotonic_ns();
	whatif->end_ns = whatif->begun_ns + whatif->args->record.duration_ns;
	whatif->args->record.duration_ns = 0;
	if (start(whatif, &reason, &err) < 0) {
		end_listener_stop(&whatif->listener);
		if (whatif->counting)
			counting_end(whatif->counting);
		if (reason)
			return say_not_executable(whatif, reason);
		print_err(&err);
		return own_failure;
	}
	counting_say_trouble(whatif->counting);
	status = find_and_try(whatif, &err);
	live_free(whatif->live);
	if (end_listener_stop(&whatif->listener))
		pass_on(whatif);
	if (status < 0)
		print_err(&err);
	/* The end may be that of the command, by a signal. */
	discard_output(whatif->args);
	whatif_wait_for_command(whatif);
	if (status < 0 && !whatif->runs.is_failed)
		return own_failure;
	return whatif->argv ? status_of_command(whatif) : EXIT_DONE;
}

static int check(const struct whatif_args *args, bool has_command, struct err *err)
{
	if (args->json + args->csv + args->html > 1)
		return err_set(err, ERR_INVALID, "--%s cannot be combined with --%s",
			       args->json ? "json" : "csv", args->html ? "html" : "csv");
	if (args->html && !args->output)
		return err_set(err, ERR_INVALID, "--html needs -o FILE");
	if (args->progress && args->written)
		return err_set(err, ERR_INVALID, "--progress cannot be combined with --written");
	if (args->latency && (args->progress || args->written))
		return err_set(err, ERR_INVALID, "--latency cannot be combined with %s",
			       args->progress ? "--progress" : "--written");
	if (has_command && args->record.pid_texts.nr)
		return err_set(err, ERR_INVALID, "-p cannot be combined with a command");
	if (!has_command && args->record.pid_texts.nr != 1) {
		err_set(err, ERR_INVALID, "one process or command is wanted");
		err_hint(err, "profc whatif --progress FUNCTION -p PID, or -- CMD [ARG...]");
		return ERR_INVALID;
	}
	return 0;
}

static int prepare(struct whatif *whatif, bool has_command, struct err *err)
{
	struct record_options *record = &whatif->args->record;
	int status = check(whatif->args, has_command, err);

	/* Children would be counted, but not held. */
	record->no_children = true;
	if (status == 0 && !has_command)
		status = record_options_attached(record, &whatif->attached, err);
	if (status < 0)
		return status;
	whatif->settings = (struct whatif_settings){
		.record = record,
		.measure = whatif->args->latency		   ? WHATIF_LATENCY
			   : whatif->args->progress		   ? WHATIF_CALLS
			   : has_command && !whatif->args->written ? WHATIF_RUNS
								   : WHATIF_WRITTEN,
		.function = whatif->args->latency ? whatif->args->latency : whatif->args->progress,
		.max_slowdown = whatif->args->max_slowdown_percent / 100,
		.limit = whatif->args->limit,
		.names = (enum name_style)whatif->args->view.names};
	if (whatif->settings.measure == WHATIF_RUNS) {
		record->frequency_hz = RUN_HZ;
		record->max_overhead_percent = RUN_OVERHEAD_PERCENT;
	}
	record_options_settle(record);
	if (whatif->args->output) {
		if (output_file_open(&whatif->args->file, whatif->args->output, err) < 0)
			return err->code;
		whatif->args->is_open = true;
	}
	if (!whatif->settings.function)
		return 0;
	record->count.latency = whatif->args->latency;
	if (!whatif->args->latency)
		record->count.functions =
			(struct option_list){.values = &whatif->args->progress, .nr = 1};
	return counting_new(&record->count, symbol_options_of(&record->symbols, NULL), false,
			    &whatif->counting, err);
}

static int run_whatif(const struct command *self, int argc, char **argv)
{
	struct whatif_args args = {.limit = LIMIT_DEFAULT,
				   .max_slowdown_percent = SLOWDOWN_PERCENT,
				   .view = VIEW_OPTIONS_INIT};
	struct whatif whatif = {.args = &args, .listener = {.asked_fd = -1}};
	struct err err = ERR_INIT;
	int first = 0, status;

	record_options_init(&args.record);
	args.record.duration_ns = DURATION_NS;
	if (options_parse(rows, &args, argc, argv, true, &first, &err) < 0) {
		status = usage_error(self, &err);
	} else if (prepare(&whatif, first < argc, &err) < 0) {
		status = fail_or_usage_error(self, &err);
	} else {
		whatif.argv = first < argc ? argv + first : NULL;
		status = run(&whatif);
	}
	discard_output(&args);
	whatif_plan_release(&whatif.plan);
	whatif_candidates_release(&whatif.candidates);
	profile_free(whatif.profile);
	counting_free(whatif.counting);
	attached_release(&whatif.attached);
	options_release(rows, &args);
	return status;
}

const struct command command_whatif = {
	.name = "whatif",
	.synopsis = "[OPTIONS] -p PID | [--] CMD [ARG...]",
	.summary = "which function is worth making faster, by experiment",
	.help = "A profile says where time goes, not what would help. For each of the functions "
		"with the most CPU time profc makes the program run as if that function were "
		"faster: while it runs, all other threads are held for a part of its time, and "
		"what was held is taken off the clock. The table has what the program would gain, "
		"with its uncertainty, at several speeds.\n\n"
		"A command is run again and again, and its time is what counts, unless --progress, "
		"--written or --latency is given: then one run is enough.\n\n"
		"Examples:\n"
		"  profc whatif -- ./program ARG\n"
		"  profc whatif -p 1234 --progress handle_request\n"
		"  profc whatif -p 1234 --latency begin_request:end_request\n"
		"  profc whatif --progress encode_frame -d 3m -- ./program",
	.options = rows,
	.runs_command = true,
	.run = run_whatif,
};
