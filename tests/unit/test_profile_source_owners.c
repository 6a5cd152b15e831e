// SPDX-License-Identifier: GPL-2.0-or-later
#include <unistd.h>

#include "profile/profile.h"
#include "profile/source_owners.h"
#include "tests/unit/unit.h"

#define USER  60001
#define OTHER 60002

/* A program of each owner: its function is in one file, the line in another. */
static const struct {
	uid_t user;
	const char *file, *function_file;
} programs[] = {
	{USER, "of-user", "of-both"},
	{OTHER, "of-other", "of-both"},
	{0, "of-root", "of-user-and-root"},
	{USER, "of-user", "of-user-and-root"},
};

#define NR_PROGRAMS (sizeof(programs) / sizeof(programs[0]))

static struct profile *made(void)
{
	struct profile *profile = profile_new();
	struct code_address where[NR_PROGRAMS];

	for (size_t i = 0; i < NR_PROGRAMS; i++) {
		char path[16];
		const struct module module = {.kind = MODULE_KIND_FILE, .path = path, .fd = -1};

		snprintf(path, sizeof(path), "/program%zu", i);
		where[i] = (struct code_address){module_table_intern(profile->modules, &module),
						 0x1000};
		assert_int_equal(profile_intern_frame(profile, where[i]).v, i);
	}
	profile_reset_symbols(profile);
	for (size_t i = 0; i < NR_PROGRAMS; i++) {
		const struct function function = {
			.name = profile_intern(profile, "f"),
			.file = profile_intern(profile, programs[i].function_file)};
		const struct location location = {
			.file = profile_intern(profile, programs[i].file),
			.function = profile_intern_function(profile, &function),
			.line = 1};
		struct module_symbols *row = &profile->symbols.modules[where[i].module.v];

		profile_set_chain(profile, (struct frame_id){(uint32_t)i}, &location, 1);
		row->source = SYMBOL_SOURCE_DWARF;
		row->owner = owner_of_user(programs[i].user);
	}
	return profile;
}

/* By both ways to ask. */
static struct owner owner_of(struct profile *profile, const char *file)
{
	struct owner *owners = profile_source_owners(profile);
	struct owner owner = profile_source_owner(profile, file);

	assert_int_equal(owners[profile_intern(profile, file).v].v, owner.v);
	free(owners);
	return owner;
}

TEST(source_owners, joined_over_all_that_name_it)
{
	struct profile *profile = made();

	assert_true(owner_is_user(owner_of(profile, "of-user"), USER));
	assert_true(owner_is_user(owner_of(profile, "of-user-and-root"), USER));
	assert_true(owner_is_user(owner_of(profile, "of-other"), OTHER));
	assert_true(owner_is_trusted(owner_of(profile, "of-root")));
	assert_int_equal(owner_of(profile, "of-both").v, OWNER_NOBODY.v);
	/* Root believes nobody of whom nothing is known. */
	assert_int_equal(owner_is_trusted(profile_source_owner(profile, "unnamed")),
			 geteuid() != 0);
	profile_free(profile);
}

TEST(source_owners, a_profile_of_another_user_is_that_users)
{
	struct profile *profile = made();

	profile_set_owner(profile, owner_caller());
	assert_true(owner_is_trusted(owner_of(profile, "of-root")));
	profile_set_owner(profile, owner_of_user(OTHER));
	for (size_t i = 0; i < NR_PROGRAMS; i++) {
		assert_true(owner_is_user(owner_of(profile, programs[i].file), OTHER));
		assert_true(owner_is_user(owner_of(profile, programs[i].function_file), OTHER));
	}
	profile_free(profile);
}
