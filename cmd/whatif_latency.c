// SPDX-License-Identifier: GPL-2.0-or-later
/* profc whatif --latency: the result is the time between the calls of two functions. */
#include "base/alloc.h"
#include "base/err.h"
#include "cmd/counting.h"
#include "cmd/whatif_priv.h"
#include "probe/prober.h"
#include "profile/span_limit.h"

int64_t whatif_latency_inside(void *context)
{
	const struct whatif *whatif = context;
	struct prober_pair pair = prober_read_pair(counting_prober(whatif->counting));

	return (int64_t)(pair.calls[0] - pair.calls[1]);
}

uint64_t whatif_latency_ended(const struct whatif *whatif)
{
	return prober_read_pair(counting_prober(whatif->counting)).calls[1];
}

char *whatif_latency_text(const struct whatif *whatif)
{
	cleanup_free char *first = NULL, *second = NULL;

	span_pair_read(whatif->settings.function, &first, &second);
	return xasprintf("time from %s to %s", first, second);
}

int whatif_latency_check(const struct whatif *whatif, struct err *err)
{
	struct prober_pair pair = prober_read_pair(counting_prober(whatif->counting));
	cleanup_free char *first = NULL, *second = NULL;

	span_pair_read(whatif->settings.function, &first, &second);
	for (size_t i = 0; i < ARRAY_SIZE(pair.nr_places); i++) {
		const char *name = i ? second : first;

		if (pair.nr_places[i] > 1)
			return err_set(err, ERR_INVALID,
				       "--latency: %zu functions are named '%s', and one is wanted",
				       pair.nr_places[i], name);
		if (pair.nr_places[i])
			continue;
		err_set(err, ERR_NOT_FOUND, "--latency: calls of '%s' cannot be counted", name);
		err_hint(err, "profc attach --count '%s' says why", name);
		return err->code;
	}
	return 0;
}

int whatif_latency_begin(struct whatif *whatif, const struct whatif_window *window, struct err *err)
{
	struct prober_pair pair = prober_read_pair(counting_prober(whatif->counting));
	struct whatif_flow flow = whatif_flow_join(&window->flows[0], &window->flows[1]);
	int64_t none = pair.is_from_start ? 0 : flow.least;

	if (whatif_flow_drifts(&window->flows[0], &window->flows[1], none, window->progress)) {
		err_set(err, ERR_INVALID,
			"%s requests begin than end: there is no mean time while ever %s are "
			"inside",
			flow.last > flow.first ? "more" : "fewer",
			flow.last > flow.first ? "more" : "fewer");
		err_hint(err, "does each call of the first function come with one of the second?");
		return err->code;
	}
	if (!pair.is_from_start && !whatif_flow_is_empty_at_least(&flow)) {
		err_set(err, ERR_INVALID,
			"the program was never seen without requests, and how many were inside at "
			"first is not known");
		err_hint(err, "it is known of a command that profc starts; --progress FUNCTION "
			      "needs no such number");
		return err->code;
	}
	if (whatif_window_time_ns(window, none) <= 0)
		return err_set(err, ERR_NOT_FOUND, "no request was seen inside: '%s' takes no time",
			       whatif->settings.function);
	whatif_plan_time_requests(&whatif->plan, none);
	/* Earlier windows that were refused are in no mean. */
	whatif->baselines = (struct whatif_window){.progress = 0};
	return 0;
}

bool whatif_latency_can_begin(struct whatif *whatif, const struct whatif_window *window)
{
	struct err err = ERR_INIT;

	return whatif_latency_begin(whatif, window, &err) == 0;
}

void whatif_latency_note(struct whatif *whatif, const struct whatif_window *window)
{
	struct whatif_flow flow = whatif_flow_join(&window->flows[0], &window->flows[1]);

	if (!whatif->plan.is_of_time || flow.least >= whatif->plan.none)
		return;
	whatif_plan_time_requests(&whatif->plan, flow.least);
	whatif->nr_trials = 0;
}
