// SPDX-License-Identifier: GPL-2.0-or-later
/* Signal frames on a stack, which is memory of this process. */
#include <unistd.h>

#include "inject/contexts.h"
#include "inject/stopped.h"
#include "proc/target_memory.h"
#include "tests/unit/unit.h"

#if defined(__x86_64__)

#define CODE  UINT64_C(0x7f0000001000)
#define WORDS 1024

/* Words of struct sigcontext, after the pc. */
enum { SP = -1, PC = 0, FLAGS = 1, SEGMENTS = 2, VECTORS = 7, RESERVED = 8 };

struct stack {
	_Alignas(64) uint64_t words[WORDS];
	struct target_memory *memory;
	struct stopped stopped; /* of a thread that sleeps there */
	size_t nr_found;
};

static void write_frame(struct stack *stack, size_t pc_at, uint64_t pc, uint64_t sp)
{
	uint64_t *frame = &stack->words[pc_at];

	frame[PC] = pc;
	frame[SP] = sp;
	frame[FLAGS] = 0x246;
	frame[SEGMENTS] = 0x2b000000000033;
	/* The state of vector registers lies behind the frame. */
	frame[VECTORS] = (uint64_t)(uintptr_t)&frame[PC + 28];
}

static void skip_red_zone(void *owner, struct context *context)
{
	struct stack *stack = owner;

	stack->nr_found++;
	context->sp += 128;
	context->is_changed = true;
}

static void search(struct stack *stack)
{
	const struct context_search search = {.start = CODE,
					      .end = CODE + 4096,
					      .stack_bytes = sizeof(stack->words),
					      .found = skip_red_zone,
					      .owner = stack};

	stack->stopped.sleepers[0] =
		(struct stopped_sleeper){.tid = getpid(), .sp = (uint64_t)(uintptr_t)stack->words};
	stack->stopped.nr_sleepers = 1;
	assert_true(contexts_for_each(&stack->stopped, stack->memory, &search));
}

static int set_up(void **state)
{
	static struct stack stack;

	stack = (struct stack){.memory = target_memory_open(getpid(), NULL)};
	*state = &stack;
	return 0;
}

static int tear_down(void **state)
{
	struct stack *stack = *state;

	target_memory_close(stack->memory);
	return 0;
}

TEST_WITH(struct stack *stack, contexts, are_those_of_signal_frames)
{
	uint64_t sp = (uint64_t)(uintptr_t)&stack->words[400];

	write_frame(stack, 200, CODE + 16, sp);
	search(stack);
	assert_int_equal(stack->nr_found, 1);
	assert_true(stack->words[200 + SP] == sp + 128);
	assert_true(stack->words[200 + PC] == CODE + 16);
	assert_true(stack->words[200 + FLAGS] == 0x246);
}

/*
 * Frames are aligned to 64 bytes: one of a former signal may lie so far above a later one, in bytes
 * that the kernel does not write.
 */
TEST_WITH(struct stack *stack, contexts, are_not_those_of_former_frames_amid_later_ones)
{
	uint64_t sp = (uint64_t)(uintptr_t)&stack->words[400], vectors;

	write_frame(stack, 200 + RESERVED, CODE + 16, sp);
	write_frame(stack, 200, CODE + 32, sp);
	vectors = stack->words[200 + VECTORS];
	search(stack);
	assert_int_equal(stack->nr_found, 1);
	assert_true(stack->words[200 + SP] == sp + 128);
	assert_true(stack->words[200 + VECTORS] == vectors);
}

#else

TEST(contexts, are_for_another_processor)
{
	skip();
}

#endif
