// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/alloc.h"
#include "profile/show_kernel.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"

static struct stack_id stack_of(struct profile *profile, const char *const *names, size_t nr)
{
	struct module_id module = made_module(profile, MODULE_KIND_KERNEL, "kernel");
	struct stack_id stack = STACK_EMPTY;

	for (size_t i = 0; i < nr; i++) {
		struct code_address where = {module, strlen(names[i])};

		stack = stack_trie_intern(profile->stacks, stack,
					  profile_intern_frame(profile, where));
	}
	return stack;
}

static uint64_t address_at(const struct profile *profile, struct stack_id stack)
{
	return profile->frames[stack_trie_frame(profile->stacks, stack).v].where.address;
}

TEST(show_kernel, puts_it_below_the_stacks_of_sleeps)
{
	static const char *const names[] = {"a", "bb", "ccc"};
	struct made made = made_begin();
	struct profile *profile = made.profile;
	struct stack_id kernel = stack_of(profile, names, ARRAY_SIZE(names)), user, at;
	struct sample *samples;

	user = stack_of(profile, &names[1], 1);
	profile_add_sample(profile, &(struct sample){.stack = user, .kind = SAMPLE_RUNNING});
	for (int i = 0; i < 2; i++)
		profile_add_sample(
			profile,
			&(struct sample){.stack = user, .kind = SAMPLE_BLOCKED, .kernel = kernel});
	profile_add_sample(profile, &(struct sample){.kind = SAMPLE_BLOCKED, .kernel = kernel});
	assert_true(profile_show_kernel(profile));
	samples = profile->samples;
	assert_int_equal(samples[0].stack.v, user.v);
	assert_int_equal(samples[1].stack.v, samples[2].stack.v);
	assert_int_equal(samples[3].stack.v, STACK_EMPTY.v);
	at = samples[1].stack;
	for (uint64_t length = 3; length > 0; length--) {
		assert_int_equal(address_at(profile, at), length);
		at = stack_trie_parent(profile->stacks, at);
	}
	assert_int_equal(at.v, user.v);
	profile_free(profile);
}

TEST(show_kernel, says_that_there_is_none)
{
	struct made made = made_begin();

	profile_add_sample(made.profile, &(struct sample){.kind = SAMPLE_BLOCKED});
	assert_false(profile_show_kernel(made.profile));
	profile_free(made.profile);
}
