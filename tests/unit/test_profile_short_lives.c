// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "profile/profile.h"
#include "profile/short_lives.h"
#include "tests/unit/unit.h"

#define MS NS_PER_MS

struct fixture {
	struct profile *profile;
	struct thread_id shell; /* the command; alive up to the end */
	struct stack_id stacks[4];
	int next_pid;
};

/* A process of one thread that began at start_ms, and had ended by end_ms; 0: it lives. */
static struct thread_id add(struct fixture *fixture, const char *name, int pid, uint64_t start_ms,
			    uint64_t end_ms)
{
	struct profile *profile = fixture->profile;
	struct profile_process process = {.pid = pid ? pid : fixture->next_pid++,
					  .parent = PROCESS_NONE,
					  .name = profile_intern(profile, name),
					  .start_ns = start_ms * MS,
					  .end_ns = end_ms * MS};
	struct profile_thread thread = {.tid = process.pid,
					.name = process.name,
					.start_ns = process.start_ns,
					.end_ns = process.end_ns};

	process.command = process.exe = process.name;
	thread.process = profile_add_process(profile, &process).v;
	return profile_add_thread(profile, &thread);
}

static void seen(struct fixture *fixture, struct thread_id thread, size_t stack, uint64_t at_ms,
		 uint64_t cpu_ms)
{
	struct sample sample = {.time_ns = at_ms * MS,
				.cpu_ns = cpu_ms * MS,
				.thread = thread,
				.stack = fixture->stacks[stack],
				.nr = 1,
				.syscall_nr = (int16_t)stack,
				.kind = SAMPLE_RUNNING};

	profile_add_sample(fixture->profile, &sample);
}

static void without_clock(struct fixture *fixture, struct thread_id thread, uint64_t at_ms,
			  uint64_t cpu_ms)
{
	struct sample sample = {.time_ns = at_ms * MS,
				.cpu_ns = cpu_ms * MS,
				.thread = thread,
				.stack = STACK_EMPTY,
				.syscall_nr = -1,
				.kind = SAMPLE_UNATTRIBUTED};

	profile_add_sample(fixture->profile, &sample);
}

static void without_stack(struct fixture *fixture, struct thread_id thread, uint64_t at_ms,
			  uint64_t cpu_ms)
{
	struct sample sample = {.time_ns = at_ms * MS,
				.cpu_ns = cpu_ms * MS,
				.runq_ns = 1,
				.thread = thread,
				.stack = STACK_EMPTY,
				.syscall_nr = -1,
				.kind = SAMPLE_UNATTRIBUTED};

	profile_add_sample(fixture->profile, &sample);
}

/* Its last sample stands for time of processes that were never found. */
static void stands(struct fixture *fixture, struct thread_id thread)
{
	fixture->profile->processes[fixture->profile->threads[thread.v].process].stands_for_unseen =
		true;
}

/* A process of the given one, which the kernel says has reaped children of so much CPU time. */
static void below(struct fixture *fixture, struct thread_id thread, struct thread_id parent)
{
	struct profile *profile = fixture->profile;

	profile->processes[profile->threads[thread.v].process].parent =
		profile->threads[parent.v].process;
}

static void reaped(struct fixture *fixture, struct thread_id thread, uint64_t cpu_ms)
{
	struct profile *profile = fixture->profile;

	profile->processes[profile->threads[thread.v].process].children_ns = cpu_ms * MS;
}

/* A child of the script with one sample of 10 ms, which stands for others. */
static struct thread_id met(struct fixture *fixture, const char *name, struct thread_id script,
			    size_t stack, uint64_t at_ms)
{
	struct thread_id thread = add(fixture, name, 0, at_ms - 1, at_ms + 1);

	below(fixture, thread, script);
	seen(fixture, thread, stack, at_ms, 10);
	stands(fixture, thread);
	return thread;
}

static void never_found(struct fixture *fixture, uint64_t nr, uint64_t cpu_ms)
{
	struct thread_id thread = add(fixture, SHORT_LIVED_NAME, 0, 0, 100);

	fixture->profile->processes[fixture->profile->threads[thread.v].process].nr_unseen = nr;
	fixture->profile->processes[fixture->profile->threads[thread.v].process].pid = 0;
	without_stack(fixture, thread, 100, cpu_ms);
}

static int set_up(void **state)
{
	struct fixture *fixture = xcalloc(1, sizeof(*fixture));
	struct module module = {.kind = MODULE_KIND_FILE, .path = strdup("/bin/prog"), .fd = -1};

	fixture->profile = profile_new();
	module_table_intern(fixture->profile->modules, &module);
	free(module.path);
	for (size_t i = 0; i < ARRAY_SIZE(fixture->stacks); i++) {
		struct frame_id frame = profile_intern_frame(
			fixture->profile, (struct code_address){.address = 16 * (i + 1)});

		fixture->stacks[i] =
			stack_trie_append(fixture->profile->stacks, STACK_EMPTY, frame);
	}
	fixture->next_pid = 100;
	fixture->shell = add(fixture, "sh", 0, 0, 0);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	profile_free(fixture->profile);
	free(fixture);
	return 0;
}

/* CPU time in microseconds of the processes of a name; stack SIZE_MAX: in any, or in none. */
static uint64_t time_of(const struct fixture *fixture, const char *name, size_t stack)
{
	const struct profile *profile = fixture->profile;
	uint64_t sum = 0;

	for (size_t i = 0; i < profile->nr_samples; i++) {
		const struct sample *sample = &profile->samples[i];
		uint32_t process = profile->threads[sample->thread.v].process;

		if (strcmp(profile_str(profile, profile->processes[process].name), name) == 0 &&
		    (stack == SIZE_MAX || sample->stack.v == fixture->stacks[stack].v))
			sum += sample->cpu_ns;
	}
	return sum / 1000;
}

static uint64_t of_thread(const struct profile *profile, struct thread_id thread, bool attributed)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < profile->nr_samples; i++)
		if (profile->samples[i].thread.v == thread.v &&
		    attributed == (profile->samples[i].kind != SAMPLE_UNATTRIBUTED))
			sum += profile->samples[i].cpu_ns;
	return sum / 1000;
}

static uint64_t unseen_of(const struct profile *profile, const char *name)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < profile->nr_processes; i++)
		if (strcmp(profile_str(profile, profile->processes[i].name), name) == 0)
			nr += profile->processes[i].nr_unseen;
	return nr;
}

/* Estimate, and check what always holds. */
static void estimate(struct fixture *fixture)
{
	struct profile *profile = fixture->profile;
	uint64_t cpu_ns = profile_total(profile, METRIC_CPU);
	uint64_t runq_ns = profile_total(profile, METRIC_RUNQ);
	uint64_t *last_ns = xcalloc(profile->nr_threads + 64, sizeof(*last_ns));

	profile_estimate_short_lives(profile);
	assert_int_equal(profile_total(profile, METRIC_CPU), cpu_ns);
	assert_int_equal(profile_total(profile, METRIC_RUNQ), runq_ns);
	for (size_t i = 0; i < profile->nr_samples; i++) {
		uint64_t *last = &last_ns[profile->samples[i].thread.v];

		assert_true(profile->samples[i].time_ns >= *last);
		*last = profile->samples[i].time_ns;
	}
	free(last_ns);
}

TEST_WITH(struct fixture *fixture, short_lives, a_process_keeps_its_time_and_gets_stacks)
{
	struct thread_id first = add(fixture, "true", 0, 1, 3);
	struct thread_id missed = add(fixture, "true", 0, 4, 6);
	struct thread_id second = add(fixture, "true", 0, 7, 9);

	seen(fixture, first, 0, 2, 1);
	without_stack(fixture, first, 3, 1);
	without_stack(fixture, missed, 6, 2);
	seen(fixture, second, 1, 9, 2);
	estimate(fixture);
	assert_int_equal(of_thread(fixture->profile, first, true), 2000);
	assert_int_equal(of_thread(fixture->profile, missed, true), 2000);
	assert_int_equal(of_thread(fixture->profile, missed, false), 0);
	assert_int_equal(of_thread(fixture->profile, second, true), 2000);
	/* Two samples for 6 ms. */
	assert_int_equal(time_of(fixture, "true", 0), 3000);
	assert_int_equal(time_of(fixture, "true", 1), 3000);
}

TEST_WITH(struct fixture *fixture, short_lives, a_single_process_keeps_what_no_sample_has)
{
	struct thread_id single = add(fixture, "once", 0, 1, 9);

	seen(fixture, single, 0, 2, 2);
	without_stack(fixture, single, 9, 4);
	estimate(fixture);
	assert_int_equal(time_of(fixture, "once", 0), 2000);
	assert_int_equal(of_thread(fixture->profile, single, false), 4000);
}

TEST_WITH(struct fixture *fixture, short_lives, programs_do_not_mix)
{
	seen(fixture, add(fixture, "a", 0, 1, 3), 0, 2, 1);
	without_stack(fixture, add(fixture, "a", 0, 3, 5), 5, 2);
	seen(fixture, add(fixture, "b", 0, 5, 7), 1, 6, 1);
	without_stack(fixture, add(fixture, "b", 0, 7, 9), 9, 1);
	without_stack(fixture, add(fixture, "c", 0, 7, 9), 9, 5);
	estimate(fixture);
	assert_int_equal(time_of(fixture, "a", 0), 3000);
	assert_int_equal(time_of(fixture, "b", 1), 2000);
	/* No sample can speak for it. */
	assert_int_equal(time_of(fixture, "c", SIZE_MAX), 5000);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(time_of(fixture, "c", i), 0);
}

TEST_WITH(struct fixture *fixture, short_lives, unseen_time_goes_to_samples_that_stand_for_it)
{
	struct thread_id one = add(fixture, "a", 0, 1, 3);
	struct thread_id other = add(fixture, "b", 0, 3, 6);
	struct thread_id another = add(fixture, "c", 0, 6, 9);
	struct thread_id not_sampled = add(fixture, "d", 0, 6, 9);

	seen(fixture, one, 0, 2, 2);
	stands(fixture, one);
	seen(fixture, other, 1, 4, 2);
	seen(fixture, another, 3, 8, 2);
	stands(fixture, another);
	stands(fixture, not_sampled);
	never_found(fixture, 10, 8);
	estimate(fixture);
	assert_int_equal(time_of(fixture, "a", 0), 6000);
	assert_int_equal(time_of(fixture, "c", 3), 6000);
	assert_int_equal(time_of(fixture, "b", 1), 2000);
	assert_int_equal(time_of(fixture, SHORT_LIVED_NAME, SIZE_MAX), 0);
	/* Each process has what its clock showed; the rest is in rows of their own. */
	assert_int_equal(of_thread(fixture->profile, one, true), 2000);
	assert_int_equal(unseen_of(fixture->profile, "a"), 5);
	assert_int_equal(unseen_of(fixture->profile, "c"), 5);
	assert_int_equal(unseen_of(fixture->profile, SHORT_LIVED_NAME), 0);
}

TEST_WITH(struct fixture *fixture, short_lives, a_sample_stands_for_six_times_the_mean_at_most)
{
	struct thread_id busy = add(fixture, "busy", 0, 0, 0), first, second;

	for (uint64_t i = 1; i <= 98; i++)
		seen(fixture, busy, 3, i, 1);
	first = add(fixture, "a", 0, 97, 99);
	seen(fixture, first, 0, 98, 1);
	stands(fixture, first);
	second = add(fixture, "b", 0, 97, 99);
	seen(fixture, second, 1, 98, 1);
	stands(fixture, second);
	without_stack(fixture, add(fixture, "b", 0, 97, 99), 99, 50);
	never_found(fixture, 100, 50);
	estimate(fixture);
	/* 200 ms for 100 samples: 12 ms for each, from either sum. */
	assert_int_equal(time_of(fixture, "a", 0), 12000 + 1000);
	assert_int_equal(time_of(fixture, "b", 1), 12000 + 12000);
	assert_int_equal(time_of(fixture, "b", SIZE_MAX), 51000 + 12000);
	assert_int_equal(time_of(fixture, SHORT_LIVED_NAME, SIZE_MAX), 26000);
	/* Those of "a" live for 1 ms, those of "b" for 25. */
	assert_int_equal(unseen_of(fixture->profile, "a"), 48);
	assert_int_equal(unseen_of(fixture->profile, "b"), 0);
	assert_int_equal(unseen_of(fixture->profile, SHORT_LIVED_NAME), 52);
}

TEST_WITH(struct fixture *fixture, short_lives, a_process_of_many_samples_keeps_its_own)
{
	struct thread_id many = add(fixture, "a", 0, 0, 20);

	for (uint64_t i = 1; i <= 9; i++)
		seen(fixture, many, 0, i, i);
	stands(fixture, many);
	without_stack(fixture, add(fixture, "a", 0, 21, 22), 22, 1);
	never_found(fixture, 0, 2);
	estimate(fixture);
	assert_int_equal(of_thread(fixture->profile, many, true), 45000);
	assert_int_equal(time_of(fixture, "a", 0), 47000);
	for (size_t i = 0; i < 9; i++)
		assert_int_equal(fixture->profile->samples[i].cpu_ns, (i + 1) * MS);
	assert_int_equal(unseen_of(fixture->profile, "a"), 0);
}

TEST_WITH(struct fixture *fixture, short_lives, each_part_has_the_weight_of_its_sample)
{
	double square = 0;
	struct thread_id first = add(fixture, "a", 0, 1, 3);
	struct thread_id second = add(fixture, "a", 0, 4, 6);

	seen(fixture, first, 0, 2, 1);
	stands(fixture, first);
	seen(fixture, second, 1, 5, 1);
	without_stack(fixture, add(fixture, "a", 0, 7, 9), 9, 4);
	never_found(fixture, 5, 4);
	estimate(fixture);
	for (size_t i = 0; i < fixture->profile->nr_samples; i++) {
		const struct sample *sample = &fixture->profile->samples[i];

		if (sample->cpu_ns)
			assert_int_equal(sample->stands_ns, 5 * MS);
		square += (double)sample->cpu_ns * (double)sample->stands_ns;
	}
	/* Two samples for 10 ms. */
	assert_true(square == 2.0 * 25 * MS * MS);
}

TEST_WITH(struct fixture *fixture, short_lives, unseen_time_is_divided_below_its_ancestor)
{
	struct thread_id cuts = add(fixture, "a.sh", 0, 1, 90);
	struct thread_id seds = add(fixture, "b.sh", 0, 1, 90);

	for (uint64_t at_ms = 10; at_ms <= 40; at_ms += 10) {
		met(fixture, "cut", cuts, 0, at_ms);
		met(fixture, "sed", seds, 1, at_ms);
	}
	/* The kernel has rounded off 10 ms of each in the mean. */
	reaped(fixture, cuts, 330);
	reaped(fixture, seds, 90);
	never_found(fixture, 100, 360);
	estimate(fixture);
	assert_int_equal(time_of(fixture, "cut", 0), 340000);
	assert_int_equal(time_of(fixture, "sed", 1), 100000);
	assert_int_equal(time_of(fixture, SHORT_LIVED_NAME, SIZE_MAX), 0);
}

/* The recording ends at 100 ms: what lives then has been reaped by nothing. */
TEST_WITH(struct fixture *fixture, short_lives, a_child_that_outlives_the_recording_is_not_reaped)
{
	struct thread_id cuts = add(fixture, "a.sh", 0, 1, 100);
	struct thread_id seds = add(fixture, "b.sh", 0, 1, 100);

	for (int i = 0; i < 2; i++) {
		struct thread_id child = add(fixture, "cc1", 0, 10, 100);

		below(fixture, child, i ? seds : cuts);
		for (uint64_t at_ms = 20; at_ms < 80; at_ms += 2)
			seen(fixture, child, 2, at_ms, 10);
	}
	for (uint64_t at_ms = 10; at_ms <= 40; at_ms += 10) {
		met(fixture, "cut", cuts, 0, at_ms);
		met(fixture, "sed", seds, 1, at_ms);
	}
	reaped(fixture, cuts, 330);
	reaped(fixture, seds, 90);
	never_found(fixture, 100, 360);
	estimate(fixture);
	assert_int_equal(time_of(fixture, "cut", 0), 340000);
	assert_int_equal(time_of(fixture, "sed", 1), 100000);
}

TEST_WITH(struct fixture *fixture, short_lives, one_program_has_the_stacks_of_each_ancestor)
{
	struct thread_id first = add(fixture, "a.sh", 0, 1, 90);
	struct thread_id second = add(fixture, "b.sh", 0, 1, 90);

	for (uint64_t at_ms = 10; at_ms <= 40; at_ms += 10) {
		met(fixture, "cut", first, 0, at_ms);
		met(fixture, "cut", second, 1, at_ms);
	}
	reaped(fixture, first, 330);
	reaped(fixture, second, 90);
	never_found(fixture, 100, 360);
	estimate(fixture);
	assert_int_equal(time_of(fixture, "cut", 0), 340000);
	assert_int_equal(time_of(fixture, "cut", 1), 100000);
}

TEST_WITH(struct fixture *fixture, short_lives, what_the_kernel_rounds_off_goes_to_all)
{
	struct thread_id cuts = add(fixture, "a.sh", 0, 1, 90);
	struct thread_id seds = add(fixture, "b.sh", 0, 1, 90);

	for (uint64_t at_ms = 10; at_ms <= 40; at_ms += 10) {
		met(fixture, "cut", cuts, 0, at_ms);
		met(fixture, "sed", seds, 1, at_ms);
	}
	reaped(fixture, cuts, 130);
	reaped(fixture, seds, 130);
	never_found(fixture, 100, 220);
	estimate(fixture);
	assert_int_equal(time_of(fixture, "cut", 0), 150000);
	assert_int_equal(time_of(fixture, "sed", 1), 150000);
}

TEST_WITH(struct fixture *fixture, short_lives, little_time_goes_to_the_next_ancestor)
{
	struct thread_id script = add(fixture, "a.sh", 0, 1, 90);
	struct thread_id seds = add(fixture, "b.sh", 0, 1, 90);

	for (uint64_t at_ms = 10; at_ms <= 40; at_ms += 10) {
		struct thread_id subshell = add(fixture, "a.sh", 0, at_ms - 2, at_ms + 2);

		below(fixture, subshell, script);
		met(fixture, "cut", subshell, 0, at_ms);
		met(fixture, "sed", seds, 1, at_ms);
	}
	reaped(fixture, script, 330);
	reaped(fixture, seds, 90);
	never_found(fixture, 100, 360);
	estimate(fixture);
	assert_int_equal(time_of(fixture, "cut", 0), 340000);
	assert_int_equal(time_of(fixture, "sed", 1), 100000);
}

TEST_WITH(struct fixture *fixture, short_lives, a_script_below_a_script_has_its_own)
{
	struct thread_id outer = add(fixture, "a.sh", 0, 1, 90);
	struct thread_id inner = add(fixture, "b.sh", 0, 1, 90);

	below(fixture, inner, outer);
	without_stack(fixture, inner, 5, 20);
	for (uint64_t at_ms = 10; at_ms <= 40; at_ms += 10) {
		met(fixture, "cut", outer, 0, at_ms);
		met(fixture, "sed", inner, 1, at_ms);
	}
	/* 340 - 40 - 20 - 240; the time of the inner one and of its children is in both. */
	reaped(fixture, outer, 330);
	reaped(fixture, inner, 230);
	never_found(fixture, 100, 240);
	estimate(fixture);
	assert_int_equal(time_of(fixture, "cut", 0), 80000);
	assert_int_equal(time_of(fixture, "sed", 1), 240000);
}

TEST_WITH(struct fixture *fixture, short_lives, an_exec_does_not_end_what_a_process_reaps)
{
	struct thread_id former = add(fixture, "a.sh", 50, 1, 45);
	struct thread_id later = add(fixture, "b.sh", 50, 45, 90);

	below(fixture, later, former);
	for (uint64_t at_ms = 10; at_ms <= 40; at_ms += 10) {
		met(fixture, "cut", former, 0, at_ms);
		met(fixture, "sed", later, 1, at_ms + 40);
	}
	reaped(fixture, former, 330);
	reaped(fixture, later, 430);
	never_found(fixture, 100, 360);
	estimate(fixture);
	assert_int_equal(time_of(fixture, "cut", 0), 340000);
	assert_int_equal(time_of(fixture, "sed", 1), 100000);
}

/* It was found before it was seen that its parent had executed the program that made it. */
TEST_WITH(struct fixture *fixture, short_lives, a_child_is_reaped_by_the_program_of_its_end)
{
	struct thread_id busy = add(fixture, "busy", 0, 0, 0);
	struct thread_id seds = add(fixture, "b.sh", 0, 1, 90);
	struct thread_id former = add(fixture, "sh", 50, 1, 13);
	struct thread_id child = add(fixture, "cc1", 0, 10, 80);
	struct thread_id later = add(fixture, "gcc", 50, 12, 90);

	below(fixture, child, former);
	below(fixture, later, former);
	for (uint64_t i = 1; i <= 98; i++)
		seen(fixture, busy, 3, i, 10);
	for (uint64_t at_ms = 20; at_ms < 80; at_ms += 2)
		seen(fixture, child, 2, at_ms, 10);
	for (uint64_t at_ms = 10; at_ms <= 40; at_ms += 10)
		met(fixture, "sed", seds, 1, at_ms);
	reaped(fixture, later, 290);
	reaped(fixture, seds, 130);
	never_found(fixture, 100, 100);
	estimate(fixture);
	assert_int_equal(time_of(fixture, "sed", 1), 140000);
	assert_int_equal(time_of(fixture, SHORT_LIVED_NAME, SIZE_MAX), 0);
}

TEST_WITH(struct fixture *fixture, short_lives, time_below_a_process_that_no_sample_has_stays)
{
	struct thread_id hidden = add(fixture, "a.sh", 0, 1, 90);
	struct thread_id seds = add(fixture, "b.sh", 0, 1, 90);
	struct thread_id busy = add(fixture, "busy", 0, 0, 0);

	for (uint64_t i = 1; i <= 98; i++)
		seen(fixture, busy, 3, i, 10);
	for (uint64_t at_ms = 10; at_ms <= 40; at_ms += 10)
		met(fixture, "sed", seds, 1, at_ms);
	reaped(fixture, hidden, 290);
	reaped(fixture, seds, 130);
	never_found(fixture, 100, 400);
	estimate(fixture);
	assert_int_equal(time_of(fixture, "sed", 1), 140000);
	assert_int_equal(time_of(fixture, SHORT_LIVED_NAME, SIZE_MAX), 300000);
}

/* A thread of the shell; id 0: of the time that no thread's clock has. */
static struct thread_id add_thread(struct fixture *fixture, const char *name, int tid,
				   uint64_t end_ms, bool stands)
{
	struct profile *profile = fixture->profile;
	struct profile_thread thread = {.process = profile->threads[fixture->shell.v].process,
					.tid = tid,
					.name = profile_intern(profile, name),
					.end_ns = end_ms * MS,
					.stands_for_unseen = stands};

	return profile_add_thread(profile, &thread);
}

TEST_WITH(struct fixture *fixture, short_lives, samples_of_threads_stand_for_threads)
{
	struct thread_id one = add_thread(fixture, "x", 1, 3, true);
	struct thread_id other = add_thread(fixture, "x", 2, 5, false);
	struct thread_id another = add_thread(fixture, "y", 3, 7, true);
	struct thread_id unseen = add_thread(fixture, SHORT_LIVED_NAME, 0, 0, false);

	seen(fixture, fixture->shell, 3, 1, 1);
	seen(fixture, one, 0, 2, 1);
	without_clock(fixture, unseen, 3, 2);
	seen(fixture, other, 1, 4, 3);
	seen(fixture, another, 2, 6, 1);
	without_clock(fixture, unseen, 7, 6);
	estimate(fixture);
	/* 8 ms for two that stand; of the threads named x two samples have 1 + 3 + 4 ms. */
	assert_int_equal(time_of(fixture, "sh", 0), 4000);
	assert_int_equal(time_of(fixture, "sh", 1), 4000);
	assert_int_equal(time_of(fixture, "sh", 2), 5000);
	assert_int_equal(time_of(fixture, "sh", 3), 1000);
	/* Each thread has what its clock showed. */
	assert_int_equal(of_thread(fixture->profile, one, true), 1000);
	assert_int_equal(of_thread(fixture->profile, other, true), 3000);
	assert_int_equal(of_thread(fixture->profile, another, true), 1000);
	assert_int_equal(of_thread(fixture->profile, unseen, true), 8000);
	assert_int_equal(of_thread(fixture->profile, unseen, false), 0);
}

/* The tick that found it was too late to stop it. */
static void missed(struct fixture *fixture, struct thread_id thread)
{
	fixture->profile->threads[thread.v].stands_for_unseen = true;
	fixture->profile->threads[thread.v].was_missed = true;
}

TEST_WITH(struct fixture *fixture, short_lives, a_missed_thread_stands_for_time_without_a_stack)
{
	struct thread_id one = add_thread(fixture, "x", 1, 3, true);
	struct thread_id other = add_thread(fixture, "x", 2, 7, false);
	struct thread_id lost = add_thread(fixture, "x", 3, 8, false);
	struct thread_id nameless = add_thread(fixture, "y", 4, 9, false);
	struct thread_id unseen = add_thread(fixture, SHORT_LIVED_NAME, 0, 0, false);

	missed(fixture, lost);
	missed(fixture, nameless);
	seen(fixture, one, 0, 2, 1);
	seen(fixture, other, 1, 4, 3);
	without_clock(fixture, lost, 8, 2);
	without_clock(fixture, unseen, 10, 9);
	estimate(fixture);
	/* 9 ms for one that was sampled and two that were missed. The threads named x have 6 ms by
	 * their clocks, and 6 of those: for two samples, and one that was missed. */
	assert_int_equal(time_of(fixture, "sh", 0), 4000);
	assert_int_equal(time_of(fixture, "sh", 1), 4000);
	assert_int_equal(of_thread(fixture->profile, unseen, false), 5000);
	/* Each thread has what its clock showed. */
	assert_int_equal(of_thread(fixture->profile, one, true), 1000);
	assert_int_equal(of_thread(fixture->profile, other, true) +
				 of_thread(fixture->profile, other, false),
			 3000);
	assert_int_equal(of_thread(fixture->profile, lost, true) +
				 of_thread(fixture->profile, lost, false),
			 2000);
}

TEST_WITH(struct fixture *fixture, short_lives, where_all_threads_were_missed_nothing_is_known)
{
	struct thread_id unseen = add_thread(fixture, SHORT_LIVED_NAME, 0, 0, false);

	for (int i = 1; i <= 3; i++)
		missed(fixture, add_thread(fixture, "x", i, 3, false));
	without_clock(fixture, unseen, 10, 9);
	estimate(fixture);
	assert_int_equal(of_thread(fixture->profile, unseen, false), 9000);
}

/* A number from 0 to 1. */
static double random_of(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (double)(*state >> 11) * 0x1p-53;
}

/* Threads of a model: each spends the first part of its life in one function, the rest in another.
 */
struct short_model {
	double life_ms, first_ms, delay_ms, gap_ms;
	uint64_t random;
};

/* Record as many lives as ticks find threads of: a stop comes the delay after the finding. */
static void record_model(struct fixture *fixture, struct short_model *model, int nr_found)
{
	double lives = (double)nr_found * model->gap_ms / model->life_ms;
	struct thread_id unseen;
	uint64_t at_ms = 1;

	for (int i = 0; i < nr_found; i++) {
		double found_ms = random_of(&model->random) * model->life_ms;
		double stop_ms =
			found_ms + model->delay_ms * (0.8 + 0.4 * random_of(&model->random));
		struct thread_id thread = add_thread(fixture, "x", i + 1, at_ms + 1, true);
		struct sample sample = {.time_ns = at_ms * MS,
					.cpu_ns = (uint64_t)(stop_ms * MS),
					.thread = thread,
					.stack = fixture->stacks[stop_ms >= model->first_ms],
					.nr = 1,
					.kind = SAMPLE_RUNNING};

		fixture->profile->threads[thread.v].start_ns = at_ms * MS;
		at_ms += 2;
		if (stop_ms >= model->life_ms) {
			missed(fixture, thread);
			continue;
		}
		profile_add_sample(fixture->profile, &sample);
		lives -= stop_ms / model->life_ms;
	}
	unseen = add_thread(fixture, SHORT_LIVED_NAME, 0, 0, false);
	without_clock(fixture, unseen, at_ms, (uint64_t)(lives * model->life_ms));
}

TEST_WITH(struct fixture *fixture, short_lives, threads_of_a_few_stops_have_their_true_shares)
{
	static const double lives_ms[] = {0.1, 0.2, 0.5};

	for (size_t i = 0; i < ARRAY_SIZE(lives_ms); i++) {
		struct short_model model = {.life_ms = lives_ms[i],
					    .first_ms = 0.6 * lives_ms[i],
					    .delay_ms = 0.05,
					    .gap_ms = 3.3,
					    .random = i + 1};
		double all, later, unknown;
		void *state;

		set_up(&state);
		record_model(state, &model, 20000);
		estimate(state);
		all = (double)time_of(state, "sh", SIZE_MAX);
		later = (double)time_of(state, "sh", 1) / all;
		unknown = 1 - later - (double)time_of(state, "sh", 0) / all;
		/* Of 20,000 samples: three deviations of a share are 1 percent. */
		assert_true(later > 0.4 - 0.011 && later < 0.4 + 0.011);
		assert_true(unknown > model.delay_ms / model.life_ms - 0.011);
		assert_true(unknown < model.delay_ms / model.life_ms + 0.011);
		tear_down(&state);
	}
	assert_non_null(fixture);
}

TEST_WITH(struct fixture *fixture, short_lives, threads_of_a_pool_keep_their_own_stacks)
{
	struct thread_id one = add_thread(fixture, "pool", 1, 900, true);
	struct thread_id other = add_thread(fixture, "pool", 2, 900, false);
	struct thread_id unseen = add_thread(fixture, SHORT_LIVED_NAME, 0, 0, false);

	seen(fixture, one, 0, 2, 1);
	seen(fixture, other, 1, 4, 5);
	without_clock(fixture, unseen, 901, 1);
	estimate(fixture);
	assert_int_equal(time_of(fixture, "sh", 0), 2000);
	assert_int_equal(time_of(fixture, "sh", 1), 5000);
}

TEST_WITH(struct fixture *fixture, short_lives, threads_of_other_processes_stand_for_none)
{
	struct thread_id elsewhere = add(fixture, "a", 0, 1, 3);
	struct thread_id unseen = add_thread(fixture, SHORT_LIVED_NAME, 0, 0, false);

	fixture->profile->threads[elsewhere.v].stands_for_unseen = true;
	seen(fixture, elsewhere, 0, 2, 1);
	seen(fixture, add_thread(fixture, "x", 1, 0, false), 1, 2, 1);
	without_clock(fixture, unseen, 3, 2);
	estimate(fixture);
	assert_int_equal(time_of(fixture, "a", 0), 1000);
	assert_int_equal(of_thread(fixture->profile, unseen, false), 2000);
}

TEST_WITH(struct fixture *fixture, short_lives, any_number_of_a_file_keeps_the_sum)
{
	struct thread_id cuts = add(fixture, "a.sh", 0, 1, 90);
	struct thread_id seds = add(fixture, "b.sh", 0, 1, 90);

	for (uint64_t at_ms = 10; at_ms <= 40; at_ms += 10) {
		met(fixture, "cut", cuts, 0, at_ms);
		met(fixture, "sed", seds, 1, at_ms);
	}
	reaped(fixture, cuts, UINT64_MAX / MS);
	reaped(fixture, seds, UINT64_MAX / MS);
	never_found(fixture, 100, 360);
	estimate(fixture);
	assert_int_equal(time_of(fixture, "cut", SIZE_MAX) + time_of(fixture, "sed", SIZE_MAX) +
				 time_of(fixture, SHORT_LIVED_NAME, SIZE_MAX),
			 440000);
}
