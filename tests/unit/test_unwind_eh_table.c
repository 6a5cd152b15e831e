// SPDX-License-Identifier: GPL-2.0-or-later
/* Tables of exception handlers, byte by byte, and the calls that they lead back to. */
#include "base/alloc.h"
#include "tests/unit/unit.h"
#include "unwind/eh_table.h"
#include "unwind/row.h"

#define FUNCTION UINT64_C(0x401000)
#define TABLE	 UINT64_C(0x402000)

static bool begin(struct eh_table *table, const void *bytes, size_t nr_bytes)
{
	const struct elf_bytes at = {.bytes = bytes, .nr_bytes = nr_bytes, .vaddr = TABLE};

	return eh_table_begin(table, &at, FUNCTION);
}

#define BEGIN(table, text) begin(table, text, sizeof(text) - 1)

/* What gcc writes: landing pads from the function's start, uleb128, two call sites. */
#define GCC_TABLE "\xff\xff\x01\x09\x10\x05\x40\x00\x20\x85\x01\x00\x00"

TEST(eh_table, call_sites_are_read)
{
	struct eh_table table;
	struct eh_call_site site;

	assert_true(BEGIN(&table, GCC_TABLE "types that follow"));
	assert_true(eh_table_next(&table, &site));
	assert_int_equal(site.start, FUNCTION + 0x10);
	assert_int_equal(site.end, FUNCTION + 0x15);
	assert_int_equal(site.landing, FUNCTION + 0x40);
	assert_true(eh_table_next(&table, &site));
	assert_int_equal(site.start, FUNCTION + 0x20);
	assert_int_equal(site.end, FUNCTION + 0x20 + 0x85);
	assert_int_equal(site.landing, 0);
	assert_false(eh_table_next(&table, &site));
}

/* LLVM: udata4; a base of the landing pads of their own, relative to where it stands. */
TEST(eh_table, landings_have_a_base_of_their_own)
{
	struct eh_table table;
	struct eh_call_site site;

	assert_true(BEGIN(&table, "\x1b\xff\x0f\x00\x00\xff\x03\x0d"
				  "\x10\x00\x00\x00\x05\x00\x00\x00\x40\x00\x00\x00\x00"));
	assert_true(eh_table_next(&table, &site));
	assert_int_equal(site.landing, TABLE + 1 + 0xfff + 0x40);
	assert_int_equal(site.end, FUNCTION + 0x15);
	assert_false(eh_table_next(&table, &site));
}

TEST(eh_table, damage_ends_it)
{
	static const char bytes[] = GCC_TABLE;
	struct eh_table table;
	struct eh_call_site site;

	for (size_t nr_bytes = 0; nr_bytes < sizeof(bytes) - 1; nr_bytes++) {
		size_t nr = 0;

		if (!begin(&table, bytes, nr_bytes))
			continue;
		while (eh_table_next(&table, &site))
			nr++;
		assert_in_range(nr, 0, 1);
	}
	assert_false(BEGIN(&table, "\x0f\x00\xff\x01\x00")); /* an encoding that is none */
}

/* call +0; nop; call *%rax; jmp +4; call +0 */
static const uint8_t code[] = {0xe8, 0, 0, 0, 0, 0x90, 0xff, 0xd0, 0xeb, 4, 0xe8, 0, 0, 0, 0};

TEST(code, calls_are_found_in_order)
{
	struct elf_image *image = elf_image_of_code(code, sizeof(code), FUNCTION);
	const struct code_reader *reader = &code_reader_x86_64;
	uint64_t at = FUNCTION;
	uint64_t target = 0;

	assert_int_equal(reader->next_call(image, &at, FUNCTION + 10, &target), ROW_CALL_DIRECT);
	assert_int_equal(at, FUNCTION + 5);
	assert_int_equal(target, FUNCTION + 5);
	assert_int_equal(reader->next_call(image, &at, FUNCTION + 10, &target), ROW_CALL_INDIRECT);
	assert_int_equal(at, FUNCTION + 8);
	assert_int_equal(reader->next_call(image, &at, FUNCTION + 10, &target), ROW_CALL_NONE);
	elf_image_free(image);
}

TEST(code, jumps_into_another_part_are_seen)
{
	struct elf_image *image = elf_image_of_code(code, sizeof(code), FUNCTION);
	const struct code_reader *reader = &code_reader_x86_64;
	uint64_t goal = FUNCTION + 14;

	assert_true(reader->jumps_into(image, FUNCTION, FUNCTION + 15, goal, goal + 1));
	assert_false(reader->jumps_into(image, FUNCTION, FUNCTION + 15, goal + 1, goal + 9));
	assert_false(reader->jumps_into(image, FUNCTION, FUNCTION + 8, goal, goal + 1));
	elf_image_free(image);
}

/* ret; jmp -3, to itself or the ret; call +0 */
static const uint8_t inside[] = {0xc3, 0xeb, 0xfd, 0xe8, 0, 0, 0, 0, 0xff, 0x25, 0, 0, 0, 0, 0x06};

TEST(code, ways_out_are_seen)
{
	struct elf_image *image = elf_image_of_code(inside, sizeof(inside), FUNCTION);
	const struct code_reader *reader = &code_reader_x86_64;

	assert_false(reader->jumps_out(image, FUNCTION, FUNCTION + 8));
	assert_true(reader->jumps_out(image, FUNCTION + 1, FUNCTION + 8));   /* to the ret */
	assert_true(reader->jumps_out(image, FUNCTION, FUNCTION + 14));	     /* as a PLT does */
	assert_true(reader->jumps_out(image, FUNCTION + 14, FUNCTION + 15)); /* unreadable */
	elf_image_free(image);
}
