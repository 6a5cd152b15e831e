// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/sink.h"
#include "calltree/code.h"
#include "calltree/find.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"
#include "tests/unit/weighed_fixture.h"
#include "view/asm_text.h"

/* Samples at three addresses of work(), the last of which square() is inlined at. */
static struct profile *three_addresses(uint64_t addresses[3])
{
	static const char *const stacks[] = {"main;work@w.c:1", "main;work@w.c:2",
					     "main;work@w.c:3+square@v.h:1"};
	static const unsigned int samples[] = {10, 20, 60};
	struct made made = made_begin();

	for (size_t i = 0; i < 3; i++) {
		struct sample *sample = made_sample(&made, stacks[i], 1);
		struct frame_id frame = stack_trie_frame(made.profile->stacks, sample->stack);

		sample->nr = samples[i];
		addresses[i] = made.profile->frames[frame.v].where.address;
	}
	made_sample(&made, "main", 1)->nr = 10;
	return made_end(&made);
}

/* What is said of the code that holds `function`, with this disassembly. */
static void expect(const struct profile *profile, const char *function,
		   const struct asm_listing *wanted, const char *expected)
{
	const struct view view = {.columns = 60, .names = NAME_SHORT};
	struct weighed_fixture weighed = weighed_new(profile, NULL, METRIC_SAMPLES);
	struct asm_listing listing = *wanted;
	struct codes *codes;
	struct sink sink = SINK_MEMORY;
	bool *labels;

	assert_int_equal(find_labels(weighed.expansion, function, &labels, NULL), 0);
	codes = codes_new(weighed.weights, labels);
	assert_int_equal(codes->nr, 1);
	listing.codes = codes;
	listing.code = &codes->codes[0];
	asm_print_text(&listing, &view, &sink);
	assert_string_equal(buf_str(&sink.pending), expected);
	sink_release(&sink);
	free(labels);
	codes_free(codes);
	weighed_free(&weighed);
}

TEST(view, instructions_between_their_source)
{
	uint64_t at[3];
	struct profile *profile = three_addresses(at);
	char expected[512];

	{
		/* The second sample lies inside the first instruction, as return addresses do. */
		const struct asm_line lines[] = {
			{.is_source = true, .text = "w.c:1  x++;"},
			{.address = at[0], .text = "inc\t%eax \033[31m"},
			{.is_source = true, .text = "v.h:1  return x * x;"},
			{.address = at[2], .text = "imul"},
			{.address = at[2] + 4, .text = "nop"},
			{.address = at[2] + 5, .text = "ret"},
		};
		const struct asm_listing listing = {.lines = lines, .nr_lines = 6, .context = 1};

		snprintf(expected, sizeof(expected),
			 "work in /bin/prog: 90 samples self (90.0%%)\n"
			 "    self     %%   address\n"
			 "                          w.c:1  x++;\n"
			 "      30  30.0%10lx  inc %%eax \\x1b[31m\n"
			 "                          v.h:1  return x * x;\n"
			 "      60  60.0%10lx  imul\n"
			 "              %10lx  nop\n"
			 "                          …\n",
			 (unsigned long)at[0], (unsigned long)at[2], (unsigned long)at[2] + 4);
		/* An inlined function is shown where it lies. */
		expect(profile, "square", &listing, expected);
		expect(profile, "work", &listing, expected);
	}
	profile_free(profile);
}

TEST(view, addresses_without_a_disassembly)
{
	uint64_t at[3];
	struct profile *profile = three_addresses(at);
	const struct asm_listing bare = {.nr_lines = 0};
	char expected[512];

	snprintf(expected, sizeof(expected),
		 "work in /bin/prog: 90 samples self (90.0%%)\n"
		 "    self     %%   address\n"
		 "      10  10.0%10lx\n"
		 "      20  20.0%10lx\n"
		 "      60  60.0%10lx\n",
		 (unsigned long)at[0], (unsigned long)at[1], (unsigned long)at[2]);
	expect(profile, "work", &bare, expected);
	profile_free(profile);
}
