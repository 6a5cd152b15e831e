// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/lone_code.h"
#include "profile/profile.h"
#include "tests/unit/unit.h"

static char prog_path[] = "/bin/scheme";
static char jit_path[] = "[jit]";

/*
 * 30 samples of 1 ms in JIT-compiled code below main(), in one frame of it, or with `calls` in one
 * of them in two.
 */
static struct profile *made(uint32_t nr, bool calls)
{
	struct profile *profile = profile_new();
	struct module unknown = {.kind = MODULE_KIND_UNKNOWN, .path = jit_path, .fd = -1};
	struct module prog = {.kind = MODULE_KIND_FILE, .path = prog_path, .fd = -1};
	struct module jit = {.kind = MODULE_KIND_JIT, .path = jit_path, .owner_pid = 1, .fd = -1};
	struct profile_process process = {.pid = 1, .parent = PROCESS_NONE};
	struct profile_thread thread = {.tid = 1};
	struct sample sample = {.cpu_ns = 1000000, .nr = 1};
	struct module_id jit_id;
	struct stack_id main_, leaf;

	if (module_table_nr(profile->modules) == 0)
		module_table_intern(profile->modules, &unknown);
	main_ = stack_trie_intern(
		profile->stacks, STACK_EMPTY,
		profile_intern_frame(
			profile,
			(struct code_address){module_table_intern(profile->modules, &prog), 1}));
	jit_id = module_table_intern(profile->modules, &jit);
	leaf = stack_trie_intern(profile->stacks, main_,
				 profile_intern_frame(profile, (struct code_address){jit_id, 2}));
	profile_add_process(profile, &process);
	profile_add_thread(profile, &thread);
	for (uint32_t i = 0; i < nr; i++) {
		sample.stack = leaf;
		if (calls && i == 7)
			sample.stack = stack_trie_intern(
				profile->stacks, leaf,
				profile_intern_frame(profile, (struct code_address){jit_id, 3}));
		sample.time_ns += 1000000;
		profile_add_sample(profile, &sample);
	}
	return profile;
}

TEST(lone_code, without_calls)
{
	struct profile *profile = made(30, false);
	struct lone_code found;

	assert_true(profile_find_lone_code(profile, &found));
	assert_int_equal(module_table_get(profile->modules, found.module)->kind, MODULE_KIND_JIT);
	assert_int_equal(found.cpu_ns, 30000000);
	profile_free(profile);
}

TEST(lone_code, with_a_call_or_few_samples_it_is_none)
{
	struct profile *profile = made(30, true);
	struct lone_code found;

	assert_false(profile_find_lone_code(profile, &found));
	profile_free(profile);
	profile = made(5, false);
	assert_false(profile_find_lone_code(profile, &found));
	profile_free(profile);
}
