// SPDX-License-Identifier: GPL-2.0-or-later
/* Places amid functions into which something leads, or not. */
#include "patch/sites.h"

#include <string.h>

#include "tests/unit/unit.h"

#if defined(__x86_64__)

#define CODE   0x1000
#define TABLE  0x2000 /* of distances, or of addresses */
#define SITE   0x1007
#define BEHIND 0x100c /* what a probe replaces */

struct made {
	uint8_t code[0x40];
	union {
		int32_t distances[16];
		uint64_t addresses[8];
	} data;
	struct site_segment segments[2];
	uint64_t starts[2];
};

static size_t read_made(void *context, uint64_t address, void *out, size_t nr_bytes)
{
	const struct made *made = context;
	const uint8_t *from = (const void *)&made->data;
	size_t nr_all = sizeof(made->data), at = (size_t)(address - TABLE);

	if (address < TABLE) {
		from = made->code;
		nr_all = sizeof(made->code);
		at = (size_t)(address - CODE);
	}
	if (at >= nr_all)
		return 0;
	if (nr_bytes > nr_all - at)
		nr_bytes = nr_all - at;
	memcpy(out, from + at, nr_bytes);
	return nr_bytes;
}

static size_t words_made(void *context, uint64_t address, uint64_t *out, size_t nr)
{
	return read_made(context, address, out, nr * sizeof(*out)) / sizeof(*out);
}

/* A function that has the address of a table, then the place, and two moves and a return. */
static struct made made(void)
{
	static const uint8_t code[] = {
		0x48, 0x8d, 0x05, 0xf9, 0x0f, 0,    0,	  /* lea TABLE(%rip),%rax */
		0x90, 0x89, 0xc0, 0x89, 0xc0,		  /* nop, and the moves */
		0xc3, 0x48, 0x8d, 0x1d, 0xec, 0xff, 0xff, /* ret; lea CODE + 0(%rip),%rbx */
		0xff,
	};
	struct made file = {.segments = {{CODE, CODE + sizeof(file.code), true},
					 {TABLE, TABLE + sizeof(file.data), false}},
			    .starts = {CODE, CODE + 0x30}};

	memset(file.code, 0xcc, sizeof(file.code));
	memcpy(file.code, code, sizeof(code));
	for (int i = 0; i < 16; i++)
		file.data.distances[i] = 0x10000000;
	return file;
}

static const char *judged(struct made *made, uint64_t address)
{
	const struct site_file file = {.segments = made->segments,
				       .nr_segments = 2,
				       .starts = made->starts,
				       .nr_starts = 2,
				       .read = read_made,
				       .words = words_made,
				       .context = made};
	struct site site = {.address = address, .why = "not judged"};

	sites_judge(&file, &site, 1);
	return site.why;
}

TEST(patch_sites, a_table_of_distances_may_lead_to_the_place_and_behind_it)
{
	for (uint64_t target = SITE - 1; target <= BEHIND; target++) {
		struct made file = made();
		bool is_between = target > SITE && target < BEHIND;

		file.data.distances[0] = CODE - TABLE;
		file.data.distances[1] = (int32_t)(target - TABLE);
		if (is_between)
			assert_string_equal(judged(&file, SITE),
					    "a jump through a table leads to right after it");
		else
			assert_null(judged(&file, SITE));
	}
}

TEST(patch_sites, what_comes_after_the_end_of_a_table_is_none_of_it)
{
	struct made file = made();

	file.data.distances[1] = SITE + 1 - TABLE;
	assert_null(judged(&file, SITE));
}

TEST(patch_sites, a_word_of_data_leads_anywhere)
{
	struct made file = made();

	file.data.addresses[5] = SITE;
	assert_null(judged(&file, SITE));
	file.data.addresses[6] = BEHIND - 1;
	assert_non_null(judged(&file, SITE));
}

/* As `&&label - &&first` has it: the distance is from a label of the function. */
TEST(patch_sites, distances_may_be_from_a_label)
{
	struct made file = made();
	int32_t to_label = CODE + 4 - (CODE + 20); /* from the end of the second lea */

	memcpy(file.code + 16, &to_label, sizeof(to_label));
	assert_null(judged(&file, SITE));
	file.data.distances[0] = SITE + 2 - (CODE + 4);
	assert_non_null(judged(&file, SITE));
}

TEST(patch_sites, code_may_take_the_address_of_a_label)
{
	struct made file = made();
	int32_t to_label = SITE + 2 - (CODE + 20);

	memcpy(file.code + 16, &to_label, sizeof(to_label));
	assert_non_null(judged(&file, SITE));
}

/* As in a program that is linked to be at a fixed place. */
TEST(patch_sites, code_may_have_the_address_of_a_label_as_a_number)
{
	struct made file = made();
	uint32_t label = SITE + 2;

	memcpy(file.code + 0x21, &label, sizeof(label));
	assert_non_null(judged(&file, SITE));
	/* One that is anywhere has no such number. */
	file.segments[1] = (struct site_segment){.start = 0, .end = 0};
	assert_null(judged(&file, SITE));
}

TEST(patch_sites, there_is_a_nop_with_known_instructions_after_it)
{
	struct made file = made();

	assert_string_equal(judged(&file, SITE + 1), "there is another instruction than a nop");
	file.code[SITE + 1 - CODE] = 0x06; /* is none */
	assert_string_equal(judged(&file, SITE), "an instruction after it is unknown");
	assert_non_null(judged(&file, 0x5000));
}

#else

TEST(patch_sites, are_judged_on_x86_64)
{
	skip();
}

#endif
