// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/live.h"

#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/err.h"
#include "cmd/counting.h"
#include "cmd/record_options.h"
#include "cmd/recording_meta.h"
#include "cmd/search_path.h"
#include "collector/collector.h"
#include "profile/extend_sleeps.h"
#include "profile/profile.h"
#include "profile/short_lives.h"
#include "profile/spread.h"
#include "roster/attached.h"
#include "sampler/sampler.h"
#include "store/store.h"
#include "tracee/launch.h"

struct live {
	int fd; /* a file in memory */
	struct profile *profile;
	struct store_writer *writer;
	struct sampler *sampler; /* NULL: it has ended */
	struct sampler_result result;
	uint64_t resumed_ns; /* when last, on the recording's clock; 0: it never paused */
	uint64_t ended_ns;   /* when, by the same */
	regex_t threads;     /* of --threads, if has_threads */
	bool has_threads;
	struct child_signals former_signals;
	struct counting *counting; /* of the caller, or NULL */
	const char *program;	   /* of a command */
	struct launch launch;	   /* pid 0: none */
	int exec_errno;
};

static void release(struct live *live)
{
	launch_release(&live->launch);
	store_writer_free(live->writer);
	profile_free(live->profile);
	if (live->fd >= 0)
		close(live->fd);
	if (live->has_threads)
		regfree(&live->threads);
	free(live);
}

static int run_command(void *context)
{
	struct live *live = context;

	live->exec_errno = live->counting
				   ? counting_launch(live->counting, &live->launch, live->program)
				   : launch_run(&live->launch);
	return live->exec_errno;
}

static int start_command(struct live *live, const struct live_request *request, struct err *err)
{
	return launch_start(
		&live->launch, request->argv,
		request->command_signals ? request->command_signals : &live->former_signals, err);
}

static int start(struct live *live, const struct live_request *request, struct err *err)
{
	const struct record_options *options = request->options;
	struct sampler_options sampler_options = {
		.targets = {.pids = request->argv ? NULL : request->attached->pids,
			    .nr_pids = request->argv ? 0 : request->attached->nr_named,
			    .joiners = request->joiners},
		.run = request->argv ? run_command : NULL,
		.run_context = live,
		.frequency_hz = (uint32_t)options->frequency_hz,
		.max_overhead_ppm = (uint32_t)(options->max_overhead_percent * 10000),
		.duration_ns = options->duration_ns,
		.delay_ns = options->delay_ns,
		.follow_children = !options->no_children,
		.threads = live->has_threads ? &live->threads : NULL,
		.unwinder = (enum unwinder_kind)options->unwinder,
		.max_depth = options->max_depth,
		.counters = options->metrics.counters,
		.prober = counting_prober(request->counting),
		.ended = request->ended,
	};
	int status;

	if (request->argv && program_refuse_32_bit(request->argv[0], err) < 0)
		return ERR_UNSUPPORTED;
	live->fd = memfd_create("profc", MFD_CLOEXEC);
	/* Else all might write to it, and what it says would be anybody's. */
	if (live->fd < 0 || fchmod(live->fd, 0600) < 0)
		return err_sys(err, "cannot make a file in memory");
	status = store_writer_new(live->fd, &live->writer, err);
	if (status < 0)
		return status;
	status = request->argv ? start_command(live, request, err) : 0;
	if (status == 0 && request->counting && !request->argv)
		status = counting_attach(request->counting, request->attached, err);
	if (status < 0)
		return status;
	sampler_options.targets.command = request->argv ? live->launch.pid : 0;
	live->sampler = sampler_start(&sampler_options, live->profile, live->writer, err);
	if (live->sampler)
		return 0;
	if (live->exec_errno)
		program_explain_failure(request->argv[0], live->exec_errno, err);
	if (request->exec_errno)
		*request->exec_errno = live->exec_errno;
	return ERR_SYS;
}

struct live *live_start(const struct live_request *request, struct err *err)
{
	const struct record_options *options = request->options;
	struct live *live = xcalloc(1, sizeof(*live));
	sigset_t ours;

	live->fd = -1;
	live->launch.fd = -1;
	live->profile = profile_new();
	live->counting = request->counting;
	live->program = request->argv ? request->argv[0] : NULL;
	recording_meta_fill(live->profile, options, request->argv);
	sigemptyset(&ours);
	child_signals_take_over(&ours, &live->former_signals);
	live->has_threads =
		options->threads && record_options_threads(options, &live->threads, err) == 0;
	if ((live->has_threads || !options->threads) && start(live, request, err) == 0)
		return live;
	release(live);
	return NULL;
}

pid_t live_command(const struct live *live)
{
	return live->launch.pid;
}

struct sampler *live_sampler(struct live *live)
{
	return live->sampler;
}

int live_profile(struct live *live, struct profile **profile, struct err *err)
{
	uint64_t now_ns = live->ended_ns;
	struct collector_cut cut = {.look = NULL};
	char path[64];
	int status;

	if (live->sampler) {
		sampler_cut(live->sampler, &cut);
		if (!collector_cut_wait(&cut))
			return err_set(err, ERR_LIMIT,
				       "the recording could not be written to memory");
		now_ns = sampler_progress(live->sampler).elapsed_ns;
	}
	/* By its name, to read it from its beginning while it is written at its end. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", live->fd);
	status = store_read_path(path, profile, NULL, err);
	if (status == 0) {
		profile_spread_cpu_time(*profile);
		profile_estimate_short_lives(*profile);
	}
	if (status == 0 && live->sampler)
		profile_extend_sleeps(*profile, live->resumed_ns, now_ns);
	if (status == 0 && now_ns > (*profile)->meta.duration_ns)
		(*profile)->meta.duration_ns = now_ns;
	return status;
}

void live_pause(struct live *live)
{
	if (live->sampler)
		sampler_pause(live->sampler);
}

void live_resume(struct live *live)
{
	if (!live->sampler)
		return;
	live->resumed_ns = sampler_progress(live->sampler).elapsed_ns;
	sampler_resume(live->sampler);
}

const struct sampler_result *live_stop(struct live *live)
{
	if (live->sampler) {
		live->ended_ns = sampler_progress(live->sampler).elapsed_ns;
		sampler_finish(live->sampler, &live->result, NULL);
		live->sampler = NULL;
		/* With the counters of the end. What cannot be written is missing in the profile.
		 */
		store_writer_finish(live->writer, live->profile, NULL);
	}
	return &live->result;
}

void live_free(struct live *live)
{
	if (!live)
		return;
	live_stop(live);
	release(live);
}
