// SPDX-License-Identifier: GPL-2.0-or-later
/* What is said of processes that join a recording, by --unit and --comm. */
#include "base/buf.h"
#include "cmd/command.h"
#include "cmd/record_options.h"
#include "cmd/recording_priv.h"
#include "cmd/service_notify.h"

const struct joiners *recording_joiners(const struct recording *recording)
{
	const struct joiners *joiners = &recording->joining.joiners;

	return joiners_is_empty(joiners) ? NULL : joiners;
}

const char *recording_unit(const struct recording *recording)
{
	const struct joiners *joiners = &recording->joining.joiners;

	return joiners->nr_units ? joiners->units[0] : NULL;
}

static void say_waiting(const struct recording *recording)
{
	struct buf words = {0};

	joiners_append_words(&recording->joining.joiners, &words);
	recording_clear_progress(recording);
	print_note("waiting for a process of %s", buf_str(&words));
	buf_release(&words);
}

static size_t nr_refused(const struct recording *recording, const struct sampler_joined *joined)
{
	return recording->joining.nr_refused + joined->nr_refused - recording->joining.nr_known;
}

static void say_refused(const struct recording *recording, const struct sampler_joined *joined)
{
	size_t nr = nr_refused(recording, joined);

	recording_clear_progress(recording);
	print_note("%zu process%s cannot be recorded: %s", nr, nr == 1 ? "" : "es",
		   joined->refusal.what);
	if (*joined->refusal.hint)
		print_hint("%s", joined->refusal.hint);
}

static void note_waiting(struct recording *recording, bool is_waiting)
{
	if (is_waiting == recording->joining.is_waiting)
		return;
	recording->joining.is_waiting = is_waiting;
	if (recording->keep)
		keep_set_waiting(recording->keep, is_waiting);
	else
		service_notify_state(is_waiting, "%s", "");
}

void recording_say_joined(struct recording *recording, struct sampler *sampler)
{
	struct recording_joining *joining = &recording->joining;
	struct sampler_joined joined;
	bool is_ending = recording->is_over || sampler_is_asked_to_stop(sampler);

	if (!recording_joiners(recording))
		return;
	joined = sampler_joined(sampler);
	/* At the end all are let go. */
	if (!is_ending) {
		note_waiting(recording, !joined.nr_processes);
		if (joined.nr_gone != joining->nr_gone && keep_has_triggers(recording->keep))
			keep_gone(recording->keep, sampler);
		joining->nr_gone = joined.nr_gone;
	}
	if (recording->options->quiet)
		return;
	if (!joining->has_told_of_refusal && joined.nr_refused) {
		joining->has_told_of_refusal = true;
		joining->nr_told = nr_refused(recording, &joined);
		say_refused(recording, &joined);
	}
	if (!joining->has_told_of_waiting && !joined.nr_processes && !is_ending) {
		joining->has_told_of_waiting = true;
		say_waiting(recording);
	}
}

void recording_end_joined(struct recording *recording, struct sampler *sampler)
{
	struct sampler_joined joined;
	size_t nr;

	if (!recording_joiners(recording) || recording->options->quiet)
		return;
	recording_say_joined(recording, sampler);
	joined = sampler_joined(sampler);
	nr = nr_refused(recording, &joined) - recording->joining.nr_told;
	recording_clear_progress(recording);
	if (nr)
		print_note("%zu more process%s could not be recorded", nr, nr == 1 ? "" : "es");
}

void recording_leave_joined(struct recording *recording, struct sampler *former)
{
	struct sampler_joined joined;

	recording_say_joined(recording, former);
	joined = sampler_joined(former);
	recording->joining.nr_refused = nr_refused(recording, &joined);
	recording->joining.nr_known = 0;
}

/* At once it finds those that were refused before, which are said and counted already. */
void recording_rejoin(struct recording *recording, struct sampler *sampler)
{
	recording->joining.nr_gone = 0;
	if (recording->joining.nr_refused)
		recording->joining.nr_known = sampler_joined(sampler).nr_refused;
}
