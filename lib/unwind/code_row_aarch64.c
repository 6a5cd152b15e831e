// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rows for code of aarch64 that has no CFI, as code_row_x86_64.c makes them: forward, from here to
 * a return, before which x30 gets the return address; or from the function's entry to here. All
 * PLTs are such code, and much assembly. Frame records alone lead past the caller of a function
 * that has not made its record yet, has removed it, or never has one.
 *
 * Not read: frames of over 4 KiB whose size gcc takes from a register (mov x12; sub sp, sp, x12).
 */
#include <string.h>

#include "base/alloc.h"
#include "code/code_aarch64.h"
#include "elf/elf_image.h"
#include "unwind/row.h"
#include "unwind/visited.h"

enum { FP = 29, LR = 30, SP = 31 };

#define BRANCHES_MAX 512

/* The content of a register, in terms of the registers at the start of a search. */
enum value_kind {
	VALUE_LOST,
	VALUE_FROM_SP, /* the first stack pointer + offset */
	VALUE_FROM_FP, /* the first x29 + offset */
	VALUE_LINK,    /* the first x30 */
	VALUE_WORD,    /* the word at the first stack pointer + offset */
	VALUE_FP_WORD, /* the word at the first x29 + offset */
};

struct value {
	enum value_kind kind;
	int64_t offset;
};

/* The state before an instruction. */
struct state {
	uint64_t pc;
	struct value sp, fp, lr;
	/* The offsets from the first stack pointer at which the first fp and lr were stored. */
	bool fp_is_stored, lr_is_stored;
	int64_t fp_slot, lr_slot;
};

struct search {
	const struct elf_image *image;
	uint64_t goal; /* 0: a return */
	struct state found;
	bool is_found;
	struct state branches[BRANCHES_MAX];
	size_t nr_branches, nr_instructions;
	struct visited visited;
};

static struct value *value_of(struct state *state, uint8_t reg)
{
	switch (reg) {
	case FP:
		return &state->fp;
	case LR:
		return &state->lr;
	case SP:
		return &state->sp;
	default:
		return NULL;
	}
}

static const struct value first_fp = {.kind = VALUE_FROM_FP};
static const struct value first_lr = {.kind = VALUE_LINK};

static bool is_same(struct value a, struct value b)
{
	return a.kind == b.kind && a.offset == b.offset;
}

/* reg[index] is stored to, or loaded from, the word at `at`. */
static void apply_word(struct state *state, const struct a64_instruction *instruction, int index,
		       struct value at)
{
	struct value *value = value_of(state, instruction->reg[index]);
	bool is_on_stack = at.kind == VALUE_FROM_SP;

	if (!value || value == &state->sp) /* 31 is the zero register here */
		return;
	if (!instruction->is_load) {
		if (is_on_stack && is_same(*value, first_fp)) {
			state->fp_is_stored = true;
			state->fp_slot = at.offset;
		} else if (is_on_stack && is_same(*value, first_lr)) {
			state->lr_is_stored = true;
			state->lr_slot = at.offset;
		}
		return;
	}
	if (is_on_stack && state->fp_is_stored && at.offset == state->fp_slot)
		*value = first_fp;
	else if (is_on_stack && state->lr_is_stored && at.offset == state->lr_slot)
		*value = first_lr;
	else if (is_on_stack)
		*value = (struct value){VALUE_WORD, at.offset};
	else if (at.kind == VALUE_FROM_FP)
		*value = (struct value){VALUE_FP_WORD, at.offset};
	else
		*value = (struct value){VALUE_LOST, 0};
}

static void apply_memory(struct state *state, const struct a64_instruction *instruction)
{
	struct value *base = instruction->is_access ? value_of(state, instruction->base) : NULL;
	struct value at = base ? *base : (struct value){VALUE_LOST, 0};

	at.offset += instruction->offset;
	if (!instruction->is_word)
		at.kind = VALUE_LOST;
	for (int i = 0; i < 2; i++)
		apply_word(state, instruction, i,
			   (struct value){at.kind, at.offset + i * (int64_t)sizeof(uint64_t)});
	if (base)
		base->offset += instruction->moves_base;
}

static void apply(struct state *state, const struct a64_instruction *instruction)
{
	struct value *to = value_of(state, instruction->reg[0]);
	const struct value *from;

	switch (instruction->effect) {
	case A64_EFFECT_ADD:
		from = value_of(state, instruction->base);
		if (!to)
			return;
		*to = from ? *from : (struct value){VALUE_LOST, 0};
		to->offset += instruction->offset;
		if (to->kind != VALUE_FROM_SP && to->kind != VALUE_FROM_FP)
			to->kind = VALUE_LOST;
		return;
	case A64_EFFECT_SET:
		if (to)
			to->kind = VALUE_LOST;
		return;
	case A64_EFFECT_CALL:
		state->lr.kind = VALUE_LOST;
		return;
	case A64_EFFECT_NONE:
		apply_memory(state, instruction);
		return;
	case A64_EFFECT_RETURN:
	case A64_EFFECT_JUMP:
	case A64_EFFECT_BRANCH:
	case A64_EFFECT_LEAVE:
	case A64_EFFECT_HALT:
	case A64_EFFECT_STOP:
		return;
	}
}

static bool fetch(const struct elf_image *image, uint64_t pc, struct a64_instruction *instruction)
{
	uint32_t word;

	if (pc % sizeof(word) || elf_image_read(image, pc, &word, sizeof(word)) != sizeof(word))
		return false;
	a64_decode(word, pc, instruction);
	return true;
}

static bool is_at_goal(const struct search *search, const struct state *state,
		       const struct a64_instruction *instruction)
{
	if (search->goal)
		return state->pc == search->goal;
	return instruction->effect == A64_EFFECT_RETURN || instruction->effect == A64_EFFECT_LEAVE;
}

/* Follow one path to the goal, or to its end. */
static void follow(struct search *search, struct state state)
{
	struct a64_instruction instruction;

	while (search->nr_instructions++ < INSTRUCTIONS_MAX) {
		if (visited_before(&search->visited, state.pc) ||
		    !fetch(search->image, state.pc, &instruction))
			return;
		search->is_found = is_at_goal(search, &state, &instruction);
		if (search->is_found) {
			search->found = state;
			return;
		}
		apply(&state, &instruction);
		state.pc += A64_INSTRUCTION_BYTES;
		switch (instruction.effect) {
		case A64_EFFECT_RETURN:
		case A64_EFFECT_LEAVE:
		case A64_EFFECT_HALT:
		case A64_EFFECT_STOP:
			return;
		case A64_EFFECT_JUMP:
			state.pc = instruction.target;
			break;
		case A64_EFFECT_BRANCH:
			if (search->nr_branches == BRANCHES_MAX)
				return;
			search->branches[search->nr_branches] = state;
			search->branches[search->nr_branches++].pc = instruction.target;
			break;
		case A64_EFFECT_NONE:
		case A64_EFFECT_ADD:
		case A64_EFFECT_SET:
		case A64_EFFECT_CALL:
			break;
		}
	}
}

/* From pc on to `goal`, or to a return if that is 0. */
static bool search_ways(const struct elf_image *image, uint64_t pc, uint64_t goal, bool has_called,
			struct state *found)
{
	const struct state start = {.pc = pc,
				    .sp.kind = VALUE_FROM_SP,
				    .fp = first_fp,
				    .lr.kind = has_called ? VALUE_LOST : VALUE_LINK};
	cleanup_free struct search *search =
		xcalloc(1, sizeof(*search)); /* too large for a stack */
	bool is_found;

	search->image = image;
	search->goal = goal;
	follow(search, start);
	while (!search->is_found && search->nr_branches)
		follow(search, search->branches[--search->nr_branches]);
	*found = search->found;
	is_found = search->is_found;
	return is_found;
}

static bool fits(int64_t offset)
{
	return offset == (int32_t)offset;
}

/* CFA = sp or x29 + offset, the return address still in x30. False if that is no frame. */
static bool begin_row(struct row *row, enum value_kind from, int64_t cfa_offset)
{
	if ((from != VALUE_FROM_SP && from != VALUE_FROM_FP) || !fits(cfa_offset) ||
	    cfa_offset % 16 || (from == VALUE_FROM_SP && cfa_offset < 0))
		return false;
	*row = (struct row){.kind = ROW_STEP,
			    .cfa_reg = from == VALUE_FROM_SP ? SP : FP,
			    .cfa_offset = (int32_t)cfa_offset,
			    .ra = ROW_RA_IN_REG,
			    .fp = ROW_FP_LOST,
			    .is_from_code = true};
	return true;
}

static bool put_ra(struct row *row, int64_t from_cfa)
{
	row->ra = ROW_RA_AT_CFA;
	row->ra_offset = (int32_t)from_cfa;
	return fits(from_cfa) && from_cfa < 0;
}

static void put_fp(struct row *row, int64_t from_cfa)
{
	row->fp = fits(from_cfa) ? ROW_FP_AT_CFA : ROW_FP_LOST;
	row->fp_offset = (int32_t)from_cfa;
}

/*
 * Before the return the stack pointer is the CFA. A value loaded from below the current stack
 * pointer would have to be stored on the path; this is checked here.
 */
static struct row row_by_return(const struct state *at)
{
	enum value_kind word = at->sp.kind == VALUE_FROM_SP ? VALUE_WORD : VALUE_FP_WORD;
	struct row row;

	if (!begin_row(&row, at->sp.kind, at->sp.offset))
		return row_of_kind(ROW_NO_CFI);
	if (at->lr.kind == word && (word == VALUE_FP_WORD || at->lr.offset >= 0)) {
		if (!put_ra(&row, at->lr.offset - at->sp.offset))
			return row_of_kind(ROW_NO_CFI);
	} else if (at->lr.kind != VALUE_LINK) {
		return row_of_kind(ROW_NO_CFI);
	}
	if (is_same(at->fp, first_fp))
		row.fp = ROW_FP_SAME;
	else if (at->fp.kind == word && (word == VALUE_FP_WORD || at->fp.offset >= 0))
		put_fp(&row, at->fp.offset - at->sp.offset);
	return row;
}

/* stp x16, x30, [sp, #-16]!, the start of a PLT's first entry, and that entry's length. */
#define PLT_PUSH	 0xa9bf7bf0
#define PLT_INSTRUCTIONS 5
#define PLT_PUSHED	 16

static bool is_inside_first_plt_entry(const struct elf_image *image, uint64_t pc)
{
	uint32_t word;

	for (uint64_t back = 1; back < PLT_INSTRUCTIONS && pc >= back * sizeof(word); back++) {
		if (elf_image_read(image, pc - back * sizeof(word), &word, sizeof(word)) ==
			    sizeof(word) &&
		    word == PLT_PUSH)
			return true;
	}
	return false;
}

static struct row row_forward(const struct elf_image *image, const struct code_at *at)
{
	struct state found;

	if (at->is_exact && is_inside_first_plt_entry(image, at->pc))
		return row_by_return(&(struct state){
			.sp = {VALUE_FROM_SP, PLT_PUSHED}, .lr = {VALUE_WORD, 8}, .fp = first_fp});
	if (!search_ways(image, at->pc, 0, !at->is_exact, &found))
		return row_of_kind(ROW_NO_CFI);
	return row_by_return(&found);
}

/* Is the stored value still above the stack pointer? */
static bool is_kept(const struct state *at, int64_t slot)
{
	return at->sp.kind != VALUE_FROM_SP || slot >= at->sp.offset;
}

/* At the entry the stack pointer was the CFA, so the state here leads back there. */
static struct row row_from_entry(const struct elf_image *image, uint64_t entry, uint64_t pc,
				 bool by_sp)
{
	struct state at;
	struct row row;

	if (!search_ways(image, entry, pc, false, &at) ||
	    (!(at.sp.kind == VALUE_FROM_SP && begin_row(&row, VALUE_FROM_SP, -at.sp.offset)) &&
	     !(!by_sp && at.fp.kind == VALUE_FROM_SP &&
	       begin_row(&row, VALUE_FROM_FP, -at.fp.offset))))
		return row_of_kind(ROW_NO_CFI);
	if (!(at.lr_is_stored && is_kept(&at, at.lr_slot) && put_ra(&row, at.lr_slot)) &&
	    at.lr.kind != VALUE_LINK)
		return row_of_kind(ROW_NO_CFI);
	if (at.fp_is_stored && is_kept(&at, at.fp_slot))
		put_fp(&row, at.fp_slot);
	else if (is_same(at.fp, first_fp))
		row.fp = ROW_FP_SAME;
	return row;
}

static enum row_call call_before(const struct elf_image *image, uint64_t return_address,
				 uint64_t *target)
{
	struct a64_instruction instruction;

	if (return_address < A64_INSTRUCTION_BYTES ||
	    !fetch(image, return_address - A64_INSTRUCTION_BYTES, &instruction) ||
	    instruction.effect != A64_EFFECT_CALL)
		return ROW_CALL_NONE;
	*target = instruction.target;
	return instruction.target ? ROW_CALL_DIRECT : ROW_CALL_INDIRECT;
}

/* bl; pairs of adrp and add are not searched. */
static bool next_named(const struct elf_bytes *code, size_t *at, uint64_t *target)
{
	struct a64_instruction instruction;
	uint32_t word;
	/* Instructions are aligned. */
	size_t i = *at + (-(code->vaddr + *at) & (A64_INSTRUCTION_BYTES - 1));

	for (; i + sizeof(word) <= code->nr_bytes; i += sizeof(word)) {
		memcpy(&word, code->bytes + i, sizeof(word));
		a64_decode(word, code->vaddr + i, &instruction);
		if (instruction.effect == A64_EFFECT_CALL && instruction.target) {
			*at = i + sizeof(word);
			*target = instruction.target;
			return true;
		}
	}
	return false;
}

const struct code_reader code_reader_aarch64 = {
	.row = row_forward,
	.row_from_entry = row_from_entry,
	.call_before = call_before,
	.next_named = next_named,
};
