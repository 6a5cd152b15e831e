// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rows for code that has no CFI, derived from the code in two ways:
 *
 * - forward, from here to a return: every push is popped by then, so adding up finds the return
 *   address;
 * - from the function's entry to here, where a word on the stack looks like the return address of a
 *   call to that entry: it is one if it is as deep as the path from there requires. This serves
 *   functions that never return.
 *
 * No condition is evaluated: the stack is as deep at a branch's target as at the branch. musl has
 * no CFI at all, and neither have the start-up code of programs, the PLTs that LLD writes, and much
 * assembly.
 */
#include <string.h>

#include "base/alloc.h"
#include "code/code_x86_64.h"
#include "elf/elf_image.h"
#include "unwind/code_ways_x86_64.h"
#include "unwind/row.h"

enum { DWARF_RBP = 6, DWARF_RSP = 7 };

static enum way_end search_return(const struct elf_image *image, const struct code_at *at,
				  struct way_state *found)
{
	const struct way way = {
		.pc = at->pc, .function_end = at->function_end, .after_call = !at->is_exact};

	return code_search_ways(image, &way, found);
}

static enum way_end search_from_entry(const struct elf_image *image, uint64_t entry, uint64_t pc,
				      struct way_state *found)
{
	const struct way way = {.pc = entry, .goal = pc};

	return code_search_ways(image, &way, found);
}

/* CFA = the register of `base` + offset. False if that is no frame. */
static bool begin_row(struct row *row, enum way_base base, int64_t cfa_offset)
{
	if (base == BASE_NONE || cfa_offset != (int32_t)cfa_offset ||
	    (base == BASE_RSP && cfa_offset < 8))
		return false;
	*row = (struct row){.kind = ROW_STEP,
			    .cfa_reg = base == BASE_RBP ? DWARF_RBP : DWARF_RSP,
			    .cfa_offset = (int32_t)cfa_offset,
			    .ra_offset = -8,
			    .is_from_code = true};
	return true;
}

static void rbp_at(struct row *row, int64_t from_cfa)
{
	row->fp = from_cfa == (int32_t)from_cfa ? ROW_FP_AT_CFA : ROW_FP_LOST;
	row->fp_offset = (int32_t)from_cfa;
}

/* Below the current stack pointer: the path writes that word before it reads it. */
static bool is_unused(struct way_place place)
{
	return place.base == BASE_RSP && place.offset < 0;
}

/* The path saves rbp and restores it, so it stays the same. */
static bool is_yet_to_be_saved(const struct way_state *at)
{
	return at->rbp_kind == RBP_FROM_MEMORY && is_unused(at->rbp) &&
	       at->saved_rbp.base == BASE_RSP && at->saved_rbp.offset == at->rbp.offset;
}

/* Just before the return the return address is at rsp. */
static struct row row_by_return(const struct way_state *at)
{
	int64_t cfa_offset = at->rsp.offset;
	struct row row;

	/* found after the return was applied, which has no effect here */
	if (!begin_row(&row, at->rsp.base, cfa_offset + 8))
		return row_of_kind(ROW_NO_CFI);
	row.fp =
		at->rbp_kind == RBP_AS_IT_WAS || is_yet_to_be_saved(at) ? ROW_FP_SAME : ROW_FP_LOST;
	/* Both are relative to the same register; otherwise the frame pointer cannot be placed. */
	if (at->rbp_kind == RBP_FROM_MEMORY && at->rbp.base == at->rsp.base && !is_unused(at->rbp))
		rbp_at(&row, at->rbp.offset - (cfa_offset + 8));
	return row;
}

/* At the entry the return address was at rsp, so the state here leads back there. */
static struct row row_by_entry(const struct way_state *at, bool by_sp)
{
	struct row row;
	bool from_rsp = at->rsp.base == BASE_RSP;
	bool from_rbp = at->rbp_kind == RBP_IS_PLACE && at->rbp.base == BASE_RSP;

	/* A frame pointer is preferred: it does not depend on later pushes. */
	if (!(from_rbp && !by_sp && begin_row(&row, BASE_RBP, 8 - at->rbp.offset)) &&
	    !(from_rsp && begin_row(&row, BASE_RSP, 8 - at->rsp.offset)))
		return row_of_kind(ROW_NO_CFI);
	row.fp = at->rbp_kind == RBP_AS_IT_WAS ? ROW_FP_SAME : ROW_FP_LOST;
	if (row.fp != ROW_FP_SAME && at->saved_rbp.base == BASE_RSP)
		rbp_at(&row, at->saved_rbp.offset - 8);
	return row;
}

/* In a PLT's first entry, between its two instructions: push *x(%rip), jmp *y(%rip)? */
static bool is_inside_first_plt_entry(const struct elf_image *image, uint64_t pc)
{
	struct code_instruction before;
	uint8_t code[6];

	return elf_image_read(image, pc - sizeof(code), code, sizeof(code)) == sizeof(code) &&
	       code[0] == 0xff && code_decode(code, sizeof(code), pc, &before) &&
	       before.effect == CODE_EFFECT_PUSH_GOT;
}

static struct row row_forward(const struct elf_image *image, const struct code_at *at)
{
	struct way_state found;

	if (at->is_exact && is_inside_first_plt_entry(image, at->pc))
		return row_by_return(&(struct way_state){.rsp.offset = PLT_PUSHED});
	switch (search_return(image, at, &found)) {
	case WAY_FOUND:
		return row_by_return(&found);
	case WAY_CLOSED: /* as threads begin: call, then exit for ever */
		return row_of_kind(ROW_NEVER_RETURNS);
	case WAY_OPEN:
		break;
	}
	return row_of_kind(ROW_NO_CFI);
}

static bool may_return(const struct elf_image *image, const struct code_at *at)
{
	struct way_state found;

	return search_return(image, at, &found) == WAY_FOUND;
}

static bool keeps_fp(const struct elf_image *image, const struct code_at *at)
{
	struct way_state found;

	return search_return(image, at, &found) == WAY_FOUND &&
	       (found.rbp_kind == RBP_AS_IT_WAS || is_yet_to_be_saved(&found));
}

/*
 * Does the path to the return load another stack pointer, as code that switches stacks does? Or
 * does no path return, but one load another (makecontext(3)'s __start_context)?
 */
static bool switches_stack(const struct elf_image *image, const struct code_at *at)
{
	struct way_state found;

	return search_return(image, at, &found) != WAY_OPEN && found.is_switched;
}

/* Did the path from the entry load another stack pointer? */
static bool switched_stack(const struct elf_image *image, uint64_t entry, uint64_t pc)
{
	struct way_state found;

	return search_from_entry(image, entry, pc, &found) == WAY_FOUND && found.is_switched;
}

static bool comes_by(const struct elf_image *image, uint64_t entry, uint64_t pc)
{
	struct way_state found;

	return search_from_entry(image, entry, pc, &found) == WAY_FOUND;
}

static struct row row_from_entry(const struct elf_image *image, uint64_t entry, uint64_t pc,
				 bool by_sp)
{
	struct way_state found;

	if (search_from_entry(image, entry, pc, &found) != WAY_FOUND)
		return row_of_kind(ROW_NO_CFI);
	return row_by_entry(&found, by_sp);
}

/*
 * Go's threads begin in runtime.clone, which ends them behind its call: call *%r12, mov $111, %edi,
 * mov $SYS_exit, %eax, syscall (sys_linux_amd64.s).
 */
static bool ends_thread(const struct elf_image *image, uint64_t pc)
{
	static const uint8_t expected[] = {0x41, 0xff, 0xd4, 0xbf, 0x6f, 0x00, 0x00, 0x00,
					   0xb8, 0x3c, 0x00, 0x00, 0x00, 0x0f, 0x05};
	uint8_t code[sizeof(expected)];

	return elf_image_read(image, pc - 3, code, sizeof(code)) == sizeof(code) &&
	       memcmp(code, expected, sizeof(code)) == 0;
}

/*
 * Go's goroutines return to runtime.goexit+1, after a no-op rather than a call: nop, call goexit1,
 * nop (asm_amd64.s).
 */
static bool is_bottom(const struct elf_image *image, uint64_t pc)
{
	uint8_t code[7];

	return (elf_image_read(image, pc - 1, code, sizeof(code)) == sizeof(code) &&
		code[0] == 0x90 && code[1] == 0xe8 && code[6] == 0x90) ||
	       ends_thread(image, pc);
}

static enum row_call call_before(const struct elf_image *image, uint64_t return_address,
				 uint64_t *target)
{
	uint8_t code[8];
	struct code_instruction call;

	if (elf_image_read(image, return_address - sizeof(code), code, sizeof(code)) !=
	    sizeof(code))
		return ROW_CALL_NONE;
	/* call rel32, the commonest; else any call of two to seven bytes that ends here */
	if (code[3] == 0xe8 && code_decode(code + 3, 5, return_address - 5, &call)) {
		*target = call.target;
		return ROW_CALL_DIRECT;
	}
	for (size_t nr_bytes = 2; nr_bytes <= 7; nr_bytes++) {
		if (code_decode(code + sizeof(code) - nr_bytes, nr_bytes, return_address - nr_bytes,
				&call) &&
		    call.effect == CODE_EFFECT_CALL && call.nr_bytes == nr_bytes)
			return ROW_CALL_INDIRECT;
	}
	return ROW_CALL_NONE;
}

/* push %rbp; sub $…, %rsp: the frames of HotSpot's compilers, without frame pointers. */
static bool is_prologue(const uint8_t *code)
{
	return code[0] == 0x55 && code[1] == 0x48 && (code[2] == 0x83 || code[2] == 0x81) &&
	       code[3] == 0xec;
}

#define PROLOGUE_BYTES 4

#define WINDOW_BYTES 512

static bool entry_before(const struct elf_image *image, uint64_t pc, uint64_t lowest,
			 uint64_t *entry)
{
	uint8_t window[WINDOW_BYTES + PROLOGUE_BYTES];
	uint64_t end = pc;

	while (end > lowest) {
		uint64_t start = end - lowest > WINDOW_BYTES ? end - WINDOW_BYTES : lowest;
		size_t nr_bytes =
			elf_image_read(image, start, window, end - start + PROLOGUE_BYTES - 1);

		for (size_t at = nr_bytes < PROLOGUE_BYTES ? 0 : nr_bytes - PROLOGUE_BYTES + 1; at;
		     at--) {
			if (is_prologue(window + at - 1)) {
				*entry = start + at - 1;
				return true;
			}
		}
		end = start;
	}
	return false;
}

/* The instruction at *at, in sequence; *at moves past it. */
static bool next_instruction(const struct elf_image *image, uint64_t *at, uint64_t end,
			     struct code_instruction *instruction)
{
	uint8_t code[CODE_INSTRUCTION_MAX_BYTES];

	if (*at >= end ||
	    !code_decode(code, elf_image_read(image, *at, code, sizeof(code)), *at, instruction))
		return false;
	*at += instruction->nr_bytes;
	return true;
}

static enum row_call next_call(const struct elf_image *image, uint64_t *at, uint64_t end,
			       uint64_t *target)
{
	struct code_instruction instruction;

	while (next_instruction(image, at, end, &instruction)) {
		if (instruction.effect != CODE_EFFECT_CALL)
			continue;
		*target = instruction.target;
		return instruction.target ? ROW_CALL_DIRECT : ROW_CALL_INDIRECT;
	}
	return ROW_CALL_NONE;
}

static int64_t immediate(const uint8_t *at)
{
	int32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

/* The first bytes of the instructions that names_code() knows, and the length of the longest. */
static const bool may_name_code[256] = {
	[0x48] = true, [0x4c] = true, [0xb8] = true, [0xb9] = true, [0xba] = true, [0xbb] = true,
	[0xbc] = true, [0xbd] = true, [0xbe] = true, [0xbf] = true, [0xe8] = true,
};
#define NAMES_BYTES 7

static bool names_code(const uint8_t *at, uint64_t address, uint64_t *target)
{
	if (at[0] == 0xe8) /* call rel32 */
		*target = address + 5 + (uint64_t)immediate(at + 1);
	else if ((at[0] & 0xfb) == 0x48 && at[1] == 0x8d && (at[2] & 0xc7) == 5) /* lea x(%rip) */
		*target = address + 7 + (uint64_t)immediate(at + 3);
	else if (at[0] == 0x48 && at[1] == 0xc7 && (at[2] & 0xf8) == 0xc0) /* mov $x,%r64 */
		*target = (uint64_t)immediate(at + 3);
	else if ((at[0] & 0xf8) == 0xb8) /* mov $x,%r32 */
		*target = (uint32_t)immediate(at + 1);
	else
		return false;
	return true;
}

/* Each byte may be the first of an instruction: code is not decoded from a known place on. */
static bool next_named(const struct elf_bytes *code, size_t *at, uint64_t *target)
{
	const uint8_t *bytes = code->bytes;

	for (size_t i = *at; i + NAMES_BYTES <= code->nr_bytes; i++) {
		if (may_name_code[bytes[i]] && names_code(bytes + i, code->vaddr + i, target)) {
			*at = i + 1;
			return true;
		}
	}
	return false;
}

static bool jumps_into(const struct elf_image *image, uint64_t start, uint64_t end,
		       uint64_t part_start, uint64_t part_end)
{
	struct code_instruction instruction;

	while (next_instruction(image, &start, end, &instruction)) {
		if ((instruction.effect == CODE_EFFECT_JUMP ||
		     instruction.effect == CODE_EFFECT_BRANCH) &&
		    instruction.target >= part_start && instruction.target < part_end)
			return true;
	}
	return false;
}

static bool jumps_out(const struct elf_image *image, uint64_t start, uint64_t end)
{
	struct code_instruction instruction;
	uint64_t at = start;

	while (next_instruction(image, &at, end, &instruction)) {
		if (instruction.effect == CODE_EFFECT_JUMP_GOT ||
		    instruction.effect == CODE_EFFECT_STOP ||
		    ((instruction.effect == CODE_EFFECT_JUMP ||
		      instruction.effect == CODE_EFFECT_BRANCH) &&
		     (instruction.target < start || instruction.target >= end)))
			return true;
	}
	return at < end; /* code that cannot be read may do anything */
}

const struct code_reader code_reader_x86_64 = {
	.row = row_forward,
	.entry_before = entry_before,
	.row_from_entry = row_from_entry,
	.comes_by = comes_by,
	.is_bottom = is_bottom,
	.may_return = may_return,
	.keeps_fp = keeps_fp,
	.switches_stack = switches_stack,
	.switched_stack = switched_stack,
	.call_before = call_before,
	.next_call = next_call,
	.next_named = next_named,
	.jumps_into = jumps_into,
	.jumps_out = jumps_out,
};
