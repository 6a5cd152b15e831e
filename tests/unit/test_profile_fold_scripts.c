// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/buf.h"
#include "profile/fold_scripts.h"
#include "tests/unit/made_profile.h"
#include "tests/unit/unit.h"

/*
 * Stacks in letters, from the root on: capitals are functions of a script, e, f, g of the
 * interpreter, x, y of an extension, c of the C library, s is a stub of A, u other code that is
 * made at run time.
 */
static struct module_id module_of(struct profile *profile, char letter)
{
	if (letter >= 'A' && letter <= 'Z')
		return made_module(profile, MODULE_KIND_SCRIPT, "/srv/app.py");
	if (letter == 's' || letter == 'u')
		return made_module(profile, MODULE_KIND_JIT, "jit");
	if (letter >= 'e' && letter <= 'g')
		return made_module(profile, MODULE_KIND_FILE, "/usr/bin/python3");
	return made_module(profile, MODULE_KIND_FILE,
			   letter == 'c' ? "/lib/libc.so.6" : "/lib/extension.so");
}

static void add_name(struct profile *profile, struct frame_id frame, char letter)
{
	struct jit_name name = {.frame = frame};
	char text[2] = {letter};

	if (letter == 's' || letter == 'u')
		name.name = profile_intern(profile, letter == 's' ? "py::A:/srv/app.py"
								  : "py::A:/srv/app.pyc");
	else if (letter >= 'A' && letter <= 'Z')
		name = (struct jit_name){.frame = frame,
					 .name = profile_intern(profile, text),
					 .function_file = profile_intern(profile, "/srv/app.py")};
	else
		return;
	profile_add_jit_name(profile, &name);
}

static struct stack_id stack_of(struct profile *profile, const char *letters)
{
	struct stack_id stack = STACK_EMPTY;

	for (; *letters; letters++) {
		struct code_address where = {module_of(profile, *letters), (uint64_t)*letters};

		size_t nr_known = profile->nr_frames;
		struct frame_id frame = profile_intern_frame(profile, where);

		if (frame.v == nr_known)
			add_name(profile, frame, *letters);
		stack = stack_trie_intern(profile->stacks, stack, frame);
	}
	return stack;
}

static void append_letters(struct buf *out, const struct profile *profile, struct stack_id stack)
{
	if (stack.v == STACK_EMPTY.v)
		return;
	append_letters(out, profile, stack_trie_parent(profile->stacks, stack));
	buf_append_byte(
		out,
		(uint8_t)profile->frames[stack_trie_frame(profile->stacks, stack).v].where.address);
}

static void assert_folded(const char *letters, const char *expected)
{
	struct made made = made_begin();
	struct profile *profile = made.profile;
	struct stack_id stack = stack_of(profile, letters);
	struct buf text = {0};

	stack_of(profile, "A"); /* there is a script */
	for (int i = 0; i < 2; i++)
		profile_add_sample(profile, &(struct sample){.stack = stack, .cpu_ns = 5, .nr = 1});
	profile_fold_scripts(profile);
	assert_int_equal(profile->samples[0].stack.v, profile->samples[1].stack.v);
	assert_int_equal(profile->samples[1].cpu_ns, 5);
	append_letters(&text, profile, profile->samples[0].stack);
	assert_string_equal(buf_str(&text), expected);
	buf_release(&text);
	profile_free(profile);
}

TEST(fold_scripts, leaves_the_machinery_out)
{
	assert_folded("cfeA", "cA");
	assert_folded("cfeABgfeC", "cABC");
	assert_folded("fcfeA", "fcA"); /* what begins the program stays */
}

TEST(fold_scripts, keeps_other_modules)
{
	assert_folded("ceAfxgeB", "cAxB");
	assert_folded("ceAxyeBfc", "cAxyBfc");
}

TEST(fold_scripts, leaves_out_the_stub_of_a_function)
{
	assert_folded("cfgseA", "cA");
	assert_folded("cfeBfgseA", "cBA");
	assert_folded("ceBxgseA", "cBxA");
	/* Of another function, of another file, or not called by the interpreter. */
	assert_folded("cfgseB", "cfgsB");
	assert_folded("cfgueA", "cfguA");
	assert_folded("cfgseBfseA", "cfgsBA");
}

TEST(fold_scripts, keeps_what_was_called_last)
{
	assert_folded("ceAfgf", "cAf");
	assert_folded("ceAfgc", "cAfc");
	assert_folded("ceAfxfg", "cAfxf");
}

/* e evaluates A; what it evaluates below that is not known. */
TEST(fold_scripts, keeps_evaluations_of_unknown_functions)
{
	assert_folded("ceAfge", "cAfe");
	assert_folded("ceAfgefgf", "cAfef");
	assert_folded("ceAfgBe", "cABe");
}

TEST(fold_scripts, leaves_other_stacks_alone)
{
	assert_folded("cfge", "cfge");
	assert_folded("", "");
	assert_folded("A", "A");
}
