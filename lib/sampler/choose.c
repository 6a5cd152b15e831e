// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/clock.h"
#include "proc/read.h"
#include "sampler/sampler_priv.h"
#include "target/target.h"

/* Threads name themselves when they begin to run: look soon, then ever more rarely. */
#define FIRST_NAME_PAUSE_NS   NS_PER_MS
#define LONGEST_NAME_PAUSE_NS NS_PER_SEC

static bool name_fits(const struct sampler *sampler, const struct sampled_thread *thread)
{
	char name[PROC_COMM_MAX_BYTES];

	return proc_read_comm(thread->tracee->tgid, thread->tracee->tid, name, sizeof(name)) &&
	       regexec(sampler->options.threads, name, 0, NULL, 0) == 0;
}

bool choose_is_counted(const struct sampler *sampler, const struct sampled_thread *thread)
{
	return thread->is_chosen || !sampler->options.threads;
}

bool choose_thread(struct sampler *sampler, struct sampled_thread *thread, uint64_t now_ns)
{
	if (choose_is_counted(sampler, thread))
		return true;
	if (now_ns < thread->name_again_ns)
		return false;
	if (name_fits(sampler, thread)) {
		thread->is_chosen = true;
		follow_count_from(sampler, thread, now_ns);
		return true;
	}
	thread->name_pause_ns =
		thread->name_pause_ns ? thread->name_pause_ns * 2 : FIRST_NAME_PAUSE_NS;
	if (thread->name_pause_ns > LONGEST_NAME_PAUSE_NS)
		thread->name_pause_ns = LONGEST_NAME_PAUSE_NS;
	thread->name_again_ns = now_ns + thread->name_pause_ns;
	return false;
}
