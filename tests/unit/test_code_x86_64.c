// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows for code without CFI: the code stands in the tests, byte by byte. */
#include "base/alloc.h"
#include "code/code_pointers.h"
#include "code/code_x86_64.h"
#include "code/plt_entry.h"
#include "elf/elf_image.h"
#include "mapping/space.h"
#include "tests/unit/tiny_elf.h"
#include "tests/unit/unit.h"
#include "unwind/code_entries.h"
#include "unwind/code_walk.h"
#include "unwind/row.h"

enum { RBP = 6, RSP = 7 };

#define CODE 0x1000 /* where the code is in the image, behind 16 bytes of int3 */

static struct elf_image *image_of(const void *code, size_t nr_bytes)
{
	struct buf file = {0};
	uint64_t offset = TINY_ELF_CONTENT(1);
	struct elf_image *image;

	tiny_elf_begin(&file, EM_X86_64, 1);
	tiny_elf_segment(&file, 0,
			 (Elf64_Phdr){.p_type = PT_LOAD,
				      .p_flags = PF_R | PF_X,
				      .p_offset = offset,
				      .p_vaddr = CODE - 16,
				      .p_filesz = nr_bytes + 16,
				      .p_memsz = nr_bytes + 16});
	memset(buf_extend(&file, 16), 0xcc, 16);
	buf_append(&file, code, nr_bytes);
	image = elf_image_open_memory(file.bytes, file.nr_bytes, NULL);
	assert_non_null(image);
	buf_release(&file);
	return image;
}

static struct row row_at(const void *code, size_t nr_bytes, uint64_t offset, bool is_exact)
{
	struct elf_image *image = image_of(code, nr_bytes);
	struct row row = code_reader_x86_64.row(
		image, &(struct code_at){.pc = CODE + offset, .is_exact = is_exact});

	elf_image_free(image);
	return row;
}

static struct row row_from_entry(const void *code, size_t nr_bytes, uint64_t offset)
{
	struct elf_image *image = image_of(code, nr_bytes);
	struct row row = code_reader_x86_64.row_from_entry(image, CODE, CODE + offset, false);

	elf_image_free(image);
	return row;
}

static struct row row_from_entry_by_sp(const void *code, size_t nr_bytes, uint64_t offset)
{
	struct elf_image *image = image_of(code, nr_bytes);
	struct row row = code_reader_x86_64.row_from_entry(image, CODE, CODE + offset, true);

	elf_image_free(image);
	return row;
}

#define ROW(code, offset)	     row_at(code, sizeof(code) - 1, (uint64_t)(offset), true)
#define ROW_OF_CALLER(code, offset)  row_at(code, sizeof(code) - 1, (uint64_t)(offset), false)
#define ROW_FROM_ENTRY(code, offset) row_from_entry(code, sizeof(code) - 1, (uint64_t)(offset))

static void assert_step(struct row row, unsigned int reg, int64_t cfa_offset)
{
	assert_int_equal(row.kind, ROW_STEP);
	assert_int_equal(row.cfa_reg, reg);
	assert_int_equal(row.cfa_offset, cfa_offset);
	assert_int_equal(row.ra, ROW_RA_AT_CFA);
	assert_int_equal(row.ra_offset, -8);
	assert_true(row.is_from_code);
}

/* crti's _init: sub $8,%rsp; test %rax,%rax; je +2; call *%rax; add $8,%rsp; ret */
#define INIT "\x48\x83\xec\x08\x48\x85\xc0\x74\x02\xff\xd0\x48\x83\xc4\x08\xc3"

TEST(code, stack_pointer_is_added_up)
{
	assert_step(ROW(INIT, 0), RSP, 8);
	assert_step(ROW(INIT, 4), RSP, 16);
	assert_step(ROW_OF_CALLER(INIT, 11), RSP, 16);
	assert_step(ROW(INIT, 15), RSP, 8);
	assert_int_equal(ROW(INIT, 4).fp, ROW_FP_SAME);
}

/* push %rbp; push %rbx; xor %ebp,%ebp; pop %rbx; pop %rbp; ret */
#define PUSHED "\x55\x53\x31\xed\x5b\x5d\xc3"

TEST(code, pushed_frame_pointer_is_found)
{
	struct row row = ROW(PUSHED, 0);

	assert_step(row, RSP, 8);
	assert_int_equal(row.fp, ROW_FP_SAME); /* nothing is pushed yet */
	row = ROW(PUSHED, 4);
	assert_step(row, RSP, 24);
	assert_int_equal(row.fp, ROW_FP_AT_CFA);
	assert_int_equal(row.fp_offset, -16);
	row = ROW(PUSHED, 6);
	assert_step(row, RSP, 8);
	assert_int_equal(row.fp, ROW_FP_SAME);
}

/* push %rbp; mov %rsp,%rbp; and $-64,%rsp; call .; leave; ret */
#define ALIGNED "\x55\x48\x89\xe5\x48\x83\xe4\xc0\xe8\xf3\xff\xff\xff\xc9\xc3"

TEST(code, leave_goes_by_the_frame_pointer)
{
	struct row row = ROW_OF_CALLER(ALIGNED, 13);

	assert_step(row, RBP, 16);
	assert_int_equal(row.fp, ROW_FP_AT_CFA);
	assert_int_equal(row.fp_offset, -16);
	row = ROW_FROM_ENTRY(ALIGNED, 13);
	assert_step(row, RBP, 16);
	assert_int_equal(row.fp_offset, -16);
}

/* Go: sub $16,%rsp; mov %rbp,8(%rsp); lea 8(%rsp),%rbp; mov 8(%rsp),%rbp; add $16,%rsp; ret */
#define GO                                                                                         \
	"\x48\x83\xec\x10\x48\x89\x6c\x24\x08\x48\x8d\x6c\x24\x08\x48\x8b\x6c\x24\x08"             \
	"\x48\x83\xc4\x10\xc3"

TEST(code, frame_pointer_moved_to_the_stack_is_found)
{
	struct row row = ROW(GO, 14);

	assert_step(row, RSP, 24);
	assert_int_equal(row.fp, ROW_FP_AT_CFA);
	assert_int_equal(row.fp_offset, -16);
	row = ROW_FROM_ENTRY(GO, 14);
	assert_step(row, RBP, 16);
	assert_int_equal(row.fp_offset, -16);
	row = row_from_entry_by_sp(GO, sizeof(GO) - 1, 14);
	assert_step(row, RSP, 24);
	assert_int_equal(row.fp_offset, -16);
}

/* or $12,%ah is a byte of rax: not of rsp, which has its number */
TEST(code, byte_registers_are_not_the_stack_pointer)
{
	assert_step(ROW("\x80\xcc\x0c\xc3", 0), RSP, 8);
	assert_step(ROW("\x84\xe4\x20\xc4\xc3", 0), RSP, 8);
}

/* jne over to a second way; the first runs into ud2 */
TEST(code, other_ways_are_tried)
{
	assert_step(ROW("\x53\x75\x02\x0f\x0b\x5b\xc3", 1), RSP, 16);
}

TEST(code, loops_end)
{
	assert_int_equal(ROW("\x90\xeb\xfd", 0).kind, ROW_NEVER_RETURNS);
	assert_step(ROW("\x90\x75\xfd\xc3", 0), RSP, 8);
}

TEST(code, unknown_targets_end_the_way)
{
	assert_int_equal(ROW("\xff\xe0\xc3", 0).kind, ROW_NO_CFI);	   /* jmp *%rax */
	assert_int_equal(ROW("\x48\x89\xc4\xc3", 0).kind, ROW_NO_CFI);	   /* mov %rax,%rsp */
	assert_int_equal(ROW("\x06", 0).kind, ROW_NO_CFI);		   /* no instruction */
	assert_int_equal(ROW("\x48\x83", 0).kind, ROW_NO_CFI);		   /* half of one */
	assert_int_equal(ROW("\xe9\xff\xff\xff\x7f", 0).kind, ROW_NO_CFI); /* out of the image */
	assert_int_equal(ROW("\x50\xc3", 0).kind, ROW_NO_CFI); /* goes to what it pushed */
}

/* call *%r12; exit for ever: mov $60,%eax; syscall; jmp back. Nobody returns from here. */
TEST(code, endless_exit_never_returns)
{
	static const char loop[] = "\x41\xff\xd4\xb8\x3c\0\0\0\x0f\x05\xeb\xf7";
	static const char halt[] = "\x41\xff\xd4\xb8\x3c\0\0\0\x0f\x05\xf4";

	assert_int_equal(ROW_OF_CALLER(loop, 3).kind, ROW_NEVER_RETURNS);
	assert_int_equal(ROW_OF_CALLER(halt, 3).kind, ROW_NEVER_RETURNS);
}

/* Go's systemstack: call *%rdi; mov 56(%rax),%rsp; ret */
TEST(code, switch_of_stacks_is_seen)
{
	static const char back[] = "\xff\xd7\x48\x8b\x60\x38\xc3";
	static const char there[] = "\x48\x8b\x60\x38\xff\xd7\xc3";
	struct elf_image *image = image_of(back, sizeof(back) - 1);

	assert_true(code_reader_x86_64.switches_stack(image, &(struct code_at){.pc = CODE + 2}));
	assert_false(code_reader_x86_64.switched_stack(image, CODE, CODE + 2));
	elf_image_free(image);
	image = image_of(there, sizeof(there) - 1);
	assert_false(code_reader_x86_64.switches_stack(image, &(struct code_at){.pc = CODE + 6}));
	assert_true(code_reader_x86_64.switched_stack(image, CODE, CODE + 6));
	elf_image_free(image);
}

/* A call that is padded behind does not return: what follows is another function. */
TEST(code, call_that_never_returns_is_no_way)
{
	static const char code[] = "\xe8\0\0\0\0\x0f\x1f\x40\x00\x53\xc3";

	assert_int_equal(ROW_OF_CALLER(code, 5).kind, ROW_NO_CFI);
	assert_int_equal(ROW(code, 0).kind, ROW_NO_CFI);
}

/* call +16; lea 32(%rip),%rdi; mov $0x1004,%rdi; mov $0x1005,%ecx; call out of the code */
TEST(code, names_of_code_are_entries)
{
	static const char code[] = "\xe8\x10\0\0\0\x48\x8d\x3d\x20\0\0\0"
				   "\x48\xc7\xc7\x04\x10\0\0\xb9\x05\x10\0\0\xe8\0\0\x10\0"
				   "\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90"
				   "\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90\x90";
	static const uint64_t expected[] = {CODE + 0x2c, CODE + 0x15, CODE + 5, CODE + 4};
	struct elf_image *image = image_of(code, sizeof(code) - 1);
	struct code_entries entries = {0};
	uint64_t at = CODE + sizeof(code);

	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		assert_true(code_entries_before(&entries, &code_reader_x86_64, image, &at));
		assert_int_equal(at, expected[i]);
		at--;
	}
	assert_false(code_entries_before(&entries, &code_reader_x86_64, image, &at));
	code_entries_release(&entries);
	elf_image_free(image);
}

/* push %rbx; sub $32,%rsp; call; and nothing more: only the way from the entry leads here */
TEST(code, entry_leads_where_no_return_does)
{
	static const char code[] = "\x53\x48\x83\xec\x20\xe8\0\0\0\0";

	assert_int_equal(ROW_OF_CALLER(code, 10).kind, ROW_NO_CFI);
	assert_step(ROW_FROM_ENTRY(code, 10), RSP, 48);
	assert_step(ROW_FROM_ENTRY(code, 0), RSP, 8);
	assert_int_equal(ROW_FROM_ENTRY(code, 3).kind, ROW_NO_CFI); /* inside an instruction */
}

/*
 * A PLT as LLD writes it, without CFI:
 *	pushq GOT+8(%rip); jmp *GOT+16(%rip); nop (4)
 *	jmp *slot(%rip); pushq $0; jmp to the first entry
 */
TEST(code, plt_entries)
{
	static const char plt[] = "\xff\x35\0\0\0\0\xff\x25\0\0\0\0\x0f\x1f\x40\0"
				  "\xff\x25\0\0\0\0\x68\0\0\0\0\xe9\xe0\xff\xff\xff";

	assert_step(ROW(plt, 16), RSP, 8);  /* before the jump to the function */
	assert_step(ROW(plt, 22), RSP, 8);  /* before the push of the index */
	assert_step(ROW(plt, 27), RSP, 16); /* behind it */
	assert_step(ROW(plt, 0), RSP, 16);
	assert_step(ROW(plt, 6), RSP, 24); /* both words are pushed */
}

TEST(code, calls_before_return_addresses)
{
	/* nop; call +0; nop; nop; call *%rbx; nop; nop; nop; call *8(%rax); nop (8) */
	static const char code[] = "\x90\xe8\0\0\0\0\x90\x90\xff\xd3\x90\x90\x90\xff\x50\x08"
				   "\x90\x90\x90\x90\x90\x90\x90\x90";
	struct elf_image *image = image_of(code, sizeof(code) - 1);
	uint64_t target = 0;

	assert_int_equal(code_reader_x86_64.call_before(image, CODE + 6, &target), ROW_CALL_DIRECT);
	assert_int_equal(target, CODE + 6);
	assert_int_equal(code_reader_x86_64.call_before(image, CODE + 10, &target),
			 ROW_CALL_INDIRECT);
	assert_int_equal(code_reader_x86_64.call_before(image, CODE + 16, &target),
			 ROW_CALL_INDIRECT);
	assert_int_equal(code_reader_x86_64.call_before(image, CODE + 24, &target), ROW_CALL_NONE);
	assert_int_equal(code_reader_x86_64.call_before(image, 0x77, &target), ROW_CALL_NONE);
	elf_image_free(image);
}

TEST(code, lengths)
{
	static const struct {
		const char *bytes;
		size_t nr_bytes;
	} cases[] = {
		{"\xc3", 1},
		{"\xf3\x0f\x1e\xfa", 4},		/* endbr64 */
		{"\x66\x2e\x0f\x1f\x84\0\0\0\0\0", 10}, /* a long nop */
		{"\x48\xb8\1\2\3\4\5\6\7\x08", 10},	/* movabs */
		{"\x66\xb8\1\2", 4},			/* mov $,%ax */
		{"\x64\x48\x8b\x04\x25\x28\0\0\0", 9},	/* mov %fs:40,%rax */
		{"\xf6\x44\x24\x18\x20", 5},		/* testb $,24(%rsp) */
		{"\xf7\xd8", 2},			/* neg */
		{"\xc5\xf8\x77", 3},			/* vzeroupper */
		{"\xc4\xe2\x7d\x18\x05\0\0\0\0", 9},	/* vbroadcastss */
		{"\xc4\xe3\x75\x46\xc0\x21", 6},	/* vperm2i128 */
		{"\x62\xf1\x7e\x48\x6f\x06", 6},	/* vmovdqu32 */
		{"\x66\x0f\x3a\x0f\xc1\x08", 6},	/* palignr */
		{"\xf0\x48\x0f\xb1\x0a", 5},		/* lock cmpxchg */
		{"\x0f\x05", 2},			/* syscall */
		{"\x9b", 1},				/* fwait */
		{"\x8f\xc0", 2},			/* pop %rax */
		{"\x8f\x45\x08", 3},			/* pop 8(%rbp) */
		{"\x8f\xe8\x78\xa2\xc1\x10", 6},	/* vpcmov */
		{"\x8f\xe9\x78\xe1\x01", 5},		/* vphsubbw */
		{"\x8f\xea\x78\x10\xc1\4\3\2\1", 9},	/* bextr */
		{"\x66\x48\x81\xc0\1\2\3\4", 8},	/* add: REX.W is stronger than 66 */
		{"\xc7\xf8\1\2\3\4", 6},		/* xbegin */
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct code_instruction instruction;

		assert_true(code_decode((const uint8_t *)cases[i].bytes, cases[i].nr_bytes, 0,
					&instruction));
		assert_int_equal(instruction.nr_bytes, cases[i].nr_bytes);
		for (size_t cut = 0; cut < cases[i].nr_bytes; cut++)
			assert_false(code_decode((const uint8_t *)cases[i].bytes, cut, 0,
						 &instruction) &&
				     instruction.nr_bytes > cut);
	}
}

/* What moving an instruction to another place needs to know. */
TEST(code, operands_relative_to_rip)
{
	static const struct {
		const char *bytes;
		size_t nr_bytes;
		uint8_t opcode_at, disp_at;
		uint64_t operand, target;
		enum code_effect effect;
	} cases[] = {
		/* mov, cmpb $, movl $: an immediate may stand behind the displacement */
		{"\x48\x8b\x05\x10\0\0\0", 7, 1, 3, 0x1017, 0, CODE_EFFECT_NONE},
		{"\x80\x3d\xf0\xff\xff\xff\1", 7, 0, 2, 0xff7, 0, CODE_EFFECT_NONE},
		{"\xc7\x05\x10\0\0\0\1\2\3\4", 10, 0, 2, 0x101a, 0, CODE_EFFECT_NONE},
		{"\xc5\xfa\x10\x05\x10\0\0\0", 8, 0, 4, 0x1018, 0, CODE_EFFECT_NONE}, /* vmovss */
		{"\x62\xf1\x7c\x48\x28\x05\1\0\0\0", 10, 0, 6, 0x100b, 0, CODE_EFFECT_NONE},
		{"\x8f\xe8\x78\xa2\x05\1\0\0\0\x10", 10, 0, 5, 0x100b, 0, CODE_EFFECT_NONE},
		{"\xff\x15\x10\0\0\0", 6, 0, 2, 0x1016, 0, CODE_EFFECT_CALL},
		{"\xff\x25\x10\0\0\0", 6, 0, 2, 0x1016, 0, CODE_EFFECT_JUMP_GOT},
		/* calls that are direct, and through a register or a fixed address */
		{"\xe8\x10\0\0\0", 5, 0, 0, 0, 0x1015, CODE_EFFECT_CALL},
		{"\x67\xe8\x10\0\0\0", 6, 1, 0, 0, 0x1016, CODE_EFFECT_CALL},
		{"\x66\x66\x48\xe8\x10\0\0\0", 8, 3, 0, 0, 0x1018, CODE_EFFECT_CALL},
		{"\x41\xff\xd3", 3, 1, 0, 0, 0, CODE_EFFECT_CALL},
		{"\xff\x14\x25\x10\0\0\0", 7, 0, 0, 0, 0, CODE_EFFECT_CALL},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct code_instruction found;

		assert_true(code_decode((const uint8_t *)cases[i].bytes, cases[i].nr_bytes, 0x1000,
					&found));
		assert_int_equal(found.nr_bytes, cases[i].nr_bytes);
		assert_int_equal(found.opcode_at, cases[i].opcode_at);
		assert_int_equal(found.disp_at, cases[i].disp_at);
		assert_int_equal(found.operand, cases[i].operand);
		assert_int_equal(found.target, cases[i].target);
		assert_int_equal(found.effect, cases[i].effect);
	}
}

TEST(code, word_of_a_plt_entry)
{
	static const struct {
		const char *bytes;
		uint64_t word;
	} cases[] = {
		/* jmp *0x10(%rip); push $1; jmp */
		{"\xff\x25\x10\0\0\0\x68\1\0\0\0\xe9\0\0\0\0", 0x1016},
		{"\xf2\xff\x25\xf0\xff\xff\xff\x0f\x1f\x44\0\0\x90\x90\x90\x90", 0xff7},
		/* endbr64; jmp, and bnd jmp */
		{"\xf3\x0f\x1e\xfa\xff\x25\x10\0\0\0\x66\x0f\x1f\x44\0\0", 0x101a},
		{"\xf3\x0f\x1e\xfa\xf2\xff\x25\x10\0\0\0\x0f\x1f\x44\0\0", 0x101b},
		/* endbr64; push $1; jmp: it has no word, .plt.sec has */
		{"\xf3\x0f\x1e\xfa\x68\1\0\0\0\xe9\0\0\0\0\x66\x90", 0},
		/* call *0x10(%rip); jmp *%rax; jmp */
		{"\xff\x15\x10\0\0\0\xff\x25\x10\0\0\0\x90\x90\x90\x90", 0},
		{"\xff\xe0\xff\x25\x10\0\0\0\x90\x90\x90\x90\x90\x90\x90\x90", 0},
		{"\xe9\x10\0\0\0\xff\x25\x10\0\0\0\x90\x90\x90\x90\x90", 0},
	};

#if !defined(__x86_64__)
	skip(); /* it is asked about code of this machine */
#endif
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(
			plt_entry_word((const uint8_t *)cases[i].bytes, PLT_ENTRY_BYTES, 0x1000),
			cases[i].word);
	assert_int_equal(plt_entry_word((const uint8_t *)cases[0].bytes, 5, 0x1000), 0);
	assert_int_equal(plt_entry_word((const uint8_t *)cases[2].bytes, 4, 0x1000), 0);
}

#define BYTES(text) (const uint8_t *)text, sizeof(text) - 1

TEST(code, words_that_code_uses)
{
	/* push %rbx; mov 0x10(%rip),%rax; cmp $5,%rax; mov (%rax),%rdi; jmp *0x20(%rip); ret */
	static const char text[] = "\x53\x48\x8b\x05\x10\0\0\0\x48\x83\xf8\x05\x48\x8b\x38"
				   "\xff\x25\x20\0\0\0\xc3";
	const struct code_bytes code = {0x1000, BYTES(text)};
	uint64_t words[4];

#if !defined(__x86_64__)
	skip();
#endif
	assert_int_equal(code_used_words(&code, words, ARRAY_SIZE(words)), 2);
	assert_int_equal(words[0], 0x1018);
	assert_int_equal(words[1], 0x1035);
	assert_int_equal(code_used_words(&code, words, 1), 1);
	assert_int_equal(code_used_words(&(struct code_bytes){0, BYTES("\x0f\xff")}, words, 4), 0);
}

TEST(code, pointer_to_no_op_before)
{
	static const struct {
		const char *bytes;
		size_t nr, found;
	} cases[] = {
		{"\xc3\x90", 2, 1},
		{"\xc3\x66\x90", 3, 1}, /* any of them leads on */
		{"\xc3\x0f\x1f\x40\0", 5, 4},
		{"\xc3\x66\x2e\x0f\x1f\x84\0\0\0\0\0", 11, 8},
		{"\x41\x5d\xff\xe0", 4, 0},
		{"\xeb\xef\xcc", 3, 0},
		{"", 0, 0},
	};

#if !defined(__x86_64__)
	skip();
#endif
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(
			code_other_pointer(0x1000, (const uint8_t *)cases[i].bytes, cases[i].nr),
			cases[i].found ? 0x1000 - cases[i].found : 0);
}

TEST(code, comparison_with_a_function)
{
	static const struct {
		const char *bytes;
		size_t nr;
		uint64_t function;
		bool does;
	} cases[] = {
		/* cmp $0x4fb450,%rax; jne */
		{"\x90\x48\x3d\x50\xb4\x4f\0\x75\x05", 9, 0x4fb450, true},
		{"\x90\x48\x3d\x50\xb4\x4f\0\x75\x05", 9, 0x4fb451, false},
		/* cmp $0x500fe0,%rcx; mov $0x500fe0,%eax */
		{"\x48\x81\xf9\xe0\x0f\x50\0", 7, 0x500fe0, true},
		{"\xb8\xe0\x0f\x50\0\x90\x90\x90", 8, 0x500fe0, false},
		/* lea 0x100(%rip),%rdx; mov (%rdi),%rsi; cmp %rdx,%rax */
		{"\x48\x8d\x15\0\x01\0\0\x48\x8b\x37\x48\x39\xd0", 13, 0x1107, true},
		{"\x48\x8d\x15\0\x01\0\0\x48\x8b\x37\x48\x39\xd0", 13, 0x1100, false},
		/* the same, but with %r8, and compared with memory; then with another register */
		{"\x4c\x8d\x05\0\x01\0\0\x4c\x3b\x07\x90\x90", 12, 0x1107, true},
		{"\x4c\x8d\x05\0\x01\0\0\x48\x3b\x07\x90\x90", 12, 0x1107, false},
		/* cut */
		{"\x48\x8d\x15\0\x01\0\0\x48\x39", 9, 0x1107, false},
		{"\x48\x81\xf9\xe0\x0f\x50", 6, 0x500fe0, false},
	};

#if !defined(__x86_64__)
	skip();
#endif
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct code_bytes code = {0x1000, (const uint8_t *)cases[i].bytes,
						cases[i].nr};

		assert_int_equal(code_compares_with(&code, cases[i].function), cases[i].does);
	}
}

static bool asks(bool (*question)(const struct elf_image *, const struct code_at *),
		 const void *code, size_t nr_bytes, uint64_t offset)
{
	struct elf_image *image = image_of(code, nr_bytes);
	bool answer = question(image, &(struct code_at){.pc = CODE + offset, .is_exact = true});

	elf_image_free(image);
	return answer;
}

/* leave; vaddpd %ymm1,%ymm0,%ymm0; lea -8(%r10),%rsp; ret */
#define REALIGNED_END "\xc9\xc5\xfd\x58\xc1\x49\x8d\x62\xf8\xc3"

TEST(code, restored_frame_pointer_stays)
{
	size_t nr_bytes = sizeof(REALIGNED_END) - 1;

	assert_false(asks(code_reader_x86_64.keeps_fp, REALIGNED_END, nr_bytes, 0));
	assert_true(asks(code_reader_x86_64.keeps_fp, REALIGNED_END, nr_bytes, 1));
	assert_true(asks(code_reader_x86_64.keeps_fp, REALIGNED_END, nr_bytes, 9));
}

/* je +1; ret; mov 0(%rbp),%rbp; mov %rcx,%rsp; pop %rcx; jmp *%rcx */
#define EH_RETURN "\x74\x01\xc3\x48\x8b\x6d\x00\x48\x89\xcc\x59\xff\xe1"

TEST(code, leaving_for_a_handler_is_no_return)
{
	size_t nr_bytes = sizeof(EH_RETURN) - 1;

	assert_true(asks(code_reader_x86_64.may_return, EH_RETURN, nr_bytes, 0));
	assert_true(asks(code_reader_x86_64.may_return, EH_RETURN, nr_bytes, 2));
	assert_false(asks(code_reader_x86_64.may_return, EH_RETURN, nr_bytes, 3));
}

/*
 * push %rbp; mov %rsp,%rbp; test: dec %ecx; js out; push %rax; jmp test; out: call .; leave; ret:
 * V8's interpreter pushes its registers so. Nobody knows how many, but rbp does.
 */
TEST(code, loop_that_pushes_leaves_the_frame_pointer)
{
	static const char code[] =
		"\x55\x48\x89\xe5\xff\xc9\x78\x03\x50\xeb\xf9\xe8\0\0\0\0\xc9\xc3";

	assert_step(ROW_FROM_ENTRY(code, 16), RBP, 16);
	assert_int_equal(row_from_entry_by_sp(code, sizeof(code) - 1, 16).kind, ROW_NO_CFI);
}

/* The same for what has no frame pointer: no depth is better than one of many. */
TEST(code, loop_that_pushes_has_no_depth)
{
	static const char code[] = "\x90\xff\xc9\x78\x03\x50\xeb\xf9\xe8\0\0\0\0\xc3";

	assert_int_equal(ROW_FROM_ENTRY(code, 13).kind, ROW_NO_CFI);
}

static bool switches(const char *code, size_t nr_bytes, uint64_t offset)
{
	struct elf_image *image = image_of(code, nr_bytes);
	bool answer = code_reader_x86_64.switches_stack(
		image, &(struct code_at){.pc = CODE + offset, .is_exact = true});

	elf_image_free(image);
	return answer;
}

#define SWITCHES_ON_THE_WAY(code) switches(code, sizeof(code) - 1, 0)

/* Only a pointer from elsewhere is another stack: not room, alignment, or what was saved here. */
TEST(code, only_a_load_is_another_stack)
{
	assert_true(SWITCHES_ON_THE_WAY("\x48\x8b\x62\x38\xc3"));      /* mov 56(%rdx),%rsp */
	assert_true(SWITCHES_ON_THE_WAY("\x48\x89\xfc\xc3"));	       /* mov %rdi,%rsp */
	assert_true(SWITCHES_ON_THE_WAY("\x48\x87\xe0\xc3"));	       /* xchg %rsp,%rax */
	assert_false(SWITCHES_ON_THE_WAY("\x48\x83\xe4\xf0\xc3"));     /* and $-16,%rsp */
	assert_false(SWITCHES_ON_THE_WAY("\x48\x29\xc4\xc3"));	       /* sub %rax,%rsp */
	assert_false(SWITCHES_ON_THE_WAY("\x48\x01\xd4\xc3"));	       /* add %rdx,%rsp */
	assert_false(SWITCHES_ON_THE_WAY("\x48\x8b\x64\x24\x40\xc3")); /* mov 64(%rsp),%rsp */
	assert_false(SWITCHES_ON_THE_WAY("\x49\x8d\x62\xf8\xc3"));     /* lea -8(%r10),%rsp */
	/* x86inc: mov %rsp,%rcx; and $-64,%rsp; mov %rcx,%rsp */
	assert_false(SWITCHES_ON_THE_WAY("\x48\x89\xe1\x48\x83\xe4\xc0\x48\x89\xcc\xc3"));
	/* Go's asmcgocall on its own stack: mov 40(%rsp),%rsi; mov %rsi,%rsp */
	assert_false(SWITCHES_ON_THE_WAY("\x48\x8b\x74\x24\x28\x48\x89\xf4\xc3"));
}

/* A copy of the stack pointer brings it back, wherever it was aligned to. */
TEST(code, copied_stack_pointer_comes_back)
{
	/* push %rbx; mov %rsp,%rcx; and $-64,%rsp; mov %rcx,%rsp; pop %rbx; ret */
	assert_step(ROW("\x53\x48\x89\xe1\x48\x83\xe4\xc0\x48\x89\xcc\x5b\xc3", 1), RSP, 16);
}

/* call abort, then another function that switches stacks: mov %rsi,%rsp; ret */
TEST(code, last_call_of_a_function_does_not_return)
{
	static const char code[] = "\xff\xd0\xe8\0\0\0\0\x48\x89\xf4\xc3";
	struct elf_image *image = image_of(code, sizeof(code) - 1);
	struct code_at at = {.pc = CODE + 2};

	assert_true(code_reader_x86_64.switches_stack(image, &at));
	at.function_end = CODE + 7;
	assert_false(code_reader_x86_64.switches_stack(image, &at));
	elf_image_free(image);
}

/* mov 0x38(%rbx),%rsp; call .; ret: Go's morestack. The same, but rsp is not loaded. */
#define SWITCHES "\x48\x8b\x63\x38\xe8\xfb\xff\xff\xff\xc3"
#define STAYS	 "\x48\x8b\x5b\x38\xe8\xfb\xff\xff\xff\xc3"

static bool is_on_other_stack(const char *code, size_t nr_bytes, uint64_t offset, bool is_exact)
{
	struct mapping mapping = {.bias = 0x7000};
	struct code_frame frame = {
		.mapping = &mapping,
		.image = image_of(code, nr_bytes),
		.pc = mapping.bias + CODE + offset,
		.is_exact = is_exact,
	};
	bool answer = code_walk_is_on_other_stack(&unwind_arch_x86_64, &frame);

	elf_image_free(frame.image);
	return answer;
}

/* Its entry is where the padding before it ends. */
TEST(code, function_that_switched_stacks_is_known_without_cfi)
{
	assert_true(is_on_other_stack(SWITCHES, sizeof(SWITCHES) - 1, 9, false));
	assert_false(is_on_other_stack(SWITCHES, sizeof(SWITCHES) - 1, 9, true));
	assert_false(
		is_on_other_stack(SWITCHES, sizeof(SWITCHES) - 1, 3, false)); /* no way there */
	assert_false(is_on_other_stack(STAYS, sizeof(STAYS) - 1, 9, false));
}
