// SPDX-License-Identifier: GPL-2.0-or-later
#include <assert.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "sampler/histogram.h"
#include "sampler/sampler_priv.h"
#include "target/target.h"

/* In thousandths. */
static uint64_t frequency_done(const struct sampler *sampler)
{
	uint64_t counted_ns = sampler->counted_ns;

	if (sampler->counting)
		counted_ns += clock_monotonic_ns() - sampler->counting_since_ns;
	return counted_ns ? (uint64_t)(1e12 * (double)sampler->counts.nr_ticks / (double)counted_ns)
			  : 0;
}

size_t counters_read(const struct sampler *sampler, struct message_counter *out)
{
	const struct sampling_counts *counts = &sampler->counts;
	struct target_stats stats = target_stats(sampler->target);
	const struct message_counter rows[] = {
		{"ticks", counts->nr_ticks},
		{"missed_ticks", sampler->schedule.nr_missed},
		{"late_ticks", counts->nr_late_ticks},
		{"lateness_ns_median", histogram_quantile(&counts->lateness_ns, 0.5)},
		{"lateness_ns_p99", histogram_quantile(&counts->lateness_ns, 0.99)},
		{"stops", stats.nr_stops},
		{"interrupts", stats.nr_interrupts},
		{"spun_stops", counts->nr_spun},
		{"unfinished_stops", counts->nr_unfinished_stops},
		{"hold_ns_median", histogram_quantile(&counts->hold_ns, 0.5)},
		{"hold_ns_p99", histogram_quantile(&counts->hold_ns, 0.99)},
		{"held_ns_total", counts->hold_ns.sum + stats.unasked_ns},
		{"blocked_looks", counts->nr_blocked_looks},
		{"waiting_looks", counts->nr_waiting_looks},
		{"torn_looks", counts->nr_torn_looks},
		{"stolen_ns", counts->stolen_ns},
		{"signals", stats.nr_signals},
		{"repairs", stats.nr_repairs},
		{"repairs_undone", stats.nr_undone},
		{"frequency_hz_effective", frequency_done(sampler)},
		{"elsewhere_looks", counts->nr_elsewhere},
		{"spared_stops", counts->nr_spared + stats.nr_spared},
		{"refused_threads", stats.nr_refused},
		{"dropped_stacks", counts->nr_dropped_stacks},
		{"sampling_cpu_ns", counts->cpu_ns},
		{"realtime", counts->realtime},
	};

	static_assert(ARRAY_SIZE(rows) <= COUNTERS_MAX, "rows for the caller's array");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		out[i] = rows[i];
	return ARRAY_SIZE(rows);
}

#define FIRST_TELLING_NS   NS_PER_SEC
#define LONGEST_TELLING_NS (60 * NS_PER_SEC)

void counters_tell(struct sampler *sampler, uint64_t now_ns)
{
	struct message_counter rows[COUNTERS_MAX];
	struct message *message;
	uint64_t pause_ns = now_ns - sampler->start_ns;

	if (pause_ns < FIRST_TELLING_NS || now_ns < sampler->tell_counters_ns)
		return;
	if (pause_ns > LONGEST_TELLING_NS)
		pause_ns = LONGEST_TELLING_NS;
	sampler->tell_counters_ns = now_ns + pause_ns;
	sampler->counts.cpu_ns = clock_thread_cpu_ns();
	message = message_new(MESSAGE_COUNTERS, now_ns);
	message->body.counters.nr = counters_read(sampler, rows);
	message->body.counters.rows = xmemdup(rows, message->body.counters.nr * sizeof(rows[0]));
	sampler_tell(sampler, message);
}
