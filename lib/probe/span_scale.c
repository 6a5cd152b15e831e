// SPDX-License-Identifier: GPL-2.0-or-later
/* Times, lengths and threads of timed calls, as a profile has them. */
#include "base/minmax.h"
#include "probe/prober_spans_priv.h"
#include "profile/profile.h"

/* Deeper nested children of a process are not looked for. */
#define GENERATIONS_MAX 64

struct span_scale span_scale_since(const struct heap_moment *begun)
{
	struct span_scale scale = {.begun = begun, .now = heap_moment_now()};
	uint64_t elapsed = scale.now.cycles - begun->cycles;

	if ((int64_t)elapsed > 0)
		scale.ns_per_cycle = (double)(scale.now.ns - begun->ns) / (double)elapsed;
	return scale;
}

uint64_t span_length_ns(const struct span_scale *scale, uint64_t cycles)
{
	double ns = (double)cycles * scale->ns_per_cycle + 0.5;

	return ns < 0x1p62 ? (uint64_t)ns : UINT64_C(1) << 62;
}

uint64_t span_time_ns(const struct span_scale *scale, uint64_t cycles)
{
	uint64_t ns = scale->begun->ns;

	if (cycles > scale->begun->cycles)
		ns += span_length_ns(scale, cycles - scale->begun->cycles);
	return ns - min_u64(ns, scale->start_ns);
}

uint64_t span_sum_of(const struct patch_span *span)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < PATCH_SPAN_LENGTHS; i++)
		sum += span->nr[i];
	return sum;
}

bool span_has_thread(const struct profile *profile, const struct profile_thread *thread,
		     uint32_t process)
{
	uint32_t at = thread->process;

	for (int i = 0; i < GENERATIONS_MAX && at < profile->nr_processes; i++) {
		if (at == process)
			return true;
		at = profile->processes[at].parent;
	}
	return false;
}

uint32_t span_find_thread(const struct profile *profile, uint32_t process, uint64_t tid)
{
	for (size_t i = profile->nr_threads; tid && i > 0; i--) {
		const struct profile_thread *thread = &profile->threads[i - 1];

		if ((uint64_t)thread->tid == tid && span_has_thread(profile, thread, process))
			return (uint32_t)i - 1;
	}
	return UINT32_MAX;
}
