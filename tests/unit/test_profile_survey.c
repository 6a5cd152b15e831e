// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/profile.h"
#include "profile/survey.h"
#include "tests/unit/unit.h"

static char prog_path[] = "/bin/prog";
static char libc_path[] = "/lib/libc.so.6";

/*
 * main() in prog (stack 1) calls write() in libc (stack 2); a stripped part of
 * libc stands alone (stack 3).
 */
static struct profile *two_modules(void)
{
	struct profile *profile = profile_new();
	struct module prog = {.kind = MODULE_KIND_FILE, .path = prog_path, .fd = -1};
	struct module libc = {.kind = MODULE_KIND_FILE, .path = libc_path, .fd = -1};
	struct module_id prog_id = module_table_intern(profile->modules, &prog);
	struct module_id libc_id = module_table_intern(profile->modules, &libc);
	struct profile_process process = {.pid = 1, .parent = PROCESS_NONE};
	struct profile_thread thread = {.tid = 1};
	struct frame_id main_ = profile_intern_frame(profile, (struct code_address){prog_id, 1});
	struct frame_id write_ = profile_intern_frame(profile, (struct code_address){libc_id, 2});
	struct stack_id stack = stack_trie_intern(profile->stacks, STACK_EMPTY, main_);

	stack_trie_intern(profile->stacks, stack, write_);
	stack_trie_intern(profile->stacks, STACK_EMPTY, write_);
	profile_add_process(profile, &process);
	profile_add_thread(profile, &thread);
	return profile;
}

static void add_sample(struct profile *profile, uint32_t stack, enum stack_end end, uint64_t cpu_ns)
{
	struct sample sample = {
		.stack = {stack}, .end = (uint8_t)end, .cpu_ns = cpu_ns, .nr = 1, .blocked_ns = 5};

	profile_add_sample(profile, &sample);
}

TEST(survey, sums_modules_and_ends)
{
	struct profile *profile = two_modules();
	struct sample lost = {.cpu_ns = 1000, .kind = SAMPLE_UNATTRIBUTED};
	struct survey *survey;

	add_sample(profile, 1, STACK_END_ROOT, 100);
	add_sample(profile, 2, STACK_END_ROOT, 30);
	add_sample(profile, 2, STACK_END_DEPTH_LIMIT, 3);
	add_sample(profile, 3, STACK_END_NO_CFI, 20);
	add_sample(profile, 3, STACK_END_NO_CFI, 20);
	add_sample(profile, 0, STACK_END_NOT_TAKEN, 7);
	profile_add_sample(profile, &lost);
	survey = survey_new(profile);
	assert_int_equal(survey->total.cpu_ns, 1180);
	assert_int_equal(survey->total.samples, 6);
	assert_int_equal(survey->total.blocked_ns, 30);
	assert_int_equal(survey->unattributed.cpu_ns, 1000);
	assert_int_equal(survey->complete.cpu_ns, 133);
	assert_int_equal(survey->modules[1].cpu_ns, 100); /* prog: main() itself */
	assert_int_equal(survey->modules[2].cpu_ns, 73);
	assert_int_equal(survey->modules[2].samples, 4);
	assert_int_equal(survey->nr_ends, 3);
	assert_int_equal(survey->ends[0].end, STACK_END_NO_CFI);
	assert_int_equal(survey->ends[0].module.v, 2);
	assert_int_equal(survey->ends[0].sum.samples, 2);
	assert_int_equal(survey->ends[1].end, STACK_END_NOT_TAKEN);
	assert_int_equal(survey->ends[1].module.v, 0);
	assert_int_equal(survey->ends[2].end, STACK_END_DEPTH_LIMIT);
	assert_int_equal(survey->ends[2].module.v, 1); /* the outermost frame is main() */
	survey_free(survey);
	profile_free(profile);
}

/* What is not proved to reach the root is in no sum of complete stacks. */
TEST(survey, what_is_not_proved_is_not_complete)
{
	struct profile *profile = two_modules();
	struct survey *survey;

	add_sample(profile, 1, STACK_END_ROOT, 100);
	add_sample(profile, 2, STACK_END_OTHER_STACK, 30);
	add_sample(profile, 2, STACK_END_UNPROVED, 7);
	add_sample(profile, 3, STACK_END_NO_MAPPING, 2);
	survey = survey_new(profile);
	assert_int_equal(survey->total.cpu_ns, 139);
	assert_int_equal(survey->complete.cpu_ns, 100);
	assert_int_equal(survey->other_stack.cpu_ns, 30);
	assert_int_equal(survey->unproved.cpu_ns, 9);
	assert_int_equal(survey->nr_ends, 3);
	survey_free(survey);
	profile_free(profile);
}

TEST(survey, an_empty_profile_has_nothing)
{
	struct profile *profile = profile_new();
	struct survey *survey = survey_new(profile);

	assert_int_equal(survey->total.samples, 0);
	assert_int_equal(survey->nr_ends, 0);
	survey_free(survey);
	profile_free(profile);
}
