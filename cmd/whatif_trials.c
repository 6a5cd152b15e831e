// SPDX-License-Identifier: GPL-2.0-or-later
/* profc whatif: which functions there are to be tried, and experiments with a process that runs. */
#include <poll.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/minmax.h"
#include "cmd/command.h"
#include "cmd/counting.h"
#include "cmd/live.h"
#include "cmd/record_options.h"
#include "cmd/whatif_priv.h"
#include "probe/prober.h"
#include "proc/read.h"
#include "proc/task.h"
#include "profile/profile.h"
#include "sampler/sampler.h"
#include "symbol/resolve.h"

/* Part of the time in which functions are looked for, and bounds of it. */
#define SAMPLE_PART	6
#define SAMPLE_LEAST_NS NS_PER_SEC
#define SAMPLE_MOST_NS	(10 * NS_PER_SEC)

/* The lengths of trials and baselines: so long, and so that this much progress is made. */
#define WINDOW_NS      (400 * NS_PER_MS)
#define WINDOW_MOST_NS (2 * NS_PER_SEC)
#define WINDOW_STEPS   20
/* For requests, a queue of which takes a while to be typical; and at first, to see it empty. */
#define WINDOW_REQUESTS	     200
#define WINDOW_STAYS	     10 /* so many times as long as a request is inside */
#define WINDOW_STAYS_MOST_NS (10 * NS_PER_SEC)
#define FIRST_NS	     (2 * NS_PER_SEC)
#define FIRST_WINDOWS	     3

/* --- which functions are there to be tried --- */

bool whatif_sample(struct whatif *whatif, uint64_t length_ns)
{
	struct pollfd fds[] = {
		{.fd = sampler_done_fd(live_sampler(whatif->live)), .events = POLLIN},
		{.fd = whatif->listener.asked_fd, .events = POLLIN},
	};

	/* The first run of a command may write to the same terminal. */
	if (may_show_progress() && whatif->settings.measure != WHATIF_RUNS)
		print_progress("looking for functions with much CPU time");
	return poll(fds, ARRAY_SIZE(fds), (int)(length_ns / NS_PER_MS)) > 0;
}

int whatif_choose(struct whatif *whatif, pid_t pid, struct err *err)
{
	struct symbol_options symbols =
		symbol_options_of(&whatif->settings.record->symbols, &whatif->listener.asked);
	struct whatif_request request = {
		.pid = pid, .limit = whatif->settings.limit, .names = whatif->settings.names};
	int status = live_profile(whatif->live, &whatif->profile, err);

	if (status < 0)
		return status;
	resolve_profile(whatif->profile, &symbols, NULL);
	request.profile = whatif->profile;
	return whatif_candidates_find(&whatif->candidates, &request, err);
}

/* --- the experiments --- */

void whatif_show_trial(const struct whatif *whatif, const struct whatif_trial *trial)
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

struct experiment_function whatif_trial_function(const struct whatif *whatif,
						 const struct whatif_trial *trial)
{
	const struct whatif_candidate *candidate;

	if (!trial)
		return (struct experiment_function){.part = 0};
	candidate = &whatif->candidates.candidates[trial->function];
	return (struct experiment_function){.ranges = candidate->ranges,
					    .nr_ranges = candidate->nr_ranges,
					    .part = whatif_speeds[trial->speed]};
}

void whatif_add_baseline(struct whatif *whatif, const struct whatif_window *window)
{
	whatif->baselines.progress += window->progress;
	whatif->baselines.virtual_ns += window->virtual_ns;
	for (size_t i = 0; i < ARRAY_SIZE(window->flows); i++)
		whatif->baselines.flows[0] =
			whatif_flow_join(&whatif->baselines.flows[0], &window->flows[i]);
}

struct living {
	pid_t pid;
	bool is_there;
};

static bool note_living(void *context, pid_t tid)
{
	struct living *living = context;

	living->is_there = !proc_task_has_ended(living->pid, tid);
	return !living->is_there;
}

/* Without its first thread a process may live on. */
static bool program_has_ended(pid_t pid)
{
	struct living living = {.pid = pid};

	proc_for_each_task(pid, note_living, &living);
	return !living.is_there;
}

const char *whatif_why_cut_short(const struct whatif *whatif)
{
	if (atomic_load(&whatif->listener.asked))
		return "a signal asked for the end";
	return program_has_ended(whatif->pid) ? "the program has ended"
					      : "a thread of the program does not stop";
}

int whatif_refuse_cut(const struct whatif *whatif, struct err *err)
{
	return err_set(err, ERR_GONE, "%s before the end of the first trial", whatif->cut_short);
}

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

	if (whatif->settings.measure == WHATIF_LATENCY)
		return whatif_latency_ended(whatif);
	return whatif->counting ? prober_nr_calls(counting_prober(whatif->counting))
				: written_bytes(whatif->pid);
}

/* In a baseline there is no function, but as many stops. */
static bool run_window(struct whatif *whatif, const struct whatif_trial *trial, uint64_t length_ns,
		       struct whatif_window *window)
{
	struct experiment_function function = whatif_trial_function(whatif, trial);

	if (!experiment_run(whatif->experiment, &function, length_ns, window))
		return false;
	whatif_latency_note(whatif, window);
	if (!trial && !whatif_plan_drifts(&whatif->plan, window))
		whatif_add_baseline(whatif, window);
	return true;
}

static uint64_t window_ns(const struct whatif *whatif, const struct whatif_window *baseline)
{
	uint64_t step_ns = baseline->real_ns / max_u64(baseline->progress, 1);
	uint64_t stay_ns;

	if (whatif->settings.measure != WHATIF_LATENCY)
		return min_u64(max_u64(WINDOW_NS, WINDOW_STEPS * step_ns), WINDOW_MOST_NS);
	stay_ns = (uint64_t)whatif_window_time_ns(baseline, whatif->plan.none);
	return max_u64(min_u64(max_u64(WINDOW_NS, WINDOW_REQUESTS * step_ns), WINDOW_MOST_NS),
		       min_u64(WINDOW_STAYS * stay_ns, WINDOW_STAYS_MOST_NS));
}

static int refuse_standstill(const struct whatif *whatif, struct err *err)
{
	if (whatif->settings.measure == WHATIF_LATENCY)
		return err_set(err, ERR_NOT_FOUND, "no request has ended: '%s' has no time",
			       whatif->settings.function);
	if (whatif->counting)
		err_set(err, ERR_NOT_FOUND, "'%s' was not called: there is no progress to measure",
			whatif->settings.function);
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
		whatif_show_trial(whatif, &trial);
		if (!run_window(whatif, &trial, length_ns, &window) ||
		    !run_window(whatif, NULL, length_ns, &after)) {
			whatif->cut_short = whatif_why_cut_short(whatif);
			return;
		}
		whatif_plan_add(&whatif->plan, &trial, &window, before, &after);
		whatif->nr_trials++;
		*before = after;
	}
}

/* Requests that have gathered in a queue, as other programs had the CPUs, may first be served. */
static bool run_first(struct whatif *whatif, struct whatif_window *baseline)
{
	if (whatif->settings.measure != WHATIF_LATENCY)
		return run_window(whatif, NULL, 2 * WINDOW_NS, baseline);
	for (int i = 0; i < FIRST_WINDOWS; i++) {
		if (!run_window(whatif, NULL, FIRST_NS, baseline))
			return false;
		if (whatif_latency_can_begin(whatif, baseline))
			return true;
	}
	return true;
}

static int experiment(struct whatif *whatif, struct err *err)
{
	bool is_latency = whatif->settings.measure == WHATIF_LATENCY;
	const struct experiment_options options = {
		.pid = whatif->pid,
		.max_slowdown = whatif->settings.max_slowdown,
		.progress = progress_of,
		.inside = is_latency ? whatif_latency_inside : NULL,
		.context = whatif,
		.ended = &whatif->listener.asked,
	};
	struct whatif_window baseline;
	int status = is_latency ? whatif_latency_check(whatif, err) : 0;

	if (status < 0)
		return status;
	whatif->experiment = experiment_new(&options, err);
	if (!whatif->experiment)
		return err->code;
	/* A pair is read since the begin of the program, if it can be. */
	if (whatif->counting && !is_latency)
		prober_set_counting(counting_prober(whatif->counting),
				    (struct prober_counting){.calls = true}, clock_monotonic_ns());
	whatif_plan_init(&whatif->plan, whatif->candidates.nr, clock_monotonic_ns());
	if (!run_first(whatif, &baseline))
		whatif->cut_short = whatif_why_cut_short(whatif);
	else if (!baseline.progress)
		status = refuse_standstill(whatif, err);
	else if (is_latency)
		status = whatif_latency_begin(whatif, &baseline, err);
	if (status < 0)
		return status;
	if (is_latency && !whatif->cut_short)
		whatif_add_baseline(whatif, &baseline);
	if (!whatif->cut_short)
		run_trials(whatif, window_ns(whatif, &baseline), &baseline);
	return whatif->cut_short && !whatif->nr_trials ? whatif_refuse_cut(whatif, err) : 0;
}

int whatif_try_process(struct whatif *whatif, struct err *err)
{
	uint64_t length_ns = (whatif->end_ns - whatif->begun_ns) / SAMPLE_PART;
	const struct sampler_result *result;
	int status;

	whatif_sample(whatif, min_u64(max_u64(length_ns, SAMPLE_LEAST_NS), SAMPLE_MOST_NS));
	status = whatif_choose(whatif, whatif->pid, err);
	result = live_stop(whatif->live);
	whatif->is_reaped = result->command_reaped;
	whatif->status = result->command_status;
	return status == 0 ? experiment(whatif, err) : status;
}
