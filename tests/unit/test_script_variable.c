// SPDX-License-Identifier: GPL-2.0-or-later
/* The thread-local variable that a function of aarch64 returns, by its code. */
#include <string.h>

#include "script/cpython_variable.h"
#include "tests/unit/unit.h"

#define CODE   UINT64_C(0x401000)
#define DATA   UINT64_C(0x4030b0)
#define LINKER UINT64_C(0x7000)
#define HEAP   UINT64_C(0x9000)

#define BTI_C	0xd503245f
#define PACIASP 0xd503233f
#define PUSH	0xa9bf7bfd /* stp x29, x30, [sp, #-16]! */
#define RET	0xd65f03c0

/* A word or two of a program, code of its linker, and a block of that. */
struct memory {
	uint64_t data[2];
	uint32_t linker[3];
	uint64_t heap[2];
};

static bool copy(const void *from, uint64_t start, size_t nr_there, uint64_t address, void *out,
		 size_t nr_bytes)
{
	if (address < start || address - start > nr_there ||
	    nr_bytes > nr_there - (address - start))
		return false;
	memcpy(out, (const uint8_t *)from + (address - start), nr_bytes);
	return true;
}

static bool read_memory(void *context, uint64_t address, void *out, size_t nr_bytes)
{
	const struct memory *memory = context;

	return copy(memory->data, DATA, sizeof(memory->data), address, out, nr_bytes) ||
	       copy(memory->linker, LINKER, sizeof(memory->linker), address, out, nr_bytes) ||
	       copy(memory->heap, HEAP, sizeof(memory->heap), address, out, nr_bytes);
}

static struct cpython_variable variable;

static bool find(struct memory *memory, const uint32_t *words, size_t nr)
{
	variable = (struct cpython_variable){0};
	return cpython_find_variable_aarch64((const uint8_t *)words, nr * sizeof(*words), CODE,
					     read_memory, memory, &variable);
}

#define FIND(memory, ...)                                                                          \
	find(memory, (const uint32_t[]){__VA_ARGS__},                                              \
	     sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

/* python3.13 of Debian 13 */
TEST(script_variable, of_a_program)
{
	/* mrs x0, tpidr_el0; add x0, x0, #0, lsl #12; add x0, x0, #0x18; ldr x0, [x0] */
	assert_true(FIND(NULL, BTI_C, 0xd53bd040, 0x91400000, 0x91006000, 0xf9400000, RET));
	assert_int_equal(variable.module, 0);
	assert_int_equal(variable.offset, 0x18);
	/* movz x0, #1, lsl #16; movk x0, #0x20; nop; nop; mrs x1, tpidr_el0; ldr x0, [x1, x0] */
	assert_true(FIND(NULL, PACIASP, PUSH, 0xd2a00020, 0xf2800400, 0xd503201f, 0xd503201f,
			 0xd53bd041, 0xf8606820));
	assert_int_equal(variable.offset, 0x10020);
}

TEST(script_variable, of_a_program_that_finds_it_by_a_word)
{
	struct memory memory = {.data = {0x48}};

	/* mrs x1, tpidr_el0; adrp x0, .+2 pages; ldr x0, [x0, #0xb0]; ldr x0, [x1, x0] */
	assert_true(FIND(&memory, 0xd53bd041, 0xd0000000, 0xf9405800, 0xf8606820));
	assert_int_equal(variable.module, 0);
	assert_int_equal(variable.offset, 0x48);
}

/* libpython3.13 of Debian 13 */
#define OF_A_LIBRARY                                                                               \
	0xd53bd041 /* mrs x1, tpidr_el0 */, PACIASP, PUSH, 0x910003fd, /* mov x29, sp */           \
		0xd0000000 /* adrp x0, .+2 pages */, 0xf9405802 /* ldr x2, [x0, #0xb0] */,         \
		0x9102c000 /* add x0, x0, #0xb0 */, 0xd63f0040 /* blr x2 */,                       \
		0xf8606820 /* ldr x0, [x1, x0] */, RET

TEST(script_variable, of_a_library)
{
	struct memory memory = {.data = {LINKER, 0x10}, .linker = {BTI_C, 0xf9400400, RET}};

	assert_true(FIND(&memory, OF_A_LIBRARY));
	assert_int_equal(variable.module, 0);
	assert_int_equal(variable.offset, 0x10);
	memcpy(memory.linker, (const uint32_t[]){0xf9400400, RET, RET}, sizeof(memory.linker));
	assert_true(FIND(&memory, OF_A_LIBRARY));
	assert_int_equal(variable.offset, 0x10);
}

TEST(script_variable, of_a_library_that_was_loaded_later)
{
	struct memory memory = {
		.data = {LINKER, HEAP}, .linker = {BTI_C, PUSH, RET}, .heap = {3, 0x28}};

	assert_true(FIND(&memory, OF_A_LIBRARY));
	assert_int_equal(variable.module, 3);
	assert_int_equal(variable.offset, 0x28);
	/* Not resolved yet. */
	memory.heap[0] = DATA;
	assert_false(FIND(&memory, OF_A_LIBRARY));
	memory.data[1] = 8;
	assert_false(FIND(&memory, OF_A_LIBRARY));
}

TEST(script_variable, of_nothing_else)
{
	struct memory memory = {.data = {0x48}};

	assert_false(FIND(&memory, RET, 0xd53bd040, 0xf9400000));
	assert_false(FIND(&memory, 0xf9400000, RET)); /* ldr x0, [x0] */
	/* mrs x0, tpidr_el0; mov x0, x1; ldr x0, [x0] */
	assert_false(FIND(&memory, 0xd53bd040, 0xaa0103e0, 0xf9400000, RET));
	/* mrs x1, tpidr_el0; bl; ldr x0, [x1, x0] */
	assert_false(FIND(&memory, 0xd53bd041, 0x94000010, 0xf8606820));
}
