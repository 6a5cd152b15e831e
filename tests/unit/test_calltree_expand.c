// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/buf.h"
#include "calltree/expand.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"

/* All levels of a sample as "name file:line", joined by " > ", inlined ones with a '*'. */
static const char *levels_text(const struct expansion *expansion, const struct sample *sample,
			       struct buf *out)
{
	struct level_list list = {0};

	buf_clear(out);
	expansion_stack(expansion, sample, &list);
	for (size_t i = 0; i < list.nr; i++) {
		const struct place *place = &expansion->places[list.levels[i].place];

		assert_int_equal(place->label, list.levels[i].label);
		buf_append_str(out, i ? " > " : "");
		label_append_name(out, expansion, place->label, NAME_FULL);
		buf_append_str(out, list.levels[i].inlined ? "*" : "");
		if (place->line)
			buf_printf(out, " %s:%u", profile_str(expansion->profile, place->file),
				   place->line);
	}
	level_list_release(&list);
	return buf_str(out);
}

TEST(expand, opens_inline_chains_outermost_first)
{
	struct made made = made_begin();
	struct expansion *expansion;
	struct buf out = {0};

	made_sample(&made, "main@a.c:5;work@a.c:20+square@v.h:3+mul@v.h:9;libm.so!sqrt", 1);
	expansion = expansion_new(made_end(&made), false);
	assert_string_equal(levels_text(expansion, &made.profile->samples[0], &out),
			    "main a.c:5 > work a.c:20 > square* v.h:3 > mul* v.h:9 > sqrt");
	expansion_free(expansion);
	buf_release(&out);
	profile_free(made.profile);
}

TEST(expand, folds_inlines_into_the_call_line)
{
	struct made made = made_begin();
	struct expansion *expansion;
	struct buf out = {0};

	made_sample(&made, "main@a.c:5;work@a.c:20+square@v.h:3", 1);
	expansion = expansion_new(made_end(&made), true);
	assert_string_equal(levels_text(expansion, &made.profile->samples[0], &out),
			    "main a.c:5 > work a.c:20");
	expansion_free(expansion);
	buf_release(&out);
	profile_free(made.profile);
}

TEST(expand, names_what_has_no_symbol)
{
	struct made made = made_begin();
	struct expansion *expansion;
	struct sample *sample;
	struct buf out = {0};
	uint64_t address;

	made_sample(&made, "main;..42;??", 1);
	sample = made_sample(&made, "libx.so!?", 1);
	sample->end = STACK_END_NO_CFI;
	address = made.profile->frames[stack_trie_frame(made.profile->stacks, sample->stack).v]
			  .where.address;
	made_sample(&made, "", 1)->kind = SAMPLE_UNATTRIBUTED;
	made_sample(&made, "", 1)->end = STACK_END_NOT_TAKEN;
	expansion = expansion_new(made_end(&made), false);

	assert_string_equal(levels_text(expansion, &made.profile->samples[0], &out),
			    "main > [42 frames left out] > [unknown]");
	levels_text(expansion, &made.profile->samples[1], &out);
	{
		char expected[128];

		snprintf(expected, sizeof(expected),
			 "[truncated: no unwind information] > [libx.so+0x%lx]",
			 (unsigned long)address);
		assert_string_equal(buf_str(&out), expected);
	}
	assert_string_equal(levels_text(expansion, &made.profile->samples[2], &out),
			    "[unattributed]");
	assert_string_equal(levels_text(expansion, &made.profile->samples[3], &out), "[no stack]");
	expansion_free(expansion);
	buf_release(&out);
	profile_free(made.profile);
}

TEST(expand, code_made_at_run_time_is_one_label)
{
	static char jit_path[] = "[jit]";
	const struct module jit = {.kind = MODULE_KIND_JIT, .path = jit_path, .fd = -1};
	struct made made = made_begin();
	struct expansion *expansion;
	struct module_id module;
	struct buf name = {0};
	uint32_t labels[2];

	module = module_table_intern(made.profile->modules, &jit);
	for (uint64_t i = 0; i < 2; i++) {
		struct code_address where = {module, 0x7f0000001000 + 64 * i};
		struct frame_id frame = profile_intern_frame(made.profile, where);
		struct sample sample = {.cpu_ns = 1, .nr = 1, .end = STACK_END_ROOT};

		sample.stack = stack_trie_intern(made.profile->stacks, STACK_EMPTY, frame);
		profile_add_sample(made.profile, &sample);
		labels[i] = frame.v;
	}
	expansion = expansion_new(made_end(&made), false);
	for (size_t i = 0; i < 2; i++)
		labels[i] = expansion->levels[expansion->frames[labels[i]].first].label;
	assert_int_equal(labels[0], labels[1]);
	assert_true(label_is_nameless(expansion, labels[0]));
	label_append_name(&name, expansion, labels[0], NAME_SHORT);
	assert_string_equal(buf_str(&name), "[jit]");
	buf_release(&name);
	expansion_free(expansion);
	profile_free(made.profile);
}

/* Of one name, though other code has stood there in between; a name of nobody's grammar. */
TEST(expand, names_of_such_code_are_left_as_they_are)
{
	static char jit_path[] = "[jit]";
	const struct module jit = {.kind = MODULE_KIND_JIT, .path = jit_path, .fd = -1};
	struct made made = made_begin();
	struct code_address where = {.address = 0x7f0000001000};
	struct expansion *expansion;
	struct frame_id frames[2];
	struct function function = {.line = 0};
	struct location location = {.line = 0};
	struct buf name = {0};

	where.module = module_table_intern(made.profile->modules, &jit);
	frames[0] = profile_intern_frame(made.profile, where);
	assert_true(profile_add_jit_frame(made.profile, where, &frames[1]));
	assert_int_not_equal(frames[0].v, frames[1].v);
	made_end(&made);
	function.name = profile_intern(made.profile, "RegExp:^a (b|c) <d>");
	location.function = profile_intern_function(made.profile, &function);
	profile_set_chain(made.profile, frames[0], &location, 1);
	profile_set_chain(made.profile, frames[1], &location, 1);
	expansion = expansion_new(made.profile, false);
	assert_int_equal(expansion->levels[expansion->frames[frames[0].v].first].label,
			 expansion->levels[expansion->frames[frames[1].v].first].label);
	label_append_name(&name, expansion,
			  expansion->levels[expansion->frames[frames[0].v].first].label,
			  NAME_SHORT);
	assert_string_equal(buf_str(&name), "RegExp:^a (b|c) <d>");
	buf_release(&name);
	expansion_free(expansion);
	profile_free(made.profile);
}

/* A script has many functions of one name, such as <lambda>: the line tells them apart. */
TEST(expand, functions_of_scripts_are_told_apart_by_their_lines)
{
	static char path[] = "/srv/app.py";
	const struct module script = {.kind = MODULE_KIND_SCRIPT, .path = path, .fd = -1};
	static const uint32_t lines[] = {4, 6, 4};
	struct made made = made_begin();
	struct expansion *expansion;
	struct frame_id frames[3];
	uint32_t labels[3];

	for (uint32_t i = 0; i < 3; i++) {
		struct code_address where = {.address = i + 1};

		where.module = module_table_intern(made.profile->modules, &script);
		frames[i] = profile_intern_frame(made.profile, where);
	}
	profile_reset_symbols(made.profile);
	for (uint32_t i = 0; i < 3; i++) {
		struct function function = {.line = lines[i]};
		struct location location = {.line = 10 + i};

		function.name = profile_intern(made.profile, "<lambda>");
		function.file = profile_intern(made.profile, path);
		location.file = function.file;
		location.function = profile_intern_function(made.profile, &function);
		profile_set_chain(made.profile, frames[i], &location, 1);
	}
	expansion = expansion_new(made.profile, false);
	for (size_t i = 0; i < 3; i++)
		labels[i] = expansion->levels[expansion->frames[frames[i].v].first].label;
	assert_int_not_equal(labels[0], labels[1]);
	assert_int_equal(labels[0], labels[2]);
	expansion_free(expansion);
	profile_free(made.profile);
}

TEST(expand, one_function_is_one_label)
{
	struct made made = made_begin();
	struct expansion *expansion;
	size_t nr_pseudo, nr_square = 0;

	/* Inlined in two places and called in a third: one function. In another module: another. */
	made_sample(&made, "main@a.c:5+square@v.h:3", 1);
	made_sample(&made, "main@a.c:6+square@v.h:4", 1);
	made_sample(&made, "main@a.c:7;square@v.h:3", 1);
	made_sample(&made, "main@a.c:8;lib.so!square@v.h:3", 1);
	expansion = expansion_new(made_end(&made), false);
	nr_pseudo = 7 + STACK_END_COUNT;
	for (uint32_t i = 0; i < expansion->nr_labels; i++) {
		const struct function *function = label_function(expansion, i);

		if (function && strcmp(profile_str(made.profile, function->name), "square") == 0)
			nr_square++;
	}
	assert_int_equal(nr_square, 2);
	assert_int_equal(expansion->nr_labels, nr_pseudo + 3); /* main, square, lib.so's square */
	assert_int_equal(expansion->nr_places, nr_pseudo + 4 + 3);
	expansion_free(expansion);
	profile_free(made.profile);
}

/* A clone and a copy of a template have their own linkage name, maybe a line of their own. */
TEST(expand, copies_of_one_name_and_file_are_one_label)
{
	struct made made = made_begin();
	struct expansion *expansion;
	struct function *copy;

	made_sample(&made, "main@a.c:5;max@v.h:3", 1);
	made_sample(&made, "main@a.c:6;other@v.h:4", 1);
	made_sample(&made, "main@a.c:6;elsewhere@w.h:4", 1);
	made_end(&made);
	assert_int_equal(made.profile->symbols.nr_functions, 4);
	for (size_t i = 2; i < 4; i++) {
		copy = &made.profile->symbols.functions[i];
		copy->name = made.profile->symbols.functions[1].name;
		copy->linkage_name = profile_intern(made.profile, "_Z3maxIlET_S0_S0_");
		copy->line = 7;
	}
	expansion = expansion_new(made.profile, false);
	/* main, max of v.h, max of w.h */
	assert_int_equal(expansion->nr_labels, 7 + STACK_END_COUNT + 3);
	expansion_free(expansion);
	profile_free(made.profile);
}

/* While a recording runs, names of new code are looked up from time to time. */
TEST(expand, code_whose_names_are_awaited_is_one_row_of_its_module)
{
	struct made made = made_begin();
	struct profile *profile;
	struct expansion *expansion;
	struct buf name = {0};
	uint32_t label;

	made_sample(&made, "main@a.c:7;?", 1);
	made_sample(&made, "main@a.c:7;libz.so.1!?", 1);
	made_sample(&made, "main@a.c:7;libz.so.1!?another", 1);
	profile = made_end(&made);
	profile->symbols.nr_asked = 2;
	expansion = expansion_new(profile, false);
	assert_int_equal(profile->nr_frames, 4);
	label = expansion_outermost(expansion, (struct frame_id){2})->label;
	assert_int_equal(expansion_outermost(expansion, (struct frame_id){3})->label, label);
	label_append_name(&name, expansion, label, NAME_FULL);
	assert_string_equal(buf_str(&name), "[libz.so.1]");
	assert_true(label_is_nameless(expansion, label));
	buf_clear(&name);
	label_append_name(&name, expansion,
			  expansion_outermost(expansion, (struct frame_id){1})->label, NAME_FULL);
	assert_non_null(strstr(buf_str(&name), "[prog+0x"));
	buf_release(&name);
	expansion_free(expansion);
	profile_free(profile);
}
