// SPDX-License-Identifier: GPL-2.0-or-later
/* Walks over this program's own stack: the true return addresses are noted by the frames
 * themselves. */
#include <signal.h>
#include <unistd.h>

#include "mapping/space.h"
#include "snapshot/snapshot.h"
#include "tests/unit/self_snapshot.h"
#include "tests/unit/unit.h"
#include "unwind/unwind.h"

#define NESTED 4

static struct snapshot snapshot;
static uint64_t expected[NESTED]; /* return addresses, leaf first */

__attribute__((noinline)) static void nest(unsigned int level)
{
	expected[level] = (uint64_t)(uintptr_t)__builtin_return_address(0);
	if (level)
		nest(level - 1);
	else
		self_snapshot(&snapshot);
	__asm__ volatile("" ::: "memory"); /* no tail call */
}

struct fixture {
	struct module_table *modules;
	struct space *space;
	struct unwind_walk walk;
};

static void set_up(struct fixture *fixture)
{
	*fixture = (struct fixture){.modules = module_table_new()};
	fixture->space = space_new(fixture->modules, getpid());
	assert_int_equal(space_refresh(fixture->space, NULL), 0);
}

static void tear_down(struct fixture *fixture)
{
	unwind_walk_release(&fixture->walk);
	space_free(fixture->space);
	module_table_free(fixture->modules);
	snapshot_release(&snapshot);
}

static void walk(struct fixture *fixture, enum unwinder_kind kind, size_t max_depth)
{
	struct unwinder *unwinder = unwinder_new(kind, max_depth);

	unwinder_walk(unwinder, fixture->space, &snapshot, NULL, &fixture->walk);
	unwinder_free(unwinder);
}

/* Frame 0 is self_snapshot(), frame 1 nest(0): the callers noted follow from frame 2 on. */
static void assert_nested(const struct unwind_walk *walk, enum unwind_rule rule)
{
	assert_true(walk->nr_frames > NESTED + 2);
	assert_true(walk->frames[0].is_exact);
	assert_int_equal(walk->frames[0].rule, UNWIND_RULE_NONE);
	for (size_t i = 0; i < NESTED; i++) {
		assert_int_equal(walk->frames[2 + i].pc, expected[i]);
		assert_int_equal(walk->frames[2 + i].rule, rule);
		assert_false(walk->frames[2 + i].is_exact);
	}
}

TEST(unwind, libunwind_walks_to_the_root)
{
	struct fixture fixture;

	set_up(&fixture);
	nest(NESTED - 1);
	walk(&fixture, UNWINDER_LIBUNWIND, 0);
	assert_nested(&fixture.walk, UNWIND_RULE_LIBUNWIND);
	assert_int_equal(fixture.walk.end, STACK_END_ROOT);
	assert_int_equal(fixture.walk.nr_elided, 0);
	tear_down(&fixture);
}

TEST(unwind, rows_walk_to_the_root)
{
	struct fixture fixture;

	set_up(&fixture);
	nest(NESTED - 1);
	walk(&fixture, UNWINDER_CFI, 0);
	assert_nested(&fixture.walk, UNWIND_RULE_CFI);
	assert_int_equal(fixture.walk.end, STACK_END_ROOT);
	tear_down(&fixture);
}

static void assert_same_frames(const struct unwind_walk *a, const struct unwind_walk *b)
{
	assert_int_equal(a->nr_frames, b->nr_frames);
	assert_int_equal(a->end, b->end);
	for (size_t i = 0; i < a->nr_frames; i++) {
		assert_int_equal(a->frames[i].pc, b->frames[i].pc);
		assert_int_equal(a->frames[i].sp, b->frames[i].sp);
		assert_int_equal(a->frames[i].is_exact, b->frames[i].is_exact);
	}
}

TEST(unwind, rows_agree_with_libunwind)
{
	struct fixture fixture;
	struct unwinder *libunwind = unwinder_new(UNWINDER_LIBUNWIND, 0);
	struct unwind_walk whole = {0};

	set_up(&fixture);
	nest(NESTED - 1);
	unwinder_walk(libunwind, fixture.space, &snapshot, NULL, &whole);
	walk(&fixture, UNWINDER_AUTO, 0);
	assert_same_frames(&fixture.walk, &whole);
	unwind_walk_release(&whole);
	unwinder_free(libunwind);
	tear_down(&fixture);
}

static uint64_t struck_stack; /* an address in it */

static void on_signal(int number)
{
	uint64_t start = struck_stack - 4096; /* deeper than raise() goes */
	uint64_t nr_bytes = self_mapping_end(struck_stack) - start;

	(void)number;
	nest(NESTED - 1);
	self_copy_stack(snapshot_add_region(&snapshot, start, nr_bytes),
			(const volatile uint8_t *)(uintptr_t)start, nr_bytes);
}

/* A handler on a stack of its own, below (or above) the one that was struck. */
TEST(unwind, signal_on_another_stack_goes_to_the_root)
{
	static uint8_t other_stack[1 << 16];
	stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof(other_stack)};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	struct fixture fixture;
	struct unwind_walk whole = {0};
	struct unwinder *libunwind = unwinder_new(UNWINDER_LIBUNWIND, 0);
	size_t nr_exact = 0;

	set_up(&fixture);
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	struck_stack = (uint64_t)(uintptr_t)__builtin_frame_address(0);
	raise(SIGUSR1);
	walk(&fixture, UNWINDER_AUTO, 0);
	assert_nested(&fixture.walk, UNWIND_RULE_CFI);
	assert_int_equal(fixture.walk.end, STACK_END_ROOT);
	for (size_t i = 1; i < fixture.walk.nr_frames; i++)
		nr_exact += fixture.walk.frames[i].is_exact;
	assert_int_equal(nr_exact, 2); /* what was struck, and what the handler returns to */
	unwinder_walk(libunwind, fixture.space, &snapshot, NULL, &whole);
	assert_same_frames(&fixture.walk, &whole);
	stack.ss_flags = SS_DISABLE;
	sigaltstack(&stack, NULL);
	unwind_walk_release(&whole);
	unwinder_free(libunwind);
	tear_down(&fixture);
}

/*
 * These tests are compiled with frame pointers, by which x86-64's CFI finds callers: the thread's
 * own is withheld. That of aarch64 does so by the stack pointer.
 */
#if defined(__x86_64__)
TEST(unwind, unknown_frame_pointer_is_not_guessed)
{
	struct fixture fixture;

	set_up(&fixture);
	nest(NESTED - 1);
	snapshot.regs.known &= ~(UINT64_C(1) << arch_regs(arch_native())->fp);
	walk(&fixture, UNWINDER_CFI, 0);
	assert_int_equal(fixture.walk.end, STACK_END_UNKNOWN_REG);
	assert_int_equal(fixture.walk.nr_frames, 1);
	tear_down(&fixture);
}

TEST(unwind, code_replaces_an_unknown_frame_pointer)
{
	struct fixture fixture;

	set_up(&fixture);
	nest(NESTED - 1);
	snapshot.regs.known &= ~(UINT64_C(1) << arch_regs(arch_native())->fp);
	walk(&fixture, UNWINDER_AUTO, 0);
	assert_int_equal(fixture.walk.end, STACK_END_ROOT);
	assert_int_equal(fixture.walk.frames[1].rule, UNWIND_RULE_BY_SP);
	for (size_t i = 0; i < NESTED; i++)
		assert_int_equal(fixture.walk.frames[2 + i].pc, expected[i]);
	tear_down(&fixture);
}
#endif

TEST(unwind, frame_pointers_alone)
{
	struct fixture fixture;

	set_up(&fixture);
	nest(NESTED - 1);
	walk(&fixture, UNWINDER_FP, 0);
	assert_nested(&fixture.walk, UNWIND_RULE_FRAME_POINTER);
	tear_down(&fixture);
}

TEST(unwind, warm_walks_compile_nothing)
{
	struct fixture fixture;
	struct unwinder *unwinder = unwinder_new(UNWINDER_AUTO, 0);
	uint64_t nr_cold;

	set_up(&fixture);
	nest(NESTED - 1);
	unwinder_walk(unwinder, fixture.space, &snapshot, NULL, &fixture.walk);
	nr_cold = unwinder_stats(unwinder).nr_rows_compiled;
	assert_true(nr_cold > NESTED);
	unwinder_walk(unwinder, fixture.space, &snapshot, NULL, &fixture.walk);
	assert_int_equal(unwinder_stats(unwinder).nr_rows_compiled, nr_cold);
	assert_int_equal(unwinder_stats(unwinder).nr_libunwind_walks, 0);
	assert_int_equal(unwinder_stats(unwinder).nr_walks, 2);
	unwinder_free(unwinder);
	tear_down(&fixture);
}

TEST(unwind, lookup_is_before_the_return_address)
{
	struct fixture fixture;

	set_up(&fixture);
	nest(NESTED - 1);
	walk(&fixture, UNWINDER_LIBUNWIND, 0);
	for (size_t i = 0; i < fixture.walk.nr_frames; i++) {
		const struct unwind_frame *frame = &fixture.walk.frames[i];
		struct code_address at = space_locate(fixture.space, frame->pc);

		if (frame->is_exact)
			assert_int_equal(frame->lookup.address, at.address);
		else
			assert_int_equal(frame->lookup.address, at.address - 1);
	}
	tear_down(&fixture);
}

TEST(unwind, each_frame_begins_where_its_callee_ends)
{
	struct fixture fixture;
	uint64_t sp;

	set_up(&fixture);
	nest(NESTED - 1);
	walk(&fixture, UNWINDER_AUTO, 0);
	assert_true(regs_get(&snapshot.regs, arch_regs(snapshot.arch)->sp, &sp));
	assert_int_equal(fixture.walk.frames[0].sp, sp);
	for (size_t i = 1; i < fixture.walk.nr_frames; i++)
		assert_true(fixture.walk.frames[i].sp > fixture.walk.frames[i - 1].sp);
	assert_int_equal(fixture.walk.frames[fixture.walk.nr_frames - 1].sp, fixture.walk.end_sp);
	tear_down(&fixture);
}

TEST(unwind, max_depth_keeps_both_ends)
{
	struct fixture fixture;
	struct unwind_walk whole = {0};
	struct unwinder *unwinder = unwinder_new(UNWINDER_LIBUNWIND, 0);

	set_up(&fixture);
	nest(NESTED - 1);
	unwinder_walk(unwinder, fixture.space, &snapshot, NULL, &whole);
	for (size_t depth = 1; depth <= whole.nr_frames; depth++) {
		size_t head = (depth + 1) / 2;

		walk(&fixture, UNWINDER_LIBUNWIND, depth);
		assert_int_equal(fixture.walk.nr_frames, depth);
		assert_int_equal(fixture.walk.nr_elided, whole.nr_frames - depth);
		assert_int_equal(fixture.walk.end,
				 depth == whole.nr_frames ? STACK_END_ROOT : STACK_END_DEPTH_LIMIT);
		for (size_t i = 0; i < depth; i++) {
			size_t in_whole = i < head ? i : whole.nr_frames - depth + i;

			assert_int_equal(fixture.walk.frames[i].pc, whole.frames[in_whole].pc);
		}
	}
	unwind_walk_release(&whole);
	unwinder_free(unwinder);
	tear_down(&fixture);
}

TEST(unwind, short_copy_says_which_address_is_missing)
{
	struct fixture fixture;
	uint64_t end;

	set_up(&fixture);
	nest(NESTED - 1);
	/* Leave about half of what the nested frames use. */
	snapshot_trim_region(&snapshot, snapshot.regions[0].nr_bytes - 1600);
	end = snapshot.regions[0].start + snapshot.regions[0].nr_bytes;
	walk(&fixture, UNWINDER_LIBUNWIND, 0);
	assert_int_equal(fixture.walk.end, STACK_END_BAD_MEMORY);
	assert_true(fixture.walk.wanted_address >= end - 8);
	tear_down(&fixture);
}

TEST(unwind, kinds_have_names)
{
	static const char *const names[] = {"auto", "cfi", "libunwind", "fp"};
	enum unwinder_kind kind;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_true(unwinder_kind_parse(names[i], &kind));
		assert_string_equal(unwinder_kind_name(kind), names[i]);
	}
	assert_false(unwinder_kind_parse("dwarf", &kind));
	assert_false(unwinder_kind_parse("", &kind));
}
