// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/clock.h"
#include "profile/extend_sleeps.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"

/* 5 ms of a sleep that ends at `made`'s time. */
static struct sample *sleep_5_ms(struct made *made)
{
	struct sample *sample = made_sample(made, "main;nap", 5);

	sample->kind = SAMPLE_BLOCKED;
	sample->blocked_ns = sample->cpu_ns;
	sample->cpu_ns = 0;
	sample->syscall_nr = 230;
	return sample;
}

/* The last sample of a profile of which nothing else is known. */
static struct sample extended(struct made *made, uint64_t since_ms, uint64_t now_ms)
{
	made_end(made);
	profile_extend_sleeps(made->profile, since_ms * NS_PER_MS, now_ms * NS_PER_MS);
	return made->profile->samples[made->profile->nr_samples - 1];
}

TEST(extend_sleeps, who_sleeps_sleeps_on)
{
	struct made made = made_begin();
	struct sample before = *sleep_5_ms(&made), after = extended(&made, 0, 12);

	assert_int_equal(made.profile->nr_samples, 2);
	assert_int_equal(after.time_ns, 12 * NS_PER_MS);
	assert_int_equal(after.blocked_ns, 7 * NS_PER_MS);
	assert_int_equal(after.cpu_ns + after.runq_ns, 0);
	assert_int_equal(after.stack.v, before.stack.v);
	assert_int_equal(after.syscall_nr, 230);
	assert_int_equal(after.nr, 0);
	profile_free(made.profile);
}

TEST(extend_sleeps, others_do_not)
{
	struct made runs = made_begin(), ended = made_begin(), paused = made_begin(),
		    rested = made_begin();

	sleep_5_ms(&runs);
	made_sample(&runs, "main", 1);
	extended(&runs, 0, 20);
	assert_int_equal(runs.profile->nr_samples, 2);
	profile_free(runs.profile);

	sleep_5_ms(&ended);
	ended.profile->threads[0].end_ns = 5 * NS_PER_MS;
	extended(&ended, 0, 20);
	assert_int_equal(ended.profile->nr_samples, 1);
	profile_free(ended.profile);

	/* Seen before a pause, and not yet after it. */
	sleep_5_ms(&paused);
	extended(&paused, 6, 20);
	assert_int_equal(paused.profile->nr_samples, 1);
	profile_free(paused.profile);

	sleep_5_ms(&rested);
	made_sample(&rested, "", 1)->kind = SAMPLE_UNATTRIBUTED;
	extended(&rested, 0, 20);
	assert_int_equal(rested.profile->nr_samples, 2);
	profile_free(rested.profile);
}
