// SPDX-License-Identifier: GPL-2.0-or-later
/* Delivers the pprof files of a profile. */
#include "cmd/push_profile.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "cmd/command.h"
#include "cmd/push_files.h"
#include "cmd/push_options.h"
#include "cmd/push_way.h"
#include "push/labels.h"
#include "push/spool.h"

#define FAILURES_MAX 5
/* Longer than that is not waited for a receiver that asks for it. */
#define WAIT_MAX_NS (60 * NS_PER_SEC)

static void sleep_until(uint64_t due_ns)
{
	const struct timespec due = {.tv_sec = (time_t)(due_ns / NS_PER_SEC),
				     .tv_nsec = (long)(due_ns % NS_PER_SEC)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR)
		;
}

/* Is another attempt worth it? */
static bool goes_on(const struct push_answer *answer, unsigned int *nr_failures)
{
	switch (answer->outcome) {
	case PUSH_DELIVERED:
		*nr_failures = 0;
		return true;
	case PUSH_REFUSED:
		return true;
	case PUSH_FAILED:
		return ++*nr_failures < FAILURES_MAX && answer->wait_ns <= WAIT_MAX_NS;
	case PUSH_DENIED:
		break;
	}
	return false;
}

/* The words of the last answer that was none of a delivery. */
static void deliver(struct push_spool *spool, struct push_answer *last)
{
	unsigned int nr_failures = 0;
	bool is_going_on = true;
	uint64_t due_ns;

	while (is_going_on && push_spool_due(spool, &due_ns)) {
		struct push_answer answer = {.outcome = PUSH_DELIVERED};

		sleep_until(due_ns);
		if (push_spool_step(spool, &answer) != PUSH_STEP_SENT)
			continue;
		if (answer.outcome != PUSH_DELIVERED)
			*last = answer;
		is_going_on = goes_on(&answer, &nr_failures);
	}
}

static int report(const struct push_counts *counts, const struct push_target *target,
		  const struct push_answer *last)
{
	uint64_t nr_missing = counts->nr_added - counts->nr_delivered;
	struct err err = ERR_INIT;

	if (!nr_missing) {
		if (!target->options->quiet)
			print_note("pushed %lu profile%s to %s", (unsigned long)counts->nr_added,
				   counts->nr_added == 1 ? "" : "s", target->options->receiver);
		return EXIT_DONE;
	}
	err_set(&err, ERR_SYS, "%lu of %lu profiles not delivered to %s: %s",
		(unsigned long)nr_missing, (unsigned long)counts->nr_added,
		target->options->receiver, last->words);
	if (counts->nr_failures >= FAILURES_MAX)
		err_hint(&err, "after %lu attempts; is the receiver there?",
			 (unsigned long)counts->nr_failures);
	else if (last->outcome == PUSH_DENIED && target->receiver.kind != PUSH_DIRECTORY)
		err_hint(&err,
			 "check the URL, the headers of --push-header-file, and certificates");
	return fail_with(&err);
}

/* The requests are in memory: this process waits for their delivery. */
static int push_through(const struct push_transport *transport, const struct push_target *target,
			const struct profile *profile, const struct export_options *options,
			bool all)
{
	const struct push_spool_options spool_options = {
		.transport = *transport,
		.seed = clock_realtime_ns() ^ (uint64_t)getpid(),
	};
	struct push_answer last = {.outcome = PUSH_FAILED};
	struct push_labels labels = {.labels = NULL};
	struct push_spool *spool;
	struct push_counts counts;
	struct err err = ERR_INIT;
	int status = push_spool_open(&spool, &spool_options, &err);

	if (status)
		return fail_with(&err);
	status = push_files_label(target, profile, NULL, &labels, &err);
	if (!status)
		status = push_files_add(spool, target, profile, options, all, &labels, &err);
	push_labels_release(&labels);
	if (status) {
		push_spool_free(spool);
		return fail_with(&err);
	}
	deliver(spool, &last);
	counts = push_spool_counts(spool);
	push_spool_free(spool);
	return report(&counts, target, &last);
}

int push_profile(const struct push_target *target, const struct profile *profile,
		 const struct export_options *options, bool all)
{
	struct push_way way;
	struct err err = ERR_INIT;
	int status;

	if (push_way_open(&way, target, NULL, &err))
		return fail_with(&err);
	status = push_through(&way.transport, target, profile, options, all);
	push_way_close(&way);
	return status;
}
