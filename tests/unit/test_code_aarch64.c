// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows from aarch64's instructions, on whatever machine this runs on. */
#include "base/alloc.h"
#include "code/code_aarch64.h"
#include "code/code_pointers.h"
#include "code/plt_entry.h"
#include "elf/elf_image.h"
#include "snapshot/snapshot.h"
#include "tests/unit/unit.h"
#include "unwind/row.h"

enum { FP = 29, SP = 31 };

#define CODE UINT64_C(0x10000)

/* As GNU as assembles them. */
#define PACIASP	     0xd503233f
#define AUTIASP	     0xd50323bf
#define RET	     0xd65f03c0
#define RETAA	     0xd65f0bff
#define BR_X17	     0xd61f0220
#define BR_X3	     0xd61f0060
#define BLR_X8	     0xd63f0100
#define BL_ON	     0x94000001 /* to the next instruction */
#define B_BACK_1     0x17ffffff
#define B_NE_ON_3    0x54000061
#define CBZ_X0_ON_4  0xb4000080
#define TBNZ_BACK_2  0x371fffc1
#define PUSH_RECORD  0xa9be7bfd /* stp x29, x30, [sp, #-32]! */
#define POP_RECORD   0xa8c27bfd /* ldp x29, x30, [sp], #32 */
#define STORE_RECORD 0xa9017bfd /* stp x29, x30, [sp, #16] */
#define LOAD_RECORD  0xa9417bfd /* ldp x29, x30, [sp, #16] */
#define PUSH_X30     0xf81f0ffe /* str x30, [sp, #-16]! */
#define POP_X30	     0xf84107fe /* ldr x30, [sp], #16 */
#define SUB_SP_4096  0xd14007ff /* sub sp, sp, #1, lsl #12 */
#define ADD_SP_4096  0x914007ff
#define FP_IS_SP     0x910003fd
#define FP_IS_SP_16  0x910043fd /* add x29, sp, #16 */
#define SP_IS_FP     0x910003bf
#define SP_IS_FP_16  0xd10043bf /* sub sp, x29, #16 */
#define ALLOCA	     0xcb2063ff /* sub sp, sp, x0 */
#define ALIGN	     0x927cec1f /* and sp, x0, #-16 */
#define PUSH_D8_D9   0x6dbf27e8
#define POP_Q0_Q1    0xacc107e0 /* 32 bytes */
#define PUSH_Q0	     0x3c9f0fe0
#define POP_D8	     0xfc4107e8
#define BRK	     0xd4200020
#define LR_IS_X9     0xaa0903fe
#define CMP_SP	     0xeb2063ff /* cmp sp, x0: register 31 is not written */
#define ADRP_X16     0x90000010
#define LDR_X17	     0xf9400611
#define ADD_X16	     0x91002210
#define NOP	     0xd503201f
#define PLT_PUSH     0xa9bf7bf0 /* stp x16, x30, [sp, #-16]! */

static struct row row_of(const uint32_t *code, size_t nr, size_t at, bool is_exact)
{
	struct elf_image *image = elf_image_of_code(code, nr * sizeof(*code), CODE);
	struct row row = code_reader_aarch64.row(
		image, &(struct code_at){.pc = CODE + 4 * at, .is_exact = is_exact});

	elf_image_free(image);
	return row;
}

static struct row row_entered(const uint32_t *code, size_t nr, size_t at)
{
	struct elf_image *image = elf_image_of_code(code, nr * sizeof(*code), CODE);
	struct row row = code_reader_aarch64.row_from_entry(image, CODE, CODE + 4 * at, false);

	elf_image_free(image);
	return row;
}

#define ROW(at, is_exact)  row_of(code, ARRAY_SIZE(code), at, is_exact)
#define ENTERED(at)	   row_entered(code, ARRAY_SIZE(code), at)
#define ASSERT_NO_ROW(row) assert_int_equal((row).kind, ROW_NO_CFI)

/* CFA = reg + cfa; the return address and x29 saved at the CFA and these, 0: not at all */
static void assert_row(struct row row, unsigned int reg, int cfa, int ra, int fp)
{
	assert_int_equal(row.kind, ROW_STEP);
	assert_true(row.is_from_code);
	assert_int_equal(row.cfa_reg, reg);
	assert_int_equal(row.cfa_offset, cfa);
	assert_int_equal(row.ra, ra ? ROW_RA_AT_CFA : ROW_RA_IN_REG);
	assert_int_equal(row.ra_offset, ra);
	assert_int_equal(row.fp, fp ? ROW_FP_AT_CFA : ROW_FP_SAME);
	assert_int_equal(row.fp_offset, fp);
}

TEST(code, plts_have_no_frame)
{
	static const uint32_t code[] = {ADRP_X16, LDR_X17, ADD_X16, BR_X17};

	for (size_t at = 0; at < ARRAY_SIZE(code); at++)
		assert_row(ROW(at, true), SP, 0, 0, 0);
}

/* Its push is for whom it goes to, who takes it off. */
TEST(code, first_entry_of_a_plt_has_pushed)
{
	static const uint32_t code[] = {PLT_PUSH, ADRP_X16, LDR_X17, ADD_X16, BR_X17};

	for (size_t at = 1; at < ARRAY_SIZE(code); at++)
		assert_row(ROW(at, true), SP, 16, -8, 0);
}

TEST(code, every_place_of_a_function)
{
	static const uint32_t code[] = {PACIASP, PUSH_RECORD, FP_IS_SP, BL_ON,
					NOP,	 POP_RECORD,  AUTIASP,	RET};

	assert_row(ROW(0, true), SP, 0, 0, 0);
	assert_row(ROW(1, true), SP, 0, 0, 0);
	assert_row(ROW(2, true), SP, 32, -24, -32);
	assert_row(ROW(4, false), SP, 32, -24, -32);
	assert_row(ROW(5, true), SP, 32, -24, -32);
	assert_row(ROW(6, true), SP, 0, 0, 0);
	assert_row(ROW(7, true), SP, 0, 0, 0);
	for (size_t at = 0; at < ARRAY_SIZE(code); at++) {
		if (at < 2 || at > 5)
			assert_row(ENTERED(at), SP, 0, 0, 0);
		else
			assert_row(ENTERED(at), SP, 32, -24, -32);
	}
}

/* A caller's x30 is not what it was called with. */
TEST(code, callers_link_register_is_lost)
{
	static const uint32_t code[] = {BLR_X8, RET};

	ASSERT_NO_ROW(ROW(1, false));
	ASSERT_NO_ROW(ROW(0, true));
	ASSERT_NO_ROW(ENTERED(1));
	assert_row(ROW(1, true), SP, 0, 0, 0);
}

TEST(code, large_frames_and_vectors)
{
	static const uint32_t code[] = {PUSH_D8_D9,  PUSH_Q0,	SUB_SP_4096, STORE_RECORD,
					FP_IS_SP_16, CMP_SP,	BLR_X8,	     LOAD_RECORD,
					ADD_SP_4096, POP_Q0_Q1, RETAA};

	assert_row(ROW(0, true), SP, 0, 0, 0);
	assert_row(ROW(1, true), SP, 16, 0, 0);
	assert_row(ROW(3, true), SP, 4128, 0, 0);
	assert_row(ROW(7, false), SP, 4128, -4104, -4112);
	assert_row(ROW(9, true), SP, 32, 0, 0);
	assert_row(ENTERED(7), SP, 4128, -4104, -4112);
}

TEST(code, allocated_stack_is_left_by_the_frame_pointer)
{
	static const uint32_t code[] = {PUSH_RECORD, FP_IS_SP,	 ALLOCA, BLR_X8,
					SP_IS_FP,    POP_RECORD, RET};

	assert_row(ROW(4, false), FP, 32, -24, -32);
	assert_row(ENTERED(4), FP, 32, -24, -32);
	assert_row(ROW(5, true), SP, 32, -24, -32);
}

TEST(code, realigned_stack_is_left_by_the_frame_pointer)
{
	static const uint32_t code[] = {PUSH_RECORD, FP_IS_SP_16, ALIGN, BLR_X8,
					SP_IS_FP_16, POP_RECORD,  RET};

	assert_row(ROW(4, false), FP, 16, -24, -32);
	assert_row(ENTERED(4), FP, 16, -24, -32);
}

TEST(code, link_register_alone_is_saved)
{
	static const uint32_t code[] = {PUSH_X30, BLR_X8, POP_X30, RET};

	assert_row(ROW(0, true), SP, 0, 0, 0);
	assert_row(ROW(1, true), SP, 16, -16, 0);
	assert_row(ROW(2, false), SP, 16, -16, 0);
	assert_row(ENTERED(2), SP, 16, -16, 0);
}

TEST(code, branches_are_followed)
{
	static const uint32_t branch[] = {CBZ_X0_ON_4, BRK, BRK, BRK, POP_RECORD, RET};
	static const uint32_t condition[] = {NOP, B_NE_ON_3, BRK, BRK, RET};
	static const uint32_t circle[] = {NOP, B_BACK_1, NOP, TBNZ_BACK_2, BRK};

	assert_row(row_of(branch, ARRAY_SIZE(branch), 0, true), SP, 32, -24, -32);
	assert_row(row_of(condition, ARRAY_SIZE(condition), 0, true), SP, 0, 0, 0);
	ASSERT_NO_ROW(row_of(circle, ARRAY_SIZE(circle), 2, true));
}

TEST(code, what_cannot_be_followed_has_no_row)
{
	static const uint32_t jump[] = {BR_X3};
	static const uint32_t other_link[] = {LR_IS_X9, RET};
	static const uint32_t other_stack[] = {ALLOCA, RET};
	static const uint32_t deeper[] = {PUSH_RECORD, RET};
	static const uint32_t end[] = {NOP, POP_D8};

	ASSERT_NO_ROW(row_of(jump, 1, 0, true));
	ASSERT_NO_ROW(row_of(other_link, 2, 0, true));
	ASSERT_NO_ROW(row_of(other_stack, 2, 0, true));
	ASSERT_NO_ROW(row_of(deeper, 2, 0, true));
	ASSERT_NO_ROW(row_of(end, 2, 0, true));
	ASSERT_NO_ROW(row_of(end, 2, 7, true));
}

TEST(code, calls_are_told)
{
	static const uint32_t code[] = {BL_ON, BLR_X8, RET};
	struct elf_image *image = elf_image_of_code(code, sizeof(code), CODE);
	const struct code_reader *reader = &code_reader_aarch64;
	uint64_t target = 0;

	assert_int_equal(reader->call_before(image, CODE + 4, &target), ROW_CALL_DIRECT);
	assert_int_equal(target, CODE + 4);
	assert_int_equal(reader->call_before(image, CODE + 8, &target), ROW_CALL_INDIRECT);
	assert_int_equal(reader->call_before(image, CODE + 12, &target), ROW_CALL_NONE);
	assert_int_equal(reader->call_before(image, CODE + 6, &target), ROW_CALL_NONE);
	assert_int_equal(reader->call_before(image, CODE, &target), ROW_CALL_NONE);
	elf_image_free(image);
}

TEST(code_aarch64, pages_of_adrp)
{
	static const struct {
		uint32_t word;
		uint64_t page;
	} cases[] = {
		{0xf00000f0, 0x30000}, /* adrp x16, +0x1f pages */
		{0xb0ffffe0, 0xe000},  /* adrp x0, -3 pages */
		{0x900003ff, 0x8d000}, /* adrp xzr, +0x7c pages */
	};
	uint64_t page;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_true(a64_page(cases[i].word, CODE + 0x1234, &page));
		assert_int_equal(page, cases[i].page);
	}
	assert_false(a64_page(0x10000000, CODE, &page)); /* adr x0, . */
	assert_false(a64_page(0x91000210, CODE, &page));
}

#define PLT_PAGE    0xf00000f0 /* adrp x16, +0x1f pages */
#define PLT_LOAD    0xf947de11 /* ldr x17, [x16, #0xfb8] */
#define PLT_ADD	    0x913ee210 /* add x16, x16, #0xfb8 */
#define PLT_LANDING 0xd503245f /* bti c */

TEST(code_aarch64, word_of_a_plt_entry)
{
	static const struct {
		uint32_t words[4];
		uint64_t slot;
	} cases[] = {
		{{PLT_PAGE, PLT_LOAD, PLT_ADD, BR_X17}, CODE + 0x1ffb8},
		{{PLT_LANDING, PLT_PAGE, PLT_LOAD, PLT_ADD}, CODE + 0x1ffb8},
		{{PLT_PAGE, PLT_LOAD, BR_X17, PLT_ADD}, 0},
		{{PLT_LOAD, PLT_ADD, BR_X17, PLT_PAGE}, 0},
		{{PLT_PAGE, 0xf947de10, PLT_ADD, BR_X17}, 0}, /* into x16 */
		{{PLT_PAGE, 0xb947de11, PLT_ADD, BR_X17}, 0}, /* 4 bytes of it */
		{{PLT_LANDING, PLT_LANDING, PLT_PAGE, PLT_LOAD}, 0},
	};

#if !defined(__aarch64__)
	skip(); /* it is asked about code of this machine */
#endif
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(
			plt_entry_word((const uint8_t *)cases[i].words, PLT_ENTRY_BYTES, CODE),
			cases[i].slot);
	assert_int_equal(plt_entry_word((const uint8_t *)cases[0].words, 12, CODE), 0);
}

TEST(code_aarch64, words_that_code_uses)
{
	static const uint32_t code[] = {
		0x900025e0, /* adrp x0, +0x4bc pages */
		0x91048003, /* add x3, x0, #0x120 */
		0xa9400c60, /* ldp x0, x3, [x3] */
		0xf9400c61, /* ldr x1, [x3, #24]: it is no longer known */
		0x900025e2, /* adrp x2, +0x4bc pages */
		0xb9400041, /* ldr w1, [x2] */
		0xf9000c41, /* str x1, [x2, #24] */
		0xf8408441, /* ldr x1, [x2], #8 */
		0xf9400041, /* ldr x1, [x2] */
		0x900025e2, /* adrp x2, +0x4bc pages */
		0xd65f03c0, /* ret */
		0xf9400041, /* ldr x1, [x2] */
	};
	const struct code_bytes bytes = {CODE, (const uint8_t *)code, sizeof(code)};
	const uint64_t page = CODE + (0x4bc << 12);
	uint64_t words[8];

#if !defined(__aarch64__)
	skip(); /* likewise */
#endif
	assert_int_equal(code_used_words(&bytes, words, ARRAY_SIZE(words)), 3);
	assert_int_equal(words[0], page + 0x120);
	assert_int_equal(words[1], page + 0x128);
	assert_int_equal(words[2], page);
	assert_int_equal(code_used_words(&bytes, words, 1), 1);
}

/* PyObject_Calloc() in libpython3.13 of Debian 13 */
TEST(code_aarch64, offsets_that_code_uses)
{
	static const uint32_t code[] = {
		0xd503245f, /* bti c */
		0xaa0103e2, /* mov x2, x1 */
		0xb40000c2, /* cbz x2, .+24 */
		0x54000103, /* b.lo .+32 */
		0xd0002983, /* adrp x3, +0x532 pages */
		0xf9463863, /* ldr x3, [x3, #3184] */
		0xf9418860, /* ldr x0, [x3, #784] */
		0xf9419063, /* ldr x3, [x3, #800] */
		0xf9419863, /* ldr x3, [x3, #816]: of another object */
		0xaa0303f0, /* mov x16, x3 */
		0xd61f0200, /* br x16 */
		0xf9418460, /* ldr x0, [x3, #776] */
	};
	const struct code_bytes bytes = {CODE, (const uint8_t *)code, sizeof(code)};

#if !defined(__aarch64__)
	skip(); /* likewise */
#endif
	assert_true(code_uses_offset(&bytes, 784));
	assert_true(code_uses_offset(&bytes, 800));
	assert_false(code_uses_offset(&bytes, 3184));
	assert_false(code_uses_offset(&bytes, 816));
	assert_false(code_uses_offset(&bytes, 776));
}

/* A branch leaves a tag out. */
TEST(code_aarch64, other_pointer_to_a_function)
{
#if !defined(__aarch64__)
	skip(); /* likewise */
#endif
	uint64_t function = (uint64_t)(uintptr_t)arch_native;
	uint64_t other = code_other_pointer(function, NULL, 0);

	assert_int_not_equal(other, function);
	assert_int_equal(((enum arch(*)(void))(uintptr_t)other)(), arch_native());
}
