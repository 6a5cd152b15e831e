// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows compiled from call frame information that stands in the tests, byte by byte. */
#include "base/alloc.h"
#include "cfi/cfi.h"
#include "cfi/cfi_copy.h"
#include "tests/unit/cfi_bytes.h"
#include "tests/unit/unit.h"
#include "unwind/row.h"

#define START 0x1000

enum { RBX = 3, RBP = 6, RSP = 7 };

/* The row at START + offset of a function with these instructions. */
static struct row row_with(const char *augmentation, const void *instructions, size_t nr_bytes,
			   uint64_t offset)
{
	struct buf bytes = {0};
	size_t cie = cfi_add_cie(&bytes, augmentation, X86_ENTRY, sizeof(X86_ENTRY) - 1);
	size_t at = cfi_add_fde(&bytes, cie, (struct cfi_range_bytes){START, 0x100}, instructions,
				nr_bytes);
	struct cfi_section section = {
		.bytes = {.bytes = bytes.bytes, .nr_bytes = bytes.nr_bytes, .vaddr = 0x5000}};
	struct cfi_fde fde;
	struct row row;

	assert_true(cfi_fde_at(&section, at, &fde));
	assert_int_equal(fde.start, START);
	assert_int_equal(fde.end, START + 0x100);
	row = row_compile(unwind_arch(ARCH_X86_64), &section, &fde, START + offset);
	buf_release(&bytes);
	return row;
}

#define ROW(instructions, offset)                                                                  \
	row_with("zR", instructions, sizeof(instructions) - 1, (uint64_t)(offset))

static void assert_step(struct row row, unsigned int reg, int64_t cfa_offset)
{
	assert_int_equal(row.kind, ROW_STEP);
	assert_int_equal(row.cfa_reg, reg);
	assert_int_equal(row.cfa_offset, cfa_offset);
	assert_int_equal(row.ra, ROW_RA_AT_CFA);
	assert_int_equal(row.ra_offset, -8);
}

/* push %rbp; mov %rsp,%rbp; … ; leave; ret, as gcc writes it */
#define WITH_FRAME_POINTER                                                                         \
	"\x41\x0e\x10\x86\x02" /* +1: CFA rsp+16, rbp at CFA-16 */                                 \
	"\x43\x0d\x06"	       /* +4: CFA rbp+16 */                                                \
	"\x5c\x0c\x07\x08"     /* +32: CFA rsp+8 */

TEST(row, frame_pointer_is_followed)
{
	struct row row = ROW(WITH_FRAME_POINTER, 0);

	assert_step(row, RSP, 8);
	assert_int_equal(row.fp, ROW_FP_SAME);
	row = ROW(WITH_FRAME_POINTER, 1);
	assert_step(row, RSP, 16);
	assert_int_equal(row.fp, ROW_FP_AT_CFA);
	assert_int_equal(row.fp_offset, -16);
	row = ROW(WITH_FRAME_POINTER, 31);
	assert_step(row, RBP, 16);
	row = ROW(WITH_FRAME_POINTER, 32);
	assert_step(row, RSP, 8);
}

TEST(row, every_way_to_advance)
{
	static const char instructions[] = "\x02\x10\x0e\x10"	      /* advance_loc1 16 */
					   "\x03\x10\x00\x0e\x18"     /* advance_loc2 16 */
					   "\x04\x10\0\0\0\x0e\x20"   /* advance_loc4 16 */
					   "\x01\x40\x10\0\0\0\0\0\0" /* set_loc START + 0x40 */
					   "\x0e\x28";

	assert_step(ROW(instructions, 0x0f), RSP, 8);
	assert_step(ROW(instructions, 0x10), RSP, 16);
	assert_step(ROW(instructions, 0x20), RSP, 24);
	assert_step(ROW(instructions, 0x3f), RSP, 32);
	assert_step(ROW(instructions, 0x40), RSP, 40);
}

TEST(row, remembered_state_returns)
{
	static const char instructions[] = "\x41\x0e\x10\x0a" /* +1: rsp+16, remember */
					   "\x41\x0e\x08"     /* +2: rsp+8, the early return */
					   "\x41\x0b";	      /* +3: as before */

	assert_step(ROW(instructions, 1), RSP, 16);
	assert_step(ROW(instructions, 2), RSP, 8);
	assert_step(ROW(instructions, 3), RSP, 16);
}

TEST(row, restore_is_to_the_cie)
{
	struct row row = ROW("\x86\x02\x41\xc6", 0);

	assert_int_equal(row.fp, ROW_FP_AT_CFA);
	row = ROW("\x86\x02\x41\xc6", 1);
	assert_int_equal(row.fp, ROW_FP_SAME);
}

/* rustc's run_compiler has a frame of 540,112 bytes */
TEST(row, large_frames_fit)
{
	assert_step(ROW("\x0e\xd0\xfb\x20", 0), RSP, 540112);
}

TEST(row, frames_that_do_not_fit_fall_back)
{
	assert_int_equal(ROW("\x0e\x80\x80\x80\x80\x10", 0).kind, ROW_FALLBACK);
}

TEST(row, undefined_return_address_is_the_root)
{
	assert_int_equal(ROW("\x07\x10", 0).kind, ROW_ROOT);
}

TEST(row, undefined_frame_pointer_is_lost)
{
	struct row row = ROW("\x07\x06", 0);

	assert_step(row, RSP, 8);
	assert_int_equal(row.fp, ROW_FP_LOST);
}

TEST(row, plt_numbers_come_from_the_expression)
{
	/* breg7 8; breg16 0; lit15; and; lit10; ge; lit3; shl; plus */
	struct row row = ROW("\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3a\x2a\x33\x24\x22", 0);

	assert_int_equal(row.kind, ROW_STEP_PLT);
	assert_int_equal(row.cfa_reg, RSP);
	assert_int_equal(row.cfa_offset, 8);
	assert_int_equal(row.plt.mask, 15);
	assert_int_equal(row.plt.from, 10);
	assert_int_equal(row.plt.more, 8);
	assert_int_equal(row.fp, ROW_FP_SAME);
}

/* A function that realigns its stack: CFA = *(rbp-8), rbp saved where rbp points. */
TEST(row, realigned_stack)
{
	struct row row = ROW("\x10\x06\x02\x76\x00\x0f\x03\x76\x78\x06", 0);

	assert_int_equal(row.kind, ROW_STEP_DEREF);
	assert_int_equal(row.cfa_reg, RBP);
	assert_int_equal(row.cfa_offset, -8);
	assert_int_equal(row.fp, ROW_FP_AT_FP);
	assert_int_equal(row.fp_offset, 0);
}

/* ld.so's _dl_runtime_resolve */
TEST(row, other_registers_hold_the_cfa)
{
	assert_step(ROW("\x0c\x03\x10", 0), RBX, 16);
}

TEST(row, signal_frame_has_the_kernels_layout)
{
	/* breg7 160; deref: glibc's __restore_rt */
	static const char restore_rt[] = "\x0f\x04\x77\xa0\x01\x06";

	assert_int_equal(row_with("zRS", restore_rt, sizeof(restore_rt) - 1, 0).kind, ROW_SIGNAL);
}

/* 'S' on code with an ordinary frame: only its caller's pc is special */
TEST(row, signal_frame_that_describes_itself)
{
	struct row row = row_with("zRS", "", 0, 0);

	assert_step(row, RSP, 8);
	assert_true(row.caller_is_exact);
	assert_false(row_with("zR", "", 0, 0).caller_is_exact);
}

TEST(row, what_rows_cannot_say_falls_back)
{
	assert_int_equal(ROW("\x0f\x03\x30\x31\x22", 0).kind, ROW_FALLBACK); /* lit0; lit1; plus */
	assert_int_equal(ROW("\x09\x06\x03", 0).kind, ROW_FALLBACK);	     /* rbp is in rbx */
	assert_int_equal(ROW("\x09\x10\x03", 0).kind, ROW_FALLBACK);	     /* rip is in rbx */
	assert_int_equal(ROW("\x14\x07\x01", 0).kind, ROW_FALLBACK);	     /* rsp is CFA-8 */
	assert_int_equal(ROW("\x08\x10", 0).kind, ROW_FALLBACK);	     /* rip is the same */
	assert_false(ROW("\x14\x07\x01", 0).is_of_target);
}

/* longjmp's: the stack pointer that it is going to have is in r8 */
TEST(row, cfi_of_where_the_code_goes_is_marked)
{
	struct row row = ROW("\x09\x07\x08", 0);

	assert_int_equal(row.kind, ROW_FALLBACK);
	assert_true(row.is_of_target);
}

/* rax at CFA-16: only __builtin_eh_return() has it restored */
TEST(row, functions_that_leave_for_a_handler_are_marked)
{
	assert_true(ROW("\x80\x02", 0).saves_eh);
	assert_false(ROW("\x83\x02", 0).saves_eh);
}

TEST(row, nonsense_is_bad_cfi)
{
	static uint8_t remember[1000000], nothing[CFI_INSTRUCTION_BYTES_MAX + 2];

	memset(remember, 0x0a, sizeof(remember));
	assert_int_equal(ROW("\x0b", 0).kind, ROW_BAD_CFI);	    /* restore without remember */
	assert_int_equal(ROW("\x3f", 0).kind, ROW_BAD_CFI);	    /* no such instruction */
	assert_int_equal(ROW("\x0f\x7f\x77", 0).kind, ROW_BAD_CFI); /* expression beyond the end */
	assert_int_equal(ROW("\x0e", 0).kind, ROW_BAD_CFI);	    /* operand beyond the end */
	assert_int_equal(ROW("\x0f\x02\x77\x08\x0e\x10", 0).kind,
			 ROW_BAD_CFI); /* an offset for an expression */
	assert_int_equal(row_with("zR", remember, sizeof(remember), 0).kind, ROW_BAD_CFI);
	assert_int_equal(row_with("zR", nothing, sizeof(nothing) / 2, 0).kind, ROW_STEP);
	assert_int_equal(row_with("zR", nothing, sizeof(nothing), 0).kind, ROW_BAD_CFI);
}

TEST(row, aarch64_return_address_stays_in_its_register)
{
	struct buf bytes = {0};
	size_t cie = cfi_add_cie_ra(&bytes, "zR", 30, AARCH64_ENTRY, sizeof(AARCH64_ENTRY) - 1);
	/* paciasp; stp x29, x30, [sp, #-32]! */
	size_t at = cfi_add_fde(&bytes, cie, (struct cfi_range_bytes){START, 0x100},
				"\x41\x2d\x44\x0e\x20\x9d\x04\x9e\x03", 9);
	struct cfi_section section = {.bytes = {.bytes = bytes.bytes, .nr_bytes = bytes.nr_bytes}};
	struct cfi_fde fde;
	struct row row;

	assert_true(cfi_fde_at(&section, at, &fde));
	row = row_compile(unwind_arch(ARCH_AARCH64), &section, &fde, START);
	assert_int_equal(row.kind, ROW_STEP);
	assert_int_equal(row.cfa_reg, 31);
	assert_int_equal(row.ra, ROW_RA_IN_REG);
	row = row_compile(unwind_arch(ARCH_AARCH64), &section, &fde, START + 5);
	assert_int_equal(row.cfa_offset, 32);
	assert_int_equal(row.ra, ROW_RA_AT_CFA);
	assert_int_equal(row.ra_offset, -24);
	assert_int_equal(row.fp, ROW_FP_AT_CFA);
	assert_int_equal(row.fp_offset, -32);
	buf_release(&bytes);
}

static struct buf two_functions(size_t *first, size_t *second)
{
	struct buf bytes = {0};
	size_t cie = cfi_add_cie(&bytes, "zR", X86_ENTRY, sizeof(X86_ENTRY) - 1);

	/* not in the order of their addresses */
	*second = cfi_add_fde(&bytes, cie, (struct cfi_range_bytes){0x3000, 0x10}, "\x0e\x18", 2);
	*first = cfi_add_fde(&bytes, cie, (struct cfi_range_bytes){0x2000, 0x10}, "\x0e\x10", 2);
	buf_append_u32(&bytes, 0);
	return bytes;
}

TEST(cfi, index_finds_by_address)
{
	size_t first;
	size_t second;
	struct buf bytes = two_functions(&first, &second);
	struct cfi_section section = {.bytes = {.bytes = bytes.bytes, .nr_bytes = bytes.nr_bytes}};
	struct elf_ranges index = {0};
	uint64_t offset = 0;

	cfi_index_build(&index, &section);
	assert_int_equal(index.nr, 2);
	assert_true(elf_ranges_find(&index, 0x2000, &offset));
	assert_int_equal(offset, first);
	assert_true(elf_ranges_find(&index, 0x300f, &offset));
	assert_int_equal(offset, second);
	assert_false(elf_ranges_find(&index, 0x1fff, &offset));
	assert_false(elf_ranges_find(&index, 0x2010, &offset));
	assert_false(elf_ranges_find(&index, 0x3010, &offset));
	elf_ranges_release(&index);
	buf_release(&bytes);
}

/* A search table at 0x8000 over .eh_frame at 0x9000. */
static const uint8_t hdr_bytes[] = {
	1, 0x1b, 0x03, 0x3b, 0,	   0x10, 0, 0, /* version, encodings, pointer */
	2, 0,	 0,    0,		       /* two entries */
	0, 0xa0, 0xff, 0xff, 0x20, 0x10, 0, 0, /* 0x2000: FDE at 0x9020 */
	0, 0xb0, 0xff, 0xff, 0x40, 0x10, 0, 0, /* 0x3000: FDE at 0x9040 */
};

TEST(cfi, search_table_finds_the_last_before)
{
	struct elf_bytes hdr = {.bytes = hdr_bytes, .nr_bytes = sizeof(hdr_bytes), .vaddr = 0x8000};
	struct elf_bytes eh_frame = {.nr_bytes = 0x100, .vaddr = 0x9000};
	uint64_t offset = 0;

	assert_true(cfi_hdr_is_usable(&hdr));
	assert_true(cfi_hdr_find(&hdr, &eh_frame, 0x2fff, &offset));
	assert_int_equal(offset, 0x20);
	assert_true(cfi_hdr_find(&hdr, &eh_frame, 0x3000, &offset));
	assert_int_equal(offset, 0x40);
	assert_false(cfi_hdr_find(&hdr, &eh_frame, 0x1fff, &offset));
	eh_frame.nr_bytes = 0x30; /* the second FDE would be outside */
	assert_false(cfi_hdr_find(&hdr, &eh_frame, 0x3000, &offset));
}

TEST(cfi, search_table_that_lies_is_not_used)
{
	uint8_t lying[sizeof(hdr_bytes)];
	struct elf_bytes hdr = {.bytes = lying, .nr_bytes = sizeof(lying), .vaddr = 0x8000};

	memcpy(lying, hdr_bytes, sizeof(lying));
	lying[8] = 3; /* one entry more than there are */
	assert_false(cfi_hdr_is_usable(&hdr));
	lying[8] = 0;
	assert_false(cfi_hdr_is_usable(&hdr));
	lying[8] = 2;
	lying[3] = 0xff; /* no table */
	assert_false(cfi_hdr_is_usable(&hdr));
	hdr.nr_bytes = 11;
	assert_false(cfi_hdr_is_usable(&hdr));
}

TEST(cfi, debug_frame_has_ids_of_its_own)
{
	/* DWARF 4: version 4, "", address size 8, segment size 0, alignments 1 and -8, column 16 */
	static const uint8_t bytes[] = {15,   0,  0,	0, 0xff, 0xff, 0xff, 0xff, 4, 0,    8, 0, 1,
					0x78, 16, 0x0c, 7, 8,	 0x90, 23,   0,	   0, 0,    0, 0, 0,
					0,    0,  0x10, 0, 0,	 0,    0,    0,	   0, 0x20, 0, 0, 0,
					0,    0,  0,	0, 0x0e, 0x10, 0};
	uint8_t fixed[sizeof(bytes) + 1];
	struct cfi_section section = {.is_debug_frame = true};
	struct cfi_fde fde;

	/* the CIE's last instruction takes one operand byte more */
	memcpy(fixed, bytes, 19);
	fixed[0] = 16;
	fixed[19] = 1;
	memcpy(fixed + 20, bytes + 19, sizeof(bytes) - 19);
	section.bytes = (struct elf_bytes){.bytes = fixed, .nr_bytes = sizeof(fixed)};
	assert_false(cfi_fde_at(&section, 0, &fde)); /* that is the CIE */
	assert_true(cfi_fde_at(&section, 20, &fde));
	assert_int_equal(fde.start, 0x1000);
	assert_int_equal(fde.end, 0x1020);
	assert_step(row_compile(unwind_arch(ARCH_X86_64), &section, &fde, 0x1000), RSP, 16);
}

TEST(cfi, damaged_entries_are_refused)
{
	struct buf bytes = {0};
	size_t cie = cfi_add_cie(&bytes, "zR", X86_ENTRY, sizeof(X86_ENTRY) - 1);
	size_t at = cfi_add_fde(&bytes, cie, (struct cfi_range_bytes){START, 0x10}, "\x0e\x10", 2);
	struct cfi_section section = {.bytes = {.bytes = bytes.bytes, .nr_bytes = bytes.nr_bytes}};
	struct cfi_fde fde;

	assert_true(cfi_fde_at(&section, at, &fde));
	cfi_patch_u32(&bytes, at + 4, 4); /* the CIE pointer leads to the FDE itself */
	assert_false(cfi_fde_at(&section, at, &fde));
	cfi_patch_u32(&bytes, at + 4, UINT32_MAX);
	assert_false(cfi_fde_at(&section, at, &fde));
	cfi_patch_u32(&bytes, at + 4, (uint32_t)(at + 4 - cie));
	cfi_patch_u32(&bytes, at, UINT32_MAX); /* a 64-bit length follows, which is none */
	assert_false(cfi_fde_at(&section, at, &fde));
	cfi_patch_u32(&bytes, at, 0xfffffff0);
	assert_false(cfi_fde_at(&section, at, &fde));
	assert_false(cfi_fde_at(&section, bytes.nr_bytes, &fde));
	assert_false(cfi_fde_at(&section, UINT64_MAX, &fde));
	buf_release(&bytes);
}

TEST(cfi, unknown_augmentation_is_refused)
{
	static const char *const unknown[] = {"zQ", "eh", "R", "zRSSSSSSSSSSSSSS"};

	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++) {
		struct buf bytes = {0};
		size_t cie = cfi_add_cie(&bytes, unknown[i], X86_ENTRY, sizeof(X86_ENTRY) - 1);
		size_t at = cfi_add_fde(&bytes, cie, (struct cfi_range_bytes){START, 0x10}, "", 0);
		struct cfi_section section = {
			.bytes = {.bytes = bytes.bytes, .nr_bytes = bytes.nr_bytes}};
		struct cfi_fde fde;

		assert_false(cfi_fde_at(&section, at, &fde));
		buf_release(&bytes);
	}
}

/* Every byte of a section takes every value: whatever comes out, it does come out. */
TEST(cfi, no_byte_can_do_harm)
{
	size_t first;
	size_t second;
	struct buf bytes = two_functions(&first, &second);
	size_t nr_rows = 0;

	for (size_t at = 0; at < bytes.nr_bytes; at++) {
		uint8_t right = bytes.bytes[at];

		for (unsigned int wrong = 0; wrong < 256; wrong++) {
			struct cfi_section section = {
				.bytes = {.bytes = bytes.bytes, .nr_bytes = bytes.nr_bytes}};
			struct elf_ranges index = {0};
			struct cfi_fde fde;

			bytes.bytes[at] = (uint8_t)wrong;
			cfi_index_build(&index, &section);
			assert_true(index.nr <= 3);
			for (size_t i = 0; i < index.nr; i++) {
				if (!cfi_fde_at(&section, index.at[i].value, &fde))
					continue;
				row_compile(unwind_arch(ARCH_X86_64), &section, &fde, 0x2004);
				nr_rows++;
			}
			elf_ranges_release(&index);
		}
		bytes.bytes[at] = right;
	}
	assert_true(nr_rows > bytes.nr_bytes * 256);
	buf_release(&bytes);
}

TEST(cfi, every_cut_is_harmless)
{
	size_t first;
	size_t second;
	struct buf bytes = two_functions(&first, &second);

	for (size_t nr_bytes = 0; nr_bytes <= bytes.nr_bytes; nr_bytes++) {
		/* a copy of its own, so that a read beyond it is one beyond an allocation */
		uint8_t *cut = xmemdup(bytes.bytes, nr_bytes);
		struct cfi_section section = {.bytes = {.bytes = cut, .nr_bytes = nr_bytes}};
		struct elf_ranges index = {0};

		cfi_index_build(&index, &section);
		assert_true(index.nr <= 2);
		elf_ranges_release(&index);
		free(cut);
	}
	buf_release(&bytes);
}

/* What libunwind gets in place of a .debug_frame. */
TEST(cfi_copy, says_the_same_elsewhere)
{
	static const char frame_pointer[] = WITH_FRAME_POINTER;
	const uint64_t bias = 0x7f0000000000;
	const uint64_t out_at = START + bias - 0x800;
	struct buf bytes = {0};
	struct buf copy = {0};
	struct buf table = {0};
	size_t cie = cfi_add_cie(&bytes, "zR", X86_ENTRY, sizeof(X86_ENTRY) - 1);
	struct cfi_section section = {0};
	struct cfi_section copied = {0};
	struct cfi_fde fde;

	cfi_add_fde(&bytes, cie, (struct cfi_range_bytes){START, 0x100}, frame_pointer,
		    sizeof(frame_pointer) - 1);
	section.bytes = (struct elf_bytes){.bytes = bytes.bytes, .nr_bytes = bytes.nr_bytes};
	cfi_copy_debug_frame(&section, bias, out_at, &copy, &table);
	assert_int_equal(table.nr_bytes, 8);
	assert_in_range(copy.nr_bytes, 1, cfi_copy_max_bytes(&section));
	assert_int_equal(((const uint32_t *)(const void *)table.bytes)[0], 0x800);
	copied.bytes = (struct elf_bytes){.bytes = copy.bytes, .nr_bytes = copy.nr_bytes};
	assert_true(cfi_fde_at(&copied, ((const uint32_t *)(const void *)table.bytes)[1], &fde));
	assert_int_equal(fde.start, START + bias);
	assert_int_equal(fde.end, START + bias + 0x100);
	assert_step(row_compile(unwind_arch(ARCH_X86_64), &copied, &fde, fde.start + 8), RBP, 16);
	buf_release(&bytes);
	buf_release(&copy);
	buf_release(&table);
}
