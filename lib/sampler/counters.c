// SPDX-License-Identifier: GPL-2.0-or-later
/* The sampler's own counters, as rows of the profile. */
#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "sampler/sampler_priv.h"
#include "sampler/visitor_priv.h"

/* The time in which ticks took place; never 0. */
static double counted_ns(const struct sampler *sampler)
{
	const struct sampling_counts *counts = &sampler->counts;
	uint64_t sum_ns = counts->counted_ns;

	if (sampler->session->counting)
		sum_ns += clock_monotonic_ns() - counts->counting_since_ns;
	return (double)max_u64(sum_ns, 1);
}

/* Ticks a second, in thousandths. */
static uint64_t achieved_frequency(const struct sampler *sampler)
{
	return (uint64_t)(1e12 * (double)sampler->spending.nr_ticks / counted_ns(sampler));
}

/* As a share of all CPUs that profc may use. */
static uint64_t ticks_cost_ppm(const struct sampler *sampler)
{
	double cpus_ns = (double)sampler->session->nr_cpus * counted_ns(sampler);

	return (uint64_t)(1e6 * sampler->governor.lost_ns / cpus_ns);
}

static uint64_t cpu_ns_of(const struct visitor *visitor)
{
	uint64_t cpu_ns = atomic_load(&visitor->cpu_ns);
	pid_t tid = atomic_load(&visitor->tid);

	return cpu_ns || !tid ? cpu_ns : clock_cpu_ns_of_thread(tid);
}

uint64_t counters_cpu_ns(const struct sampler *sampler)
{
	uint64_t sum_ns = 0;

	for (size_t i = 0; i < sampler->nr_visitors; i++)
		sum_ns += cpu_ns_of(sampler->visitors[i]);
	return sum_ns;
}

static size_t add_rows(struct message_counter *out, size_t nr, const struct message_counter *rows,
		       size_t nr_rows)
{
	memcpy(out + nr, rows, nr_rows * sizeof(*rows));
	return nr + nr_rows;
}

size_t counters_read(const struct sampler *sampler, struct message_counter *out)
{
	const struct sampling_counts *counts = &sampler->counts;
	const struct message_counter rows[] = {
		{"ticks", sampler->spending.nr_ticks},
		{"missed_ticks", sampler->schedule.nr_missed},
		{"late_ticks", counts->nr_late_ticks},
		{"lateness_ns_median", histogram_quantile(&counts->lateness_ns, 0.5)},
		{"lateness_ns_p99", histogram_quantile(&counts->lateness_ns, 0.99)},
		{"stops", counts->nr_stops},
		{"interrupts", counts->nr_begun},
		{"spun_stops", counts->nr_spun},
		{"unfinished_stops", counts->nr_unfinished},
		{"hold_ns_median", histogram_quantile(&counts->hold_ns, 0.5)},
		{"hold_ns_p99", histogram_quantile(&counts->hold_ns, 0.99)},
		{"held_ns_total", counts->hold_ns.sum},
		{"stop_cost_ns", counts->cost_ns / max_u64(counts->nr_stops, 1)},
		{"ticks_cost_ppm", ticks_cost_ppm(sampler)},
		{"blocked_looks", counts->nr_peeks},
		{"torn_looks", counts->nr_torn_peeks},
		{"sleeps_left_out", counts->nr_unseen_sleeps},
		{"waiting_looks", counts->nr_runnable},
		{"spared_stops", counts->nr_spared},
		{"left_out_stops", counts->nr_left_out},
		{"held_up_stops", counts->nr_held_up},
		{"refused_stops", counts->nr_refused},
		{"fixed_up_calls", counts->nr_fixed_up},
		{"signals", counts->nr_signals},
		{"frequency_hz_effective", achieved_frequency(sampler)},
		{"dropped_stacks",
		 counts->nr_dropped_stacks + atomic_load(&sampler->session->heap.nr_lost_stacks)},
		{"sampling_cpu_ns", counters_cpu_ns(sampler)},
		{"realtime", counts->realtime},
	};
	const struct event_coverage *coverage = &sampler->advances.coverage;
	const struct message_counter of_events[] = {
		{"events_without_descriptor", coverage->nr_without_descriptor},
		{"events_refused", coverage->nr_refused},
		{"events_late_cpu_ns", coverage->late_cpu_ns},
		{"events_enabled_ns", coverage->times.enabled_ns},
		{"events_running_ns", coverage->times.running_ns},
	};

	const struct cost_budget *budget = &sampler->governor.budget;
	const struct message_counter of_budget[] = {
		{"budget_ppm", budget->max_ppm},
		{"budget_used_ppm", governor_used_ppm(&sampler->governor)},
		{"budget_hz",
		 1000 * NS_PER_SEC / max_u64(budget->period_ns, sampler->governor.base_period_ns)},
		{"budget_lacks", governor_lacks_budget(&sampler->governor)},
	};
	size_t nr = 0;

	static_assert(ARRAY_SIZE(rows) + ARRAY_SIZE(of_events) + ARRAY_SIZE(of_budget) <=
			      COUNTERS_MAX,
		      "rows for the caller's array");
	nr = add_rows(out, nr, rows, ARRAY_SIZE(rows));
	if (kernel_counters_of_events(sampler->advances.wanted))
		nr = add_rows(out, nr, of_events, ARRAY_SIZE(of_events));
	if (budget->max_ppm)
		nr = add_rows(out, nr, of_budget, ARRAY_SIZE(of_budget));
	return nr;
}

#define FIRST_PAUSE_NS	 NS_PER_SEC
#define LONGEST_PAUSE_NS (60 * NS_PER_SEC)

/* Publish them, ever more rarely, so that an interrupted recording has them too. */
void counters_publish(struct sampler *sampler, uint64_t now_ns)
{
	uint64_t pause_ns = now_ns - sampler->session->start_ns;
	struct message_counter rows[COUNTERS_MAX];
	struct message *message;

	if (pause_ns < FIRST_PAUSE_NS || now_ns < sampler->session->counters_again_ns)
		return;
	sampler->session->counters_again_ns = now_ns + min_u64(pause_ns, LONGEST_PAUSE_NS);
	message = message_new(MESSAGE_COUNTERS, now_ns);
	message->body.counters.nr = counters_read(sampler, rows);
	message->body.counters.rows = xmemdup(rows, message->body.counters.nr * sizeof(rows[0]));
	collector_publish(sampler->collector, message);
}
