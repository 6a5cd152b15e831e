// SPDX-License-Identifier: GPL-2.0-or-later
/* The sampler of a recording; and another one, once the tables of a flight recorder are full. */
#include "agent/agent.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/minmax.h"
#include "cmd/command.h"
#include "cmd/record_options.h"
#include "cmd/recording_meta.h"
#include "cmd/recording_priv.h"
#include "mapping/code_filter.h"
#include "profile/profile.h"
#include "symbol/named_code.h"

static void look_for_both(void *context, const struct profile *profile)
{
	struct recording *recording = context;

	keep_collect(recording->keep, profile);
	agent_look(recording->agent, profile);
}

static struct sampler_look how_to_look(struct recording *recording)
{
	if (recording->keep && recording->agent)
		return (struct sampler_look){.look = look_for_both,
					     .context = recording,
					     .heap = keep_heap(recording->keep)};
	if (recording->keep)
		return (struct sampler_look){.look = keep_collect,
					     .context = recording->keep,
					     .heap = keep_heap(recording->keep)};
	return (struct sampler_look){.look = recording->agent ? agent_look : NULL,
				     .context = recording->agent};
}

struct sampler_options recording_sampler_options(struct recording *recording,
						 const struct recorded *recorded,
						 const struct code_filter_options *within)
{
	const struct record_options *options = recording->options;

	return (struct sampler_options){
		.targets = {.pids = recording->attached.pids,
			    .nr_pids = recording->attached.nr_named,
			    .joiners = recording_joiners(recording)},
		.frequency_hz = (uint32_t)options->frequency_hz,
		.max_overhead_ppm = (uint32_t)(options->max_overhead_percent * 10000),
		.max_cost_ppm = (uint32_t)(options->keep.max_cost_percent * 10000),
		.duration_ns = options->duration_ns,
		.delay_ns = options->delay_ns,
		.paused = options->paused,
		.memory_off = options->count.memory_paused,
		.follow_children = !options->no_children,
		.no_cpu = options->count.no_cpu,
		/* That is a sum from the beginning on, of which a file has only the end. */
		.no_others = recording->keep != NULL,
		.counters = options->metrics.counters,
		.threads = options->threads ? &recording->threads : NULL,
		.unwinder = (enum unwinder_kind)options->unwinder,
		.max_depth = options->max_depth,
		.within = recorded->within ? within : NULL,
		.look = how_to_look(recording),
		.helper = recording->agent ? agent_pid(recording->agent) : 0,
		.check_unwinder = options->check_unwinder,
		.ended = &recording->ending.listener.asked,
		.max_samples = options->max_samples,
		.max_bytes = options->max_size_bytes,
	};
}

/* --- a new profile --- */

/* The sampler has let it go: it has the end of the recording for its end. */
static bool was_let_go(const struct profile *profile, const struct profile_process *row)
{
	return row->pid > 0 && row->end_ns >= profile->meta.duration_ns;
}

static pid_t *let_go(const struct profile *profile, size_t *nr)
{
	pid_t *pids = xcalloc(profile->nr_processes + 1, sizeof(*pids));

	*nr = 0;
	for (size_t i = 0; i < profile->nr_processes; i++) {
		if (was_let_go(profile, &profile->processes[i]))
			pids[(*nr)++] = profile->processes[i].pid;
	}
	return pids;
}

static void note_command(struct recording *recording, const struct sampler_result *result)
{
	if (!result->command_reaped || recording->command.is_reaped)
		return;
	recording->command.is_reaped = true;
	recording->command.status = result->command_status;
}

static void note_refusal(struct sampler_refusal *all, const struct sampler_refusal *more)
{
	uint64_t nr = all->nr + more->nr;

	if (!all->nr)
		*all = *more;
	all->nr = nr;
}

void recording_finish_sampler(struct recording *recording, struct recorded *recorded,
			      struct sampler *sampler, struct err *failure)
{
	sampler_finish(sampler, &recorded->result, failure);
	note_command(recording, &recorded->result);
	note_refusal(&recorded->refusal, &recorded->result.refusal);
}

/* The bounds are those of the whole recording. */
static void shorten(struct sampler_options *options, uint64_t passed_ns, uint64_t nr_samples)
{
	uint64_t delay_ns = min_u64(options->delay_ns, passed_ns);

	options->delay_ns -= delay_ns;
	if (options->duration_ns)
		options->duration_ns -= min_u64(options->duration_ns - 1, passed_ns - delay_ns);
	if (options->max_samples)
		options->max_samples -= min_u64(options->max_samples - 1, nr_samples);
}

static struct sampler *attach_again(struct recording *recording, struct recorded *recorded,
				    const struct sampler_targets *targets, bool is_paused)
{
	const struct code_filter_options within = {named_code_in, recorded->within};
	struct sampler_options options = recording_sampler_options(recording, recorded, &within);
	struct sampler *sampler;
	struct err err = ERR_INIT;

	options.targets = *targets;
	options.paused = is_paused;
	shorten(&options, keep_base_ns(recording->keep), recording->nr_former_samples);
	profile_free(recorded->profile);
	recorded->profile = profile_new();
	recording_meta_fill(recorded->profile, recording->options, recording->argv);
	sampler = sampler_start(&options, recorded->profile, NULL, &err);
	if (!sampler) {
		recording_clear_progress(recording);
		print_err(&err);
	}
	return sampler;
}

struct sampler *recording_begin_again(struct recording *recording, struct recorded *recorded,
				      struct sampler *former)
{
	uint64_t began_ns = clock_monotonic_ns() - sampler_progress(former).elapsed_ns;
	bool is_paused = sampler_is_paused(former);
	struct sampler_targets targets = {.were_recorded = true,
					  .command = recording->command.launch.pid,
					  .joiners = recording_joiners(recording)};
	cleanup_free pid_t *pids = NULL;
	struct sampler *sampler;

	recording_leave_joined(recording, former);
	recording_finish_sampler(recording, recorded, former, NULL);
	recording->nr_former_samples += recorded->result.nr_samples;
	if (recorded->result.end != SAMPLER_END_ASKED)
		return NULL;
	pids = let_go(recorded->profile, &targets.nr_pids);
	targets.pids = pids;
	keep_continue(recording->keep, recorded->profile, clock_monotonic_ns() - began_ns);
	sampler = attach_again(recording, recorded, &targets, is_paused);
	if (sampler)
		recording_rejoin(recording, sampler);
	return sampler;
}
