// SPDX-License-Identifier: GPL-2.0-or-later
/* Which calls of functions can be counted, for code in this file. */
#include "base/alloc.h"
#include "patch/call_sites.h"
#include "probe/wanted.h"
#include "tests/unit/unit.h"

#if defined(__x86_64__)

static const uint8_t code[] = "\xe8\0\1\0\0"	   /* call */
			      "\xff\x15\x10\0\0\0" /* call *16(%rip) */
			      "\xff\xd0"	   /* call *%rax */
			      "\xc3";

TEST(call_sites, are_wanted_or_refused)
{
	struct call_sites sites = {0};
	struct wanted wanted = {0};

	assert_true(call_sites_add(&sites, &(const struct call_code){.function = "f",
								     .address = 0x1000,
								     .bytes = code,
								     .nr_bytes = 14}));
	assert_int_equal(sites.nr, 3);
	for (size_t i = 0; i < sites.nr; i++)
		wanted_add_call(&wanted, &sites.at[i]);
	assert_int_equal(wanted.nr_places, 2);
	assert_int_equal(wanted.places[0].kind, WANTED_CALL);
	assert_int_equal(wanted.places[1].address, 0x1005);
	assert_int_equal(wanted.places[1].nr_bytes, 6);
	assert_string_equal(wanted.places[1].name, "f");
	assert_int_equal(wanted.nr_refusals, 1);
	assert_string_equal(wanted.refusals[0].reason,
			    "a call in it goes through a register or pointer");
	call_sites_release(&sites);
	wanted_release(&wanted);
}

TEST(call_sites, each_is_there_once)
{
	struct call_sites sites = {0};

	assert_true(call_sites_add(&sites, &(const struct call_code){.function = "outer",
								     .address = 0x1000,
								     .bytes = code,
								     .nr_bytes = 14}));
	assert_true(call_sites_add(&sites, &(const struct call_code){.function = "inner",
								     .address = 0x1005,
								     .bytes = code + 5,
								     .nr_bytes = 9}));
	assert_int_equal(sites.nr, 3);
	assert_string_equal(sites.at[2].function, "outer");
	call_sites_release(&sites);
}

TEST(call_sites, there_are_none_after_data)
{
	static const uint8_t mixed[] = "\xe8\0\1\0\0"
				       "\x06" /* not an instruction */
				       "\xe8\0\1\0\0";
	struct call_sites sites = {0};

	assert_false(call_sites_add(&sites, &(const struct call_code){.function = "f",
								      .address = 0x1000,
								      .bytes = mixed,
								      .nr_bytes = 11}));
	assert_int_equal(sites.nr, 1);
	call_sites_release(&sites);
}

#else

TEST(call_sites, are_branches_with_link)
{
	static const uint8_t code[] = "\x04\0\0\x94"; /* bl */
	struct call_sites sites = {0};

	assert_true(call_sites_add(
		&sites, &(const struct call_code){
				.function = "f", .address = 0x1000, .bytes = code, .nr_bytes = 4}));
	assert_int_equal(sites.nr, 1);
	call_sites_release(&sites);
}

#endif
