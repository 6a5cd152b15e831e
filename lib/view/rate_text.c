// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/rate_text.h"

#include <math.h>

#include "base/buf.h"
#include "profile/profile.h"
#include "view/machine_text.h"

#define GOOD_SHARE 0.9
/* From this share on the time that the host takes makes stops several times as long. */
#define STOLEN_PERCENT 3
/* With fewer ticks at the requested rate, chance says more about their number than profc does. */
#define LEAST_TICKS 100

static double counter(const struct profile *profile, const char *name)
{
	return (double)profile_counter(profile, name);
}

static double share(double part, double rest)
{
	return part + rest > 0 ? part / (part + rest) : 1;
}

static void append_reason(struct buf *out, bool *is_first, const char *reason)
{
	buf_append_str(out, *is_first ? ": " : "; ");
	buf_append_str(out, reason);
	*is_first = false;
}

/*
 * The part of the requested rate of ticks that there was. Their moments are drawn at random: one
 * standard deviation of their number is granted. False: the time was too short to tell.
 */
static bool part_of_ticks(const struct profile *profile, double ticks_hz, double *part)
{
	/* Without the time that the recording was paused. */
	double requested = profile->meta.frequency_hz * counter(profile, "ticks") / ticks_hz;

	*part = ticks_hz / profile->meta.frequency_hz + 1 / sqrt(requested);
	if (*part > 1)
		*part = 1;
	return requested >= LEAST_TICKS;
}

/*
 * Stops in a second of CPU time. A thread that waits for a CPU is found in more ticks than its CPU
 * time has, so that the part of its ticks with a stop says too little. Where some CPU time was not
 * seen at all this says too little, and that part does not.
 */
static double achieved_hz(const struct profile *profile, double ticks_hz, double taken)
{
	double stop_ns = counter(profile, "stop_cost_ns");
	double stops_hz = stop_ns > 0 ? counter(profile, "cost_ppm") * 1000 / stop_ns : 0;

	return stops_hz > ticks_hz * taken ? fmin(stops_hz, ticks_hz) : ticks_hz * taken;
}

/*
 * The shares that were lost. That of stops is known only once a recording is complete, as the CPU
 * time is; that of ticks is 0 as long as a CPU is idle.
 */
static void append_cost(struct buf *out, const struct profile *profile)
{
	double stop_us = counter(profile, "stop_cost_ns") / 1000;
	double stops_ppm = stops_cost_ppm(profile);
	double ticks_ppm = counter(profile, "ticks_cost_ppm");
	double stolen = machine_stolen_percent(profile);

	buf_printf(out, "at most %g%% of CPU time may be lost",
		   (double)profile->meta.max_overhead_ppm / 10000);
	if (stops_ppm > 0)
		buf_printf(out, "; stops took %.1f%%, %.0f us each", stops_ppm / 10000, stop_us);
	else if (stop_us > 0)
		buf_printf(out, "; stops take %.0f us each", stop_us);
	if (ticks_ppm > 0)
		buf_printf(out, "; ticks took %.1f%%, as no CPU was idle", ticks_ppm / 10000);
	if (stolen >= STOLEN_PERCENT)
		buf_printf(out, "; the host took %.0f%% of the CPUs", stolen);
}

/* The rate that the budget of a recorder allows; 0: there is none, or it allows what was asked. */
static double budget_hz(const struct profile *profile)
{
	double hz = counter(profile, "budget_hz") / 1000;

	return hz < GOOD_SHARE * profile->meta.frequency_hz ? hz : 0;
}

static void append_budget(struct buf *out, const struct profile *profile)
{
	buf_printf(out, "profc may use %.2f%% of a CPU", counter(profile, "budget_ppm") / 10000);
	if (counter(profile, "budget_lacks") > 0)
		buf_printf(out, ", and used %.2f%% at the lowest rate",
			   counter(profile, "budget_used_ppm") / 10000);
}

double stops_cost_ppm(const struct profile *profile)
{
	double cpu_ns = (double)profile_total(profile, METRIC_CPU) +
			counter(profile, "within_dropped_cpu_ns") +
			counter(profile, "within_unknown_cpu_ns");
	double duration_ns = (double)profile->meta.duration_ns;
	double ppm = counter(profile, "cost_ppm");

	return cpu_ns > 0 && cpu_ns < duration_ns ? ppm * cpu_ns / duration_ns : ppm;
}

bool rate_is_low(const struct profile *profile, double *hz)
{
	double taken = share(counter(profile, "interrupts"), counter(profile, "left_out_stops"));
	double ticks_hz = counter(profile, "frequency_hz_effective") / 1000, ticks_part;

	if (!profile->meta.frequency_hz || ticks_hz <= 0 ||
	    !part_of_ticks(profile, ticks_hz, &ticks_part))
		return false;
	*hz = achieved_hz(profile, ticks_hz, taken);
	return ticks_part * *hz / ticks_hz < GOOD_SHARE;
}

bool append_rate_achieved(struct buf *out, const struct profile *profile)
{
	const struct profile_meta *meta = &profile->meta;
	double stopped = counter(profile, "interrupts");
	double left_out = counter(profile, "left_out_stops");
	double held_up = counter(profile, "held_up_stops");
	double in_time = share(counter(profile, "ticks"), counter(profile, "missed_ticks"));
	double ticks_hz = counter(profile, "frequency_hz_effective") / 1000, ticks_part;
	bool has_rare_ticks, is_first = true;
	double budget = budget_hz(profile), hz;

	if (!rate_is_low(profile, &hz))
		return false;
	part_of_ticks(profile, ticks_hz, &ticks_part);
	buf_printf(out, "sampled at %.0f Hz of %u", hz, meta->frequency_hz);
	if (budget > 0) {
		append_reason(out, &is_first, "");
		append_budget(out, profile);
	}
	has_rare_ticks = meta->max_overhead_ppm && ticks_part / in_time < GOOD_SHARE &&
			 (budget <= 0 || ticks_hz / in_time < GOOD_SHARE * budget);
	if (has_rare_ticks ||
	    (meta->max_overhead_ppm && share(stopped, left_out - held_up) < GOOD_SHARE)) {
		append_reason(out, &is_first, "");
		append_cost(out, profile);
	}
	if (share(stopped, held_up) < GOOD_SHARE)
		append_reason(out, &is_first,
			      "no thread was stopped while too many waited for a CPU to stop on");
	if (in_time < GOOD_SHARE)
		append_reason(out, &is_first, "profc had no CPU in time, or a tick took too long");
	if (is_first)
		append_reason(out, &is_first,
			      "some stops were left out, and some ticks were late or rarer");
	return true;
}
