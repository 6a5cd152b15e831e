// SPDX-License-Identifier: GPL-2.0-or-later
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "collector/collector.h"
#include "sampler/sampler_priv.h"
#include "target/target.h"

/* The sampling thread sleeps for SIGCHLD; this one is meant for it alone. */
static void wake(struct sampler *sampler)
{
	pthread_kill(sampler->sampling_thread, SIGCHLD);
}

void sampler_stop(struct sampler *sampler)
{
	atomic_store_explicit(&sampler->stop_asked, true, memory_order_relaxed);
	wake(sampler);
}

void sampler_pause(struct sampler *sampler)
{
	atomic_store_explicit(&sampler->paused, true, memory_order_relaxed);
	wake(sampler);
}

void sampler_resume(struct sampler *sampler)
{
	atomic_store_explicit(&sampler->paused, false, memory_order_relaxed);
	wake(sampler);
}

bool sampler_is_paused(const struct sampler *sampler)
{
	return atomic_load_explicit(&sampler->paused, memory_order_relaxed);
}

/* The number of the stop, and below it the signal: that of the last stop stays with a 0. */
#define SIGNAL_BITS 8

static struct command_stop unpack(uint64_t packed)
{
	return (struct command_stop){.signal = (int)(packed & ((1u << SIGNAL_BITS) - 1)),
				     .nr = packed >> SIGNAL_BITS};
}

void control_command_stops(void *context, int signal)
{
	struct sampler *sampler = context;
	uint64_t one = 1;
	uint64_t nr = unpack(atomic_load(&sampler->command_stop)).nr + (signal != 0);

	atomic_store(&sampler->command_stop, nr << SIGNAL_BITS | (unsigned int)signal);
	if (signal && write(sampler->command_stop_fd, &one, sizeof(one)) < 0)
		return; /* it is readable already, or there is none */
}

struct command_stop sampler_command_stop(const struct sampler *sampler)
{
	return unpack(atomic_load(&sampler->command_stop));
}

int sampler_command_stop_fd(const struct sampler *sampler)
{
	return sampler->command_stop_fd;
}

/* Should a thread that was asked to stop take longer, it has to stand still until we go on. */
#define STAND_BY_TRIES	  50
#define STAND_BY_PAUSE_NS NS_PER_MS

void sampler_stand_by(struct sampler *sampler)
{
	const struct timespec pause = {.tv_nsec = (long)STAND_BY_PAUSE_NS};

	atomic_store(&sampler->stands_by, false);
	atomic_store(&sampler->stand_by_asked, true);
	wake(sampler);
	for (int i = 0; i < STAND_BY_TRIES && !atomic_load(&sampler->stands_by); i++)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

void sampler_go_on(struct sampler *sampler)
{
	atomic_store(&sampler->stand_by_asked, false);
	wake(sampler);
}

bool control_stands_by(struct sampler *sampler, uint64_t now_ns)
{
	bool asked = atomic_load(&sampler->stand_by_asked);

	if (asked != sampler->stood_by)
		schedule_skip(&sampler->schedule, now_ns);
	sampler->stood_by = asked;
	if (asked && !sampler->move_owed && !look_nr_awaited(sampler) &&
	    !target_any_is_to_stop(sampler->target))
		atomic_store(&sampler->stands_by, true);
	return asked;
}

void sampler_mark(struct sampler *sampler, const char *text)
{
	collector_mark(sampler->collector, text);
}

void sampler_cut(struct sampler *sampler, struct sampler_cut *cut)
{
	collector_cut(sampler->collector, &cut->cut);
}

uint64_t sampler_cut_wait(struct sampler_cut *cut)
{
	return collector_cut_wait(&cut->cut);
}
