// SPDX-License-Identifier: GPL-2.0-or-later
#include "target/known_timers.h"

#include "base/clock.h"

#define KNOWN_FOR_NS NS_PER_SEC

const struct known_timer *known_timers_find(const struct known_timers *timers, pid_t tgid,
					    const siginfo_t *info, uint64_t now_ns)
{
	for (size_t i = 0; i < KNOWN_TIMERS_MAX; i++) {
		const struct known_timer *timer = &timers->at[i];

		if (timer->tgid == tgid && timer->id == info->si_timerid &&
		    timer->signal == info->si_signo && timer->value == info->si_ptr &&
		    now_ns - timer->read_ns < KNOWN_FOR_NS)
			return timer;
	}
	return NULL;
}

void known_timers_note(struct known_timers *timers, pid_t tgid, const siginfo_t *info,
		       bool is_of_thread, uint64_t now_ns)
{
	timers->at[timers->next++ % KNOWN_TIMERS_MAX] = (struct known_timer){
		.tgid = tgid,
		.id = info->si_timerid,
		.signal = info->si_signo,
		.value = info->si_ptr,
		.is_of_thread = is_of_thread,
		.read_ns = now_ns,
	};
}

void known_timers_forget(struct known_timers *timers, pid_t tgid)
{
	for (size_t i = 0; i < KNOWN_TIMERS_MAX; i++) {
		if (timers->at[i].tgid == tgid)
			timers->at[i] = (struct known_timer){0};
	}
}
