// SPDX-License-Identifier: GPL-2.0-or-later
#include "view/rate_text.h"

#include "base/buf.h"
#include "base/clock.h"
#include "profile/profile.h"

#define GOOD_SHARE 0.9

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

bool append_rate_achieved(struct buf *out, const struct profile *profile)
{
	const struct profile_meta *meta = &profile->meta;
	double ticks = counter(profile, "ticks"), ticks_hz;
	double taken = share(counter(profile, "interrupts"), counter(profile, "left_out_stops"));
	double in_time = share(ticks, counter(profile, "missed_ticks"));
	bool is_first = true;

	ticks_hz = counter(profile, "frequency_hz_effective") / 1000;
	if (meta->duration_ns < NS_PER_SEC || !meta->frequency_hz || ticks <= 0 ||
	    ticks_hz * taken >= GOOD_SHARE * meta->frequency_hz)
		return false;
	buf_printf(out, "sampled at %.0f Hz of %u", ticks_hz * taken, meta->frequency_hz);
	if (taken < GOOD_SHARE) {
		struct buf cost = {0};

		buf_printf(&cost, "a stop costs a thread %.0f us, and all at most %g%% of its time",
			   counter(profile, "stop_cost_ns") / 1000,
			   (double)meta->max_overhead_ppm / 10000);
		append_reason(out, &is_first, buf_str(&cost));
		buf_release(&cost);
	}
	if (in_time < GOOD_SHARE)
		append_reason(out, &is_first, "profc had no CPU in time, or a tick took too long");
	if (meta->max_overhead_ppm && ticks_hz / in_time < GOOD_SHARE * meta->frequency_hz)
		append_reason(out, &is_first,
			      "no CPU was idle, and ticks may take half of the allowed share of "
			      "CPUs");
	if (is_first)
		append_reason(out, &is_first,
			      "some stops were left out, and some ticks were late or rarer");
	return true;
}
