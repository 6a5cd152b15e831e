// SPDX-License-Identifier: GPL-2.0-or-later
/* profc whatif: a command that ends is run again and again; its time is the progress. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/minmax.h"
#include "cmd/command.h"
#include "cmd/live.h"
#include "cmd/recording_child.h"
#include "cmd/search_path.h"
#include "cmd/signal_pipe.h"
#include "cmd/whatif_priv.h"
#include "sampler/sampler.h"

/*
 * The first run is sampled, and the second one is a baseline; then each trial has one after it. A
 * function needs two trials at each of two speeds.
 */
#define RUNS_LEAST	    10
#define TRIALS_FOR_FUNCTION 6

#define UNFINISHED 1

/* A signal that kills the command comes to profc, too, about then. */
#define ASKED_MS 50
/* A program that writes into a pipe to us was started together with us. */
#define WRITER_MS 100

/* --- what runs read and write --- */

static void warn_of_pipe(void)
{
	struct stat file;
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};

	if (fstat(STDIN_FILENO, &file) < 0 || !(S_ISFIFO(file.st_mode) || S_ISSOCK(file.st_mode)) ||
	    poll(&input, 1, WRITER_MS) != 1 || !(input.revents & POLLIN))
		return;
	print_warning("standard input is a pipe, which can be read only once: runs have none");
	print_hint("'< FILE' gives the same file to each run; --progress FUNCTION needs one run");
}

void whatif_keep_input(struct whatif *whatif)
{
	int nothing;

	whatif->runs.input_at = lseek(STDIN_FILENO, 0, SEEK_CUR);
	if (whatif->runs.input_at >= 0)
		return;
	warn_of_pipe();
	nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (nothing < 0)
		return;
	dup2(nothing, STDIN_FILENO);
	close(nothing);
}

/* Have `fd` lead elsewhere for a moment; returns where it led. */
static int lend(int fd, int other)
{
	int kept = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	dup2(other, fd);
	return kept;
}

static void take_back(int fd, int kept)
{
	if (kept < 0)
		return;
	dup2(kept, fd);
	close(kept);
}

/* It has the same input as the first one; what it writes was written by that one. */
static int start_run(const struct whatif *whatif, struct launch *launch, struct err *err)
{
	cleanup_close int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);
	int output, error, status;

	if (nothing < 0)
		return err_sys(err, "cannot open /dev/null");
	if (whatif->runs.input_at >= 0)
		lseek(STDIN_FILENO, whatif->runs.input_at, SEEK_SET);
	output = lend(STDOUT_FILENO, nothing);
	error = lend(STDERR_FILENO, nothing);
	status = launch_start(launch, whatif->argv, &whatif->former_signals, err);
	take_back(STDOUT_FILENO, output);
	take_back(STDERR_FILENO, error);
	return status;
}

/* --- how they end --- */

void whatif_wait_for_command(struct whatif *whatif)
{
	struct signal_pipe signals = SIGNAL_PIPE_NONE;
	sigset_t handled;
	int status = 0;

	if (!whatif->argv || whatif->is_reaped)
		return;
	sigemptyset(&handled);
	sigaddset(&handled, SIGINT);
	sigaddset(&handled, SIGTERM);
	sigaddset(&handled, SIGHUP);
	sigaddset(&handled, SIGQUIT);
	/* Nothing is held any more: profc stops with it. */
	sigaddset(&handled, SIGTSTP);
	signal_pipe_open(&signals, &handled);
	recording_child_wait(whatif->pid, signals.fd, &status);
	signal_pipe_close(&signals);
	if (!whatif->status)
		whatif->status = status;
}

static bool is_asked_to_end(const struct whatif *whatif)
{
	struct pollfd asked = {.fd = whatif->listener.asked_fd, .events = POLLIN};

	return poll(&asked, 1, ASKED_MS) == 1;
}

static void describe(int status, char *out, size_t cap)
{
	if (WIFSIGNALED(status))
		snprintf(out, cap, "died of signal %d", WTERMSIG(status));
	else
		snprintf(out, cap, "ended with status %d", WEXITSTATUS(status));
}

/* Did it end as the first one has? Else that is an error, and the end of all. */
static int check_end(struct whatif *whatif, int status, struct err *err)
{
	char now[40], first[40];

	whatif->is_reaped = true;
	if (!whatif->status)
		whatif->status = status;
	if (status == whatif->runs.first_status && !WIFSIGNALED(status))
		return 0;
	describe(status, now, sizeof(now));
	describe(whatif->runs.first_status, first, sizeof(first));
	whatif->runs.is_failed = true;
	whatif->cut_short = "a run has ended otherwise than the first one";
	if (WIFSIGNALED(status) && is_asked_to_end(whatif))
		err_set(err, ERR_GONE, "ended in the middle of a run");
	else if (WIFSIGNALED(status))
		err_set(err, ERR_GONE,
			whatif->experiment ? "a run of the command %s: there are no more trials"
					   : "the command %s: there is nothing to compare",
			now);
	else
		err_set(err, ERR_GONE,
			"a run of the command %s, the first one %s: their times cannot be compared",
			now, first);
	return err->code;
}

static void warn_of_failure(int status)
{
	char text[40];

	describe(status, text, sizeof(text));
	if (status)
		print_warning("the command %s: only runs that end so can be compared", text);
}

/* --- a run --- */

/* For experiment_options. */
static void find_function(void *context, struct experiment_function *function)
{
	struct whatif *whatif = context;

	whatif_candidates_map(&whatif->candidates, whatif->pid);
	*function = whatif_trial_function(whatif, whatif->runs.trial);
}

static int begin_run(struct whatif *whatif, struct err *err)
{
	struct launch launch = {.fd = -1};
	int status = start_run(whatif, &launch, err), failed;

	if (status < 0)
		return status;
	whatif->pid = launch.pid;
	whatif->is_reaped = false;
	status = experiment_aim(whatif->experiment, launch.pid, err);
	failed = status < 0 ? 0 : launch_run(&launch);
	launch_release(&launch);
	if (!failed)
		return status;
	program_explain_failure(whatif->argv[0], failed, err);
	return err->code;
}

/* UNFINISHED: the time is over, or the user has asked for the end. It is not held any more. */
static int run_once(struct whatif *whatif, const struct whatif_trial *trial,
		    struct whatif_window *window, struct err *err)
{
	/* Where its code is in this run is not known yet. */
	struct experiment_function function = {.part = whatif_trial_function(whatif, trial).part};
	struct experiment_counts counts;
	bool is_over;
	int status;

	whatif->runs.trial = trial;
	status = begin_run(whatif, err);
	if (status < 0)
		return status;
	is_over = experiment_run_to_end(whatif->experiment, &function, whatif->end_ns, window);
	if (!is_over && clock_monotonic_ns() < whatif->end_ns)
		whatif->cut_short = whatif_why_cut_short(whatif);
	experiment_aim(whatif->experiment, 0, NULL);
	counts = experiment_counts(whatif->experiment);
	if (!is_over) {
		whatif->is_reaped = counts.is_reaped;
		if (counts.is_reaped && !whatif->status)
			whatif->status = counts.status;
		return UNFINISHED;
	}
	if (counts.is_reaped)
		status = counts.status;
	else
		child_reap(whatif->pid, &status);
	launch_reap_orphans(0);
	if (!trial)
		whatif_add_baseline(whatif, window);
	return check_end(whatif, status, err);
}

/* --- all runs --- */

static int run_trials(struct whatif *whatif, struct whatif_window *before, struct err *err)
{
	uint64_t longest_ns = before->real_ns;
	struct whatif_window window, after;
	struct whatif_trial trial;
	int status = 0;

	while (clock_monotonic_ns() + 2 * longest_ns < whatif->end_ns &&
	       whatif_plan_next(&whatif->plan, &trial)) {
		whatif_show_trial(whatif, &trial);
		status = run_once(whatif, &trial, &window, err);
		if (status == 0)
			status = run_once(whatif, NULL, &after, err);
		if (status)
			break;
		whatif_plan_add(&whatif->plan, &trial, &window, before, &after);
		whatif->nr_trials++;
		*before = after;
		longest_ns = max_u64(longest_ns, max_u64(window.real_ns, after.real_ns));
	}
	return status;
}

static size_t nr_functions(const struct whatif *whatif, const struct whatif_window *baseline)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t rest_ns = whatif->end_ns - min_u64(whatif->end_ns, now_ns);
	uint64_t nr = rest_ns / max_u64(2 * baseline->real_ns, 1) / TRIALS_FOR_FUNCTION;

	return min_u64(max_u64(nr, 1), whatif->candidates.nr);
}

static int experiment(struct whatif *whatif, struct err *err)
{
	const struct experiment_options options = {
		.max_slowdown = whatif->settings.max_slowdown,
		.refresh = find_function,
		.context = whatif,
		.ended = &whatif->listener.asked,
	};
	struct whatif_window baseline;
	int status;

	whatif->experiment = experiment_new(&options, err);
	if (!whatif->experiment)
		return err->code;
	status = run_once(whatif, NULL, &baseline, err);
	if (status == UNFINISHED && !whatif->cut_short)
		return err_set(err, ERR_GONE, "the time was over before the first trial");
	if (status == UNFINISHED)
		return whatif_refuse_cut(whatif, err);
	if (status < 0)
		return status;
	whatif_plan_init(&whatif->plan, nr_functions(whatif, &baseline), clock_monotonic_ns());
	status = run_trials(whatif, &baseline, err);
	if (status == UNFINISHED && whatif->cut_short && !whatif->nr_trials)
		return whatif_refuse_cut(whatif, err);
	if (status == UNFINISHED)
		return 0;
	if (status < 0 && whatif->nr_trials) {
		print_warning("%s", err->what);
		return 0;
	}
	return status;
}

static int refuse_long_run(uint64_t most_ns, struct err *err)
{
	err_set(err, ERR_LIMIT,
		"the command takes longer than %.1f s, a tenth of the time for all of its runs",
		(double)most_ns / (double)NS_PER_SEC);
	err_hint(err, "-d TIME gives it more; --progress FUNCTION or --written needs one run");
	return err->code;
}

int whatif_try_runs(struct whatif *whatif, struct err *err)
{
	uint64_t most_ns = (whatif->end_ns - whatif->begun_ns) / RUNS_LEAST;
	bool has_ended = whatif_sample(whatif, most_ns);
	const struct sampler_result *result = live_stop(whatif->live);
	int status = result->command_status;

	whatif->is_reaped = result->command_reaped;
	if (has_ended && atomic_load(&whatif->listener.asked)) {
		whatif->runs.is_failed = true;
		if (whatif->is_reaped)
			whatif->status = status;
		return err_set(err, ERR_GONE, "ended in the middle of the first run");
	}
	if (!has_ended)
		return refuse_long_run(most_ns, err);
	if (!whatif->is_reaped)
		child_reap(whatif->pid, &status);
	whatif->runs.first_status = status;
	if (check_end(whatif, status, err) < 0)
		return err->code;
	warn_of_failure(status);
	if (whatif_choose(whatif, 0, err) < 0)
		return err->code;
	return experiment(whatif, err);
}
