// SPDX-License-Identifier: GPL-2.0-or-later
#include "calltree/tally.h"
#include "calltree/weights.h"
#include "profile/cpu_modes.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"
#include "tests/unit/weighed_fixture.h"

#define MS 1000000.0

/* 40 ms in the program, 40 in a page fault, 20 in a system call, 10 without a sample. */
static struct profile *made_modes(uint64_t user_ms, uint64_t system_ms)
{
	struct made made = made_begin();
	struct profile *profile = made.profile;

	made_sample(&made, "main;fill", 40);
	made_sample(&made, "main;fill", 40)->syscall_nr = SAMPLE_PAGE_FAULT;
	made_sample(&made, "main;write", 20)->syscall_nr = 1;
	made_sample(&made, "", 10)->kind = SAMPLE_UNATTRIBUTED;
	profile->threads[0].split = (struct cpu_split){.user_ns = user_ms * 1000000,
						       .system_ns = system_ms * 1000000,
						       .known = user_ms + system_ms > 0};
	profile->meta.knows_faults = true;
	return made_end(&made);
}

static double system_ms(const struct profile *profile, size_t sample)
{
	return sample_system_share(profile, &profile->samples[sample]) *
	       (double)profile->samples[sample].cpu_ns / MS;
}

TEST(cpu_modes, without_the_kernel_samples_count_alone)
{
	struct profile *profile = made_modes(0, 0);

	profile_divide_cpu_time(profile);
	assert_float_equal(system_ms(profile, 0), 0, 1e-6);
	assert_float_equal(system_ms(profile, 1), 40, 1e-6);
	assert_float_equal(system_ms(profile, 2), 20, 1e-6);
	assert_float_equal(system_ms(profile, 3), 0, 1e-6);
	profile_free(profile);
}

TEST(cpu_modes, the_kernel_says_how_much_there_is)
{
	struct profile *less = made_modes(77, 33), *more = made_modes(33, 77);

	profile_divide_cpu_time(less);
	assert_float_equal(system_ms(less, 0), 0, 1e-6);
	assert_float_equal(system_ms(less, 1), 20, 1e-6);
	assert_float_equal(system_ms(less, 2), 10, 1e-6);
	assert_float_equal(system_ms(less, 3), 3, 1e-6);
	profile_divide_cpu_time(more);
	assert_float_equal(system_ms(more, 0), 10, 1e-6);
	assert_float_equal(system_ms(more, 1), 40, 1e-6);
	assert_float_equal(system_ms(more, 2), 20, 1e-6);
	assert_float_equal(system_ms(more, 3), 7, 1e-6);
	profile_free(less);
	profile_free(more);
}

TEST(cpu_modes, unknown_threads_have_the_rest_of_their_process)
{
	struct profile *profile = made_modes(0, 0);

	profile->processes[0].split =
		(struct cpu_split){.user_ns = 77000000, .system_ns = 33000000, .known = true};
	profile_divide_cpu_time(profile);
	assert_float_equal(system_ms(profile, 1), 20, 1e-6);
	assert_float_equal(system_ms(profile, 2), 10, 1e-6);
	assert_float_equal(system_ms(profile, 3), 3, 1e-6);
	profile_free(profile);
}

TEST(cpu_modes, sums_of_system_time_have_an_interval)
{
	struct profile *profile = made_modes(77, 33);
	struct weighed_fixture weighed;

	profile_divide_cpu_time(profile);
	weighed = weighed_new(profile, NULL, METRIC_CPU);
	assert_float_equal((float)(weighed.weights->total.system / MS), 33, 1e-6);
	assert_true(tally_system_error(&weighed.weights->total) > 20 * MS);
	assert_true(tally_system_error(&weighed.weights->total) < 110 * MS);
	weighed_free(&weighed);
	profile_free(profile);
}

TEST(cpu_modes, recordings_that_tell_no_faults_have_none)
{
	struct profile *profile = made_modes(77, 33);

	profile->meta.knows_faults = false;
	profile_divide_cpu_time(profile);
	assert_float_equal(system_ms(profile, 1), 0, 1e-6);
	profile_free(profile);
}
