// SPDX-License-Identifier: GPL-2.0-or-later
/* profc whatif: which function is worth making faster, by experiment. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/end_listener.h"
#include "base/err.h"
#include "base/minmax.h"
#include "base/output_file.h"
#include "base/sink.h"
#include "cmd/command.h"
#include "cmd/counting.h"
#include "cmd/live.h"
#include "cmd/record_options.h"
#include "cmd/recording_child.h"
#include "cmd/search_path.h"
#include "cmd/signal_pipe.h"
#include "cmd/view_options.h"
#include "cmd/whatif_functions.h"
#include "holding/experiment.h"
#include "probe/prober.h"
#include "proc/read.h"
#include "proc/task.h"
#include "profile/profile.h"
#include "roster/attached.h"
#include "sampler/sampler.h"
#include "symbol/resolve.h"
#include "tracee/launch.h"
#include "view/whatif_text.h"
#include "whatif/plan.h"

#define DURATION_NS	 (60 * NS_PER_SEC)
#define LIMIT_DEFAULT	 5
#define LIMIT_MAX	 50
#define SLOWDOWN_PERCENT 50

/* Part of the time in which functions are looked for, and bounds of it. */
#define SAMPLE_PART	6
#define SAMPLE_LEAST_NS NS_PER_SEC
#define SAMPLE_MOST_NS	(10 * NS_PER_SEC)

/* The lengths of trials and baselines: so long, and so that this much progress is made. */
#define WINDOW_NS      (400 * NS_PER_MS)
#define WINDOW_MOST_NS (2 * NS_PER_SEC)
#define WINDOW_STEPS   20

struct whatif_args {
	struct record_options record;
	const char *progress;
	double max_slowdown_percent;
	uint64_t limit;
	bool json, csv;
	const char *output;
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
	 .help = "the program's progress is the calls of this function (default: the bytes that "
		 "it writes)"},
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

struct whatif {
	struct whatif_args *args;
	char **argv; /* NULL: attached */
	struct attached attached;
	struct child_signals former_signals;
	struct end_listener listener;
	struct counting *counting; /* NULL: written bytes are the progress */
	struct live *live;
	pid_t pid;
	uint64_t begun_ns, end_ns;
	struct whatif_candidates candidates;
	struct whatif_plan plan;
	struct experiment *experiment;
	struct whatif_window baselines; /* the sum of all */
	uint64_t nr_trials;
	bool is_cut_short;
	int status; /* of the command, as of waitpid(2) */
	bool is_reaped;
};

/* --- which functions are there to be tried --- */

static uint64_t written_bytes(pid_t pid)
{
	struct buf text = {0};
	uint64_t read_bytes, written = 0;

	if (proc_read_process_file(pid, "io", &text))
		proc_io_parse((const char *)text.bytes, text.nr_bytes, &read_bytes, &written);
	buf_release(&text);
	return written;
}

static uint64_t progress_of(void *context)
{
	const struct whatif *whatif = context;

	return whatif->counting ? prober_nr_calls(counting_prober(whatif->counting))
				: written_bytes(whatif->pid);
}

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

/* Sample for a while, or until the processes have ended, or the user asks for the end. */
static void sample(struct whatif *whatif)
{
	uint64_t length_ns = (whatif->end_ns - whatif->begun_ns) / SAMPLE_PART;
	struct pollfd fds[] = {
		{.fd = sampler_done_fd(live_sampler(whatif->live)), .events = POLLIN},
		{.fd = whatif->listener.asked_fd, .events = POLLIN},
	};

	length_ns = min_u64(max_u64(length_ns, SAMPLE_LEAST_NS), SAMPLE_MOST_NS);
	if (may_show_progress())
		print_progress("looking for functions with much CPU time");
	poll(fds, ARRAY_SIZE(fds), (int)(length_ns / NS_PER_MS));
}

static int choose(struct whatif *whatif, struct err *err)
{
	struct symbol_options symbols =
		symbol_options_of(&whatif->args->record.symbols, &whatif->listener.asked);
	struct whatif_request request = {.pid = whatif->pid,
					 .limit = whatif->args->limit,
					 .names = (enum name_style)whatif->args->view.names};
	struct profile *profile;
	int status = live_profile(whatif->live, &profile, err);

	if (status < 0)
		return status;
	resolve_profile(profile, &symbols, NULL);
	request.profile = profile;
	status = whatif_candidates_find(&whatif->candidates, &request, err);
	profile_free(profile);
	return status;
}

/* --- the experiments --- */

static void show_progress(const struct whatif *whatif, const struct whatif_trial *trial)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct whatif_gain gain =
		whatif_point_gain(&whatif->plan.functions[trial->function].points[trial->speed]);
	const char *name = whatif->candidates.rows[trial->function].name;
	double faster = 100 * whatif_speeds[trial->speed];
	unsigned int left_s =
		(unsigned int)((whatif->end_ns - min_u64(whatif->end_ns, now_ns)) / NS_PER_SEC);

	if (!may_show_progress())
		return;
	if (gain.is_known)
		print_progress("%u s left: %s %.0f%% faster: %+.0f%% \xc2\xb1 %.0f", left_s, name,
			       faster, gain.percent, gain.half_percent);
	else
		print_progress("%u s left: %s %.0f%% faster", left_s, name, faster);
}

/* In a baseline there is no function, but as many stops. */
static bool run_window(struct whatif *whatif, const struct whatif_trial *trial, uint64_t length_ns,
		       struct whatif_window *window)
{
	struct experiment_function function = {.part = 0};

	if (trial) {
		const struct whatif_candidate *candidate =
			&whatif->candidates.candidates[trial->function];

		function = (struct experiment_function){.ranges = candidate->ranges,
							.nr_ranges = candidate->nr_ranges,
							.part = whatif_speeds[trial->speed]};
	}
	if (!experiment_run(whatif->experiment, &function, length_ns, window))
		return false;
	if (!trial) {
		whatif->baselines.progress += window->progress;
		whatif->baselines.virtual_ns += window->virtual_ns;
	}
	return true;
}

static uint64_t window_ns(const struct whatif_window *baseline)
{
	uint64_t step_ns = baseline->real_ns / max_u64(baseline->progress, 1);

	return min_u64(max_u64(WINDOW_NS, WINDOW_STEPS * step_ns), WINDOW_MOST_NS);
}

static int refuse_standstill(const struct whatif *whatif, struct err *err)
{
	if (whatif->counting)
		err_set(err, ERR_NOT_FOUND, "'%s' was not called: there is no progress to measure",
			whatif->args->progress);
	else
		err_set(err, ERR_NOT_FOUND, "the program writes nothing: there is no progress");
	err_hint(err, "--progress FUNCTION names what is called for each piece of work");
	return ERR_NOT_FOUND;
}

static void run_trials(struct whatif *whatif, uint64_t length_ns, struct whatif_window *before)
{
	struct whatif_trial trial;
	struct whatif_window window, after;

	while (clock_monotonic_ns() + 2 * length_ns < whatif->end_ns &&
	       whatif_plan_next(&whatif->plan, &trial)) {
		show_progress(whatif, &trial);
		if (!run_window(whatif, &trial, length_ns, &window) ||
		    !run_window(whatif, NULL, length_ns, &after)) {
			whatif->is_cut_short = true;
			return;
		}
		whatif_plan_add(&whatif->plan, &trial, &window, before, &after);
		whatif->nr_trials++;
		*before = after;
	}
}

static int experiment(struct whatif *whatif, struct err *err)
{
	const struct experiment_options options = {
		.pid = whatif->pid,
		.max_slowdown = whatif->args->max_slowdown_percent / 100,
		.progress = progress_of,
		.context = whatif,
		.ended = &whatif->listener.asked,
	};
	struct whatif_window baseline;
	int status = 0;

	whatif->experiment = experiment_new(&options, err);
	if (!whatif->experiment)
		return err->code;
	if (whatif->counting)
		prober_set_counting(counting_prober(whatif->counting),
				    (struct prober_counting){.calls = true}, clock_monotonic_ns());
	whatif_plan_init(&whatif->plan, whatif->candidates.nr, clock_monotonic_ns());
	if (!run_window(whatif, NULL, 2 * WINDOW_NS, &baseline))
		status = err_set(err, ERR_GONE, "the program has ended before the first trial");
	else if (!baseline.progress)
		status = refuse_standstill(whatif, err);
	else
		run_trials(whatif, window_ns(&baseline), &baseline);
	return status;
}

/* --- the result --- */

static void print_to(const struct whatif *whatif, const struct whatif_facts *facts,
		     struct sink *sink, int fd)
{
	struct view view = view_options_resolve_for(&whatif->args->view, fd);

	if (whatif->args->json)
		whatif_print_json(facts, sink);
	else if (whatif->args->csv)
		whatif_print_csv(facts, sink);
	else
		whatif_print_text(facts, &view, sink);
}

static int print(const struct whatif *whatif, const struct whatif_facts *facts, struct err *err)
{
	struct output_file file;
	struct sink sink;
	int failed;

	if (whatif->args->output) {
		if (output_file_open(&file, whatif->args->output, err) < 0)
			return err->code;
		print_to(whatif, facts, &file.sink, -1);
		return output_file_finish(&file, err);
	}
	sink_init_fd(&sink, STDERR_FILENO);
	print_to(whatif, facts, &sink, STDERR_FILENO);
	failed = sink_flush(&sink);
	sink_release(&sink);
	errno = failed;
	return failed ? err_sys(err, "cannot write standard error") : 0;
}

static int show(const struct whatif *whatif, const struct experiment_counts *counts,
		struct err *err)
{
	cleanup_free char *progress = whatif->args->progress
					      ? xasprintf("calls of %s", whatif->args->progress)
					      : xstrdup("bytes written");
	const struct whatif_window *baselines = &whatif->baselines;
	const struct whatif_facts facts = {
		.rows = whatif->candidates.rows,
		.functions = whatif->plan.functions,
		.nr = whatif->candidates.nr,
		.progress = progress,
		.rate = baselines->virtual_ns
				? (double)baselines->progress / (double)baselines->virtual_ns *
					  (double)NS_PER_SEC
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
		.is_cut_short = whatif->is_cut_short,
	};

	return print(whatif, &facts, err);
}

/* --- the run --- */

static int find_and_try(struct whatif *whatif, struct err *err)
{
	struct experiment_counts counts = {.nr_holds = 0};
	const struct sampler_result *result;
	int status;

	sample(whatif);
	status = choose(whatif, err);
	result = live_stop(whatif->live);
	whatif->is_reaped = result->command_reaped;
	whatif->status = result->command_status;
	if (status == 0)
		status = experiment(whatif, err);
	if (may_show_progress())
		print_progress("%s", "");
	if (whatif->experiment) {
		counts = experiment_counts(whatif->experiment);
		experiment_free(whatif->experiment);
	}
	if (counts.is_reaped) {
		whatif->is_reaped = true;
		whatif->status = counts.status;
	}
	if (whatif->counting)
		counting_end(whatif->counting);
	return status == 0 ? show(whatif, &counts, err) : status;
}

static void wait_for_command(struct whatif *whatif)
{
	struct signal_pipe signals = SIGNAL_PIPE_NONE;
	sigset_t handled;

	if (!whatif->argv || whatif->is_reaped)
		return;
	sigemptyset(&handled);
	sigaddset(&handled, SIGINT);
	sigaddset(&handled, SIGTERM);
	sigaddset(&handled, SIGHUP);
	sigaddset(&handled, SIGQUIT);
	signal_pipe_open(&signals, &handled);
	recording_child_wait(whatif->pid, signals.fd, &whatif->status);
	signal_pipe_close(&signals);
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

static void take_over_signals(struct whatif *whatif)
{
	sigset_t ours;

	sigemptyset(&ours);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGHUP);
	sigaddset(&ours, SIGQUIT);
	/* A closed pipe or a full disk is an error of write(2), not the end of profc. */
	sigaddset(&ours, SIGPIPE);
	sigaddset(&ours, SIGXFSZ);
	child_signals_take_over(&ours, &whatif->former_signals);
	end_listener_start(&whatif->listener, NULL);
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
	whatif->begun_ns = clock_monotonic_ns();
	whatif->end_ns = whatif->begun_ns + whatif->args->record.duration_ns;
	whatif->args->record.duration_ns = 0;
	if (start(whatif, &reason, &err) < 0) {
		end_listener_stop(&whatif->listener);
		if (reason)
			return say_not_executable(whatif, reason);
		print_err(&err);
		return own_failure;
	}
	status = find_and_try(whatif, &err);
	live_free(whatif->live);
	end_listener_stop(&whatif->listener);
	if (status < 0)
		print_err(&err);
	wait_for_command(whatif);
	if (status < 0)
		return own_failure;
	return whatif->argv ? status_of_command(whatif) : EXIT_DONE;
}

static int check(const struct whatif_args *args, bool has_command, struct err *err)
{
	if (args->json && args->csv)
		return err_set(err, ERR_INVALID, "--json cannot be combined with --csv");
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

	if (status == 0 && !has_command)
		status = record_options_attached(record, &whatif->attached, err);
	if (status < 0)
		return status;
	record_options_settle(record);
	record->no_children = true;
	if (!whatif->args->progress)
		return 0;
	record->count.functions = (struct option_list){.values = &whatif->args->progress, .nr = 1};
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
	whatif_plan_release(&whatif.plan);
	whatif_candidates_release(&whatif.candidates);
	counting_free(whatif.counting);
	attached_release(&whatif.attached);
	options_release(rows, &args);
	return status;
}

const struct command command_whatif = {
	.name = "whatif",
	.synopsis = "[OPTIONS] [--progress REGEX] -p PID | [--] CMD [ARG...]",
	.summary = "which function is worth making faster, by experiment",
	.help = "A profile says where time goes, not what would help. For each of the functions "
		"with the most CPU time profc makes the program run as if that function were "
		"faster: while it runs, all other threads are held for a part of its time, and "
		"what was held is taken off the clock. The table has what the program would gain, "
		"with its uncertainty, at several speeds.\n\n"
		"Examples:\n"
		"  profc whatif -p 1234 --progress handle_request\n"
		"  profc whatif --progress encode_frame -d 3m -- ./program",
	.options = rows,
	.runs_command = true,
	.run = run_whatif,
};
