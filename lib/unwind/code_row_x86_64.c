// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rows for code that has no CFI, from what the code does, in two ways:
 *
 * - forward, from here to a return: everything that was pushed will have been
 *   popped by then, so adding up finds the return address;
 * - from the function's entry to here, where a word on the stack claims to be
 *   the return address of a call to that entry: it is if it lies as deep as the
 *   way from there says. This serves functions that never return.
 *
 * No condition is evaluated: where a branch leads, the stack is as deep as here.
 * musl has no CFI at all, and neither have the start-up code of programs, the
 * PLTs that LLD writes, and much assembly.
 */
#include <string.h>

#include "base/alloc.h"
#include "elf/elf_image.h"
#include "unwind/code_x86_64.h"
#include "unwind/row.h"
#include "unwind/visited.h"

enum { DWARF_RBP = 6, DWARF_RSP = 7 };

#define BRANCHES_MAX 512
#define WINDOW_BYTES 512

/* An address on the stack, seen from the registers with which a search began. */
enum base {
	BASE_RSP,
	BASE_RBP,
	BASE_NONE, /* nobody knows */
};

struct place {
	enum base base;
	int64_t offset;
};

enum rbp_kind {
	RBP_AS_IT_WAS,
	RBP_IS_PLACE,	 /* an address on the stack: a frame pointer */
	RBP_FROM_MEMORY, /* the word that was at a place */
	RBP_LOST,
};

/* How things stand before an instruction. */
struct state {
	uint64_t pc;
	struct place rsp;
	enum rbp_kind rbp_kind;
	struct place rbp;
	struct place saved_rbp; /* where the first rbp was stored; BASE_NONE: nowhere */
};

struct search {
	const struct elf_image *image;
	uint64_t goal;		      /* an address to come by; 0: a return */
	uint8_t window[WINDOW_BYTES]; /* code at window_start */
	uint64_t window_start;
	size_t window_bytes;
	struct state branches[BRANCHES_MAX]; /* not followed yet */
	size_t nr_branches;
	struct visited visited;
	size_t nr_instructions;
	bool is_open; /* some way went where it could not be followed */
	struct state found;
};

static struct place moved(struct place place, int64_t by)
{
	place.offset += by;
	return place;
}

static bool fetch(struct search *search, uint64_t pc, struct code_instruction *instruction)
{
	uint64_t skip = pc - search->window_start;

	if (skip >= search->window_bytes ||
	    search->window_bytes - skip < CODE_INSTRUCTION_MAX_BYTES) {
		search->window_start = pc;
		search->window_bytes =
			elf_image_read(search->image, pc, search->window, WINDOW_BYTES);
		skip = 0;
	}
	return search->window_bytes > skip &&
	       code_decode(search->window + skip, search->window_bytes - skip, pc, instruction);
}

static struct place rbp_as_place(const struct state *state)
{
	if (state->rbp_kind == RBP_AS_IT_WAS)
		return (struct place){.base = BASE_RBP};
	if (state->rbp_kind == RBP_IS_PLACE)
		return state->rbp;
	return (struct place){.base = BASE_NONE};
}

static void set_rbp(struct state *state, enum rbp_kind kind, struct place place)
{
	state->rbp_kind = place.base == BASE_NONE ? RBP_LOST : kind;
	state->rbp = place;
}

static void save_rbp(struct state *state, struct place place)
{
	if (state->rbp_kind == RBP_AS_IT_WAS)
		state->saved_rbp = place;
}

static void apply(struct state *state, const struct code_instruction *instruction)
{
	switch (instruction->effect) {
	case CODE_EFFECT_PUSH:
	case CODE_EFFECT_PUSH_GOT:
		state->rsp.offset -= 8;
		return;
	case CODE_EFFECT_PUSH_RBP:
		state->rsp.offset -= 8;
		save_rbp(state, state->rsp);
		return;
	case CODE_EFFECT_STORE_RBP:
		save_rbp(state, moved(state->rsp, instruction->value));
		return;
	case CODE_EFFECT_POP_RBP:
		set_rbp(state, RBP_FROM_MEMORY, state->rsp);
		state->rsp.offset += 8;
		return;
	case CODE_EFFECT_POP:
		state->rsp.offset += 8;
		return;
	case CODE_EFFECT_ADD_RSP:
		state->rsp.offset += instruction->value;
		return;
	case CODE_EFFECT_RSP_FROM_RBP:
		state->rsp = moved(rbp_as_place(state), instruction->value);
		return;
	case CODE_EFFECT_LEAVE:
		state->rsp = rbp_as_place(state);
		set_rbp(state, RBP_FROM_MEMORY, state->rsp);
		state->rsp.offset += 8;
		return;
	case CODE_EFFECT_LOAD_RBP:
		set_rbp(state, RBP_FROM_MEMORY, moved(state->rsp, instruction->value));
		return;
	case CODE_EFFECT_RBP_FROM_RSP:
		set_rbp(state, RBP_IS_PLACE, moved(state->rsp, instruction->value));
		return;
	case CODE_EFFECT_LOSE_RSP:
		state->rsp.base = BASE_NONE;
		return;
	case CODE_EFFECT_LOSE_RBP:
		state->rbp_kind = RBP_LOST;
		return;
	case CODE_EFFECT_NONE:
	case CODE_EFFECT_RETURN:
	case CODE_EFFECT_JUMP:
	case CODE_EFFECT_BRANCH:
	case CODE_EFFECT_JUMP_GOT:
	case CODE_EFFECT_CALL:
	case CODE_EFFECT_HALT:
	case CODE_EFFECT_STOP:
		return;
	}
}

static void keep_branch(struct search *search, const struct state *state, uint64_t target)
{
	if (search->nr_branches == BRANCHES_MAX) {
		search->is_open = true;
		return;
	}
	search->branches[search->nr_branches] = *state;
	search->branches[search->nr_branches++].pc = target;
}

/*
 * A PLT's first entry pushes a word of its own onto the one that the entry
 * before it pushed, and goes to the resolver with both.
 */
#define PLT_PUSHED 16

/* Is this the end of the way to a return? */
static bool is_return(struct search *search, const struct state *state,
		      const struct code_instruction *instruction, bool after_got_push)
{
	if (search->goal || (instruction->effect != CODE_EFFECT_RETURN &&
			     instruction->effect != CODE_EFFECT_JUMP_GOT))
		return false;
	search->found = *state;
	if (instruction->effect == CODE_EFFECT_JUMP_GOT && after_got_push)
		search->found.rsp.offset += PLT_PUSHED;
	return true;
}

/* Follow one way. True: it came to what is searched, and search->found says how. */
static bool follow(struct search *search, struct state state, bool after_call)
{
	bool after_got_push = false;

	while (search->nr_instructions++ < INSTRUCTIONS_MAX) {
		struct code_instruction instruction = {0};
		enum code_effect effect;

		if (search->goal && state.pc == search->goal) {
			search->found = state;
			return true;
		}
		if (visited_before(&search->visited, state.pc))
			return false;
		search->is_open |= !fetch(search, state.pc, &instruction);
		/* Nobody pads behind a call, unless it does not return and the function ends. */
		search->is_open |= after_call && instruction.is_padding;
		if (search->is_open)
			return false;
		effect = instruction.effect;
		state.pc += instruction.nr_bytes;
		apply(&state, &instruction);
		if (is_return(search, &state, &instruction, after_got_push))
			return true;
		if (effect == CODE_EFFECT_STOP || effect == CODE_EFFECT_RETURN ||
		    effect == CODE_EFFECT_JUMP_GOT || effect == CODE_EFFECT_HALT) {
			search->is_open |= effect == CODE_EFFECT_STOP;
			return false;
		}
		if (effect == CODE_EFFECT_BRANCH)
			keep_branch(search, &state, instruction.target);
		if (effect == CODE_EFFECT_JUMP)
			state.pc = instruction.target;
		after_call = effect == CODE_EFFECT_CALL;
		after_got_push = effect == CODE_EFFECT_PUSH_GOT;
	}
	search->is_open = true;
	return false;
}

enum search_end {
	SEARCH_FOUND,
	SEARCH_OPEN,   /* not found, but some way could not be followed to its end */
	SEARCH_CLOSED, /* every way runs in a circle or halts: nothing ever comes by there */
};

/* From pc on to `goal`, or to a return if that is 0. */
static enum search_end search_ways(const struct elf_image *image, uint64_t pc, uint64_t goal,
				   bool after_call, struct state *found)
{
	const struct state start = {.pc = pc, .saved_rbp.base = BASE_NONE};
	cleanup_free struct search *search =
		xcalloc(1, sizeof(*search)); /* too large for a stack */
	bool is_found;
	bool is_open = false;

	search->image = image;
	search->goal = goal;
	is_found = follow(search, start, after_call);
	while (!is_found && search->nr_branches) {
		is_open |= search->is_open;
		search->is_open = false;
		is_found = follow(search, search->branches[--search->nr_branches], false);
	}
	*found = search->found;
	if (is_found)
		return SEARCH_FOUND;
	return is_open || search->is_open ? SEARCH_OPEN : SEARCH_CLOSED;
}

/* CFA = the register of `base` + offset. False if that is no frame. */
static bool begin_row(struct row *row, enum base base, int64_t cfa_offset)
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

/* Below where the stack pointer is now: what stands there is written on the way. */
static bool is_unused(struct place place)
{
	return place.base == BASE_RSP && place.offset < 0;
}

/* The way saves rbp and restores it: it is as it will be. */
static bool is_yet_to_be_saved(const struct state *at)
{
	return at->rbp_kind == RBP_FROM_MEMORY && is_unused(at->rbp) &&
	       at->saved_rbp.base == BASE_RSP && at->saved_rbp.offset == at->rbp.offset;
}

/* Just before the return the return address is at rsp. */
static struct row row_by_return(const struct state *at)
{
	int64_t cfa_offset = at->rsp.offset;
	struct row row;

	/* found after the return was applied, which is no matter: it changes nothing */
	if (!begin_row(&row, at->rsp.base, cfa_offset + 8))
		return row_of_kind(ROW_NO_CFI);
	row.fp =
		at->rbp_kind == RBP_AS_IT_WAS || is_yet_to_be_saved(at) ? ROW_FP_SAME : ROW_FP_LOST;
	/* Both are seen from the same register, or the frame pointer cannot be placed. */
	if (at->rbp_kind == RBP_FROM_MEMORY && at->rbp.base == at->rsp.base && !is_unused(at->rbp))
		rbp_at(&row, at->rbp.offset - (cfa_offset + 8));
	return row;
}

/* At the entry the return address was at rsp: what holds here leads back there. */
static struct row row_by_entry(const struct state *at)
{
	struct row row;
	bool from_rsp = at->rsp.base == BASE_RSP;
	bool from_rbp = at->rbp_kind == RBP_IS_PLACE && at->rbp.base == BASE_RSP;

	if (!(from_rsp && begin_row(&row, BASE_RSP, 8 - at->rsp.offset)) &&
	    !(from_rbp && begin_row(&row, BASE_RBP, 8 - at->rbp.offset)))
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

static struct row row_forward(const struct elf_image *image, uint64_t pc, bool is_exact)
{
	struct state found;

	if (is_exact && is_inside_first_plt_entry(image, pc))
		return row_by_return(&(struct state){.rsp.offset = PLT_PUSHED});
	switch (search_ways(image, pc, 0, !is_exact, &found)) {
	case SEARCH_FOUND:
		return row_by_return(&found);
	case SEARCH_CLOSED: /* as threads begin: call, then exit for ever */
		return row_of_kind(ROW_ROOT);
	case SEARCH_OPEN:
		break;
	}
	return row_of_kind(ROW_NO_CFI);
}

static bool may_return(const struct elf_image *image, uint64_t pc, bool is_exact)
{
	struct state found;

	return search_ways(image, pc, 0, !is_exact, &found) == SEARCH_FOUND;
}

static bool keeps_fp(const struct elf_image *image, uint64_t pc, bool is_exact)
{
	struct state found;

	return search_ways(image, pc, 0, !is_exact, &found) == SEARCH_FOUND &&
	       (found.rbp_kind == RBP_AS_IT_WAS || is_yet_to_be_saved(&found));
}

/* Does the way to the return load another stack pointer, as whoever switches stacks does? */
static bool switches_stack(const struct elf_image *image, uint64_t pc, bool is_exact)
{
	struct state found;

	return search_ways(image, pc, 0, !is_exact, &found) == SEARCH_FOUND &&
	       found.rsp.base == BASE_NONE;
}

/* Did the way from the entry load another stack pointer? */
static bool switched_stack(const struct elf_image *image, uint64_t entry, uint64_t pc)
{
	struct state found;

	return search_ways(image, entry, pc, false, &found) == SEARCH_FOUND &&
	       found.rsp.base == BASE_NONE;
}

static struct row row_from_entry(const struct elf_image *image, uint64_t entry, uint64_t pc)
{
	struct state found;

	if (search_ways(image, entry, pc, false, &found) != SEARCH_FOUND)
		return row_of_kind(ROW_NO_CFI);
	return row_by_entry(&found);
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

/* push %rbp; sub $…, %rsp: how HotSpot's compilers make a frame, without frame pointers. */
static bool is_prologue(const uint8_t *code)
{
	return code[0] == 0x55 && code[1] == 0x48 && (code[2] == 0x83 || code[2] == 0x81) &&
	       code[3] == 0xec;
}

#define PROLOGUE_BYTES 4

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

/* The instruction at *at, as they follow each other; *at moves behind it. */
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

static bool names_code(const uint8_t *at, size_t nr_bytes, uint64_t address, uint64_t *target)
{
	if (nr_bytes < 7)
		return false;
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
	return at < end; /* what cannot be read may do anything */
}

const struct code_reader code_reader_x86_64 = {
	.row = row_forward,
	.entry_before = entry_before,
	.row_from_entry = row_from_entry,
	.may_return = may_return,
	.keeps_fp = keeps_fp,
	.switches_stack = switches_stack,
	.switched_stack = switched_stack,
	.call_before = call_before,
	.next_call = next_call,
	.names_code = names_code,
	.jumps_into = jumps_into,
	.jumps_out = jumps_out,
};
