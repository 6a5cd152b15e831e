// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rows for code that has no CFI, from what the code is going to do: on the way
 * from here to a return, everything that was pushed is popped, so adding up
 * finds the return address, and the frame pointer if it is restored. No
 * condition is evaluated; where a branch leads, the stack is as deep as here.
 *
 * musl has no CFI at all, and neither have the start-up code of programs, the
 * PLTs that LLD writes, and much assembly.
 */
#include <string.h>

#include "elf/elf_image.h"
#include "unwind/code_x86_64.h"
#include "unwind/row.h"

enum { DWARF_RBP = 6, DWARF_RSP = 7 };

#define INSTRUCTIONS_MAX 4000
#define BRANCHES_MAX	 64
#define VISITED_MAX	 1024 /* a power of two */
#define WINDOW_BYTES	 512

/* What the frame pointer holds, seen from where the search began. */
enum rbp_state {
	RBP_AS_IT_WAS,
	RBP_FROM_STACK, /* loaded from the stack, at rbp_offset */
	RBP_LOST,
};

/* How things stand at an instruction on the way. */
struct state {
	uint64_t pc;
	bool is_from_rbp; /* rsp is the first rbp + offset, else the first rsp + offset */
	bool is_rsp_lost;
	int64_t offset;
	enum rbp_state rbp;
	bool is_rbp_slot_from_rbp; /* rbp_offset is relative to the first rbp */
	int64_t rbp_offset;
};

struct search {
	const struct elf_image *image;
	uint8_t window[WINDOW_BYTES]; /* code at window_start */
	uint64_t window_start;
	size_t window_bytes;
	struct state branches[BRANCHES_MAX]; /* not followed yet */
	size_t nr_branches;
	uint64_t visited[VISITED_MAX]; /* by pc; what collides is merely visited again */
	size_t nr_instructions;
};

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

/* rsp = rbp + value: possible to follow as long as rbp is the first one. */
static void rsp_from_rbp(struct state *state, int64_t value)
{
	state->is_rsp_lost = state->rbp != RBP_AS_IT_WAS;
	state->is_from_rbp = true;
	state->offset = value;
}

static void rbp_from_stack(struct state *state, int64_t value)
{
	state->rbp = state->is_rsp_lost ? RBP_LOST : RBP_FROM_STACK;
	state->is_rbp_slot_from_rbp = state->is_from_rbp;
	state->rbp_offset = state->offset + value;
}

static void apply(struct state *state, const struct code_instruction *instruction)
{
	switch (instruction->effect) {
	case CODE_EFFECT_PUSH:
	case CODE_EFFECT_PUSH_GOT:
		state->offset -= 8;
		return;
	case CODE_EFFECT_POP_RBP:
		rbp_from_stack(state, 0);
		state->offset += 8;
		return;
	case CODE_EFFECT_POP:
		state->offset += 8;
		return;
	case CODE_EFFECT_ADD_RSP:
		state->offset += instruction->value;
		return;
	case CODE_EFFECT_RSP_FROM_RBP:
		rsp_from_rbp(state, instruction->value);
		return;
	case CODE_EFFECT_LEAVE:
		rsp_from_rbp(state, 0);
		rbp_from_stack(state, 0);
		state->offset += 8;
		return;
	case CODE_EFFECT_LOAD_RBP:
		rbp_from_stack(state, instruction->value);
		return;
	case CODE_EFFECT_LOSE_RSP:
		state->is_rsp_lost = true;
		return;
	case CODE_EFFECT_RBP_FROM_RSP:
	case CODE_EFFECT_LOSE_RBP:
		state->rbp = RBP_LOST;
		return;
	case CODE_EFFECT_NONE:
	case CODE_EFFECT_RETURN:
	case CODE_EFFECT_JUMP:
	case CODE_EFFECT_BRANCH:
	case CODE_EFFECT_JUMP_GOT:
	case CODE_EFFECT_CALL:
	case CODE_EFFECT_STOP:
		return;
	}
}

/* The row of one who is about to return with this state, `above` bytes below the return address. */
static bool row_at_return(const struct state *state, int64_t above, struct row *row)
{
	int64_t cfa = state->offset + above + 8;

	if (state->is_rsp_lost || cfa != (int32_t)cfa || (!state->is_from_rbp && cfa < 8))
		return false;
	*row = (struct row){.kind = ROW_STEP,
			    .cfa_reg = state->is_from_rbp ? DWARF_RBP : DWARF_RSP,
			    .cfa_offset = (int32_t)cfa,
			    .ra_offset = -8,
			    .fp = ROW_FP_SAME,
			    .is_from_code = true};
	if (state->rbp == RBP_LOST)
		row->fp = ROW_FP_LOST;
	if (state->rbp != RBP_FROM_STACK)
		return true;
	/* Both are seen from the same register, or the frame pointer cannot be placed. */
	row->fp = ROW_FP_LOST;
	if (state->is_rbp_slot_from_rbp != state->is_from_rbp)
		return true;
	row->fp = ROW_FP_AT_CFA;
	row->fp_offset = (int32_t)(state->rbp_offset - cfa);
	return state->rbp_offset - cfa == row->fp_offset;
}

static bool was_visited(struct search *search, uint64_t pc)
{
	uint64_t *slot = &search->visited[pc % VISITED_MAX];

	if (*slot == pc)
		return true;
	*slot = pc;
	return false;
}

static void keep_branch(struct search *search, const struct state *state, uint64_t target)
{
	if (search->nr_branches == BRANCHES_MAX)
		return;
	search->branches[search->nr_branches] = *state;
	search->branches[search->nr_branches++].pc = target;
}

/*
 * A PLT's first entry pushes a word of its own onto the one that the entry
 * before it pushed, and goes to the resolver with both.
 */
#define PLT_PUSHED 16

/* Follow one way. True: it came to a return, and *row says how. */
static bool follow(struct search *search, struct state state, struct row *row)
{
	bool after_call = false;
	bool after_got_push = false;

	while (search->nr_instructions++ < INSTRUCTIONS_MAX && !was_visited(search, state.pc)) {
		struct code_instruction instruction;

		if (!fetch(search, state.pc, &instruction))
			return false;
		/* Nobody pads behind a call, unless it does not return and the function ends. */
		if (after_call && instruction.is_padding)
			return false;
		state.pc += instruction.nr_bytes;
		apply(&state, &instruction);
		if (instruction.effect == CODE_EFFECT_RETURN)
			return row_at_return(&state, 0, row);
		if (instruction.effect == CODE_EFFECT_JUMP_GOT)
			return row_at_return(&state, after_got_push ? PLT_PUSHED : 0, row);
		if (instruction.effect == CODE_EFFECT_STOP)
			return false;
		if (instruction.effect == CODE_EFFECT_BRANCH)
			keep_branch(search, &state, instruction.target);
		if (instruction.effect == CODE_EFFECT_JUMP)
			state.pc = instruction.target;
		after_call = instruction.effect == CODE_EFFECT_CALL;
		after_got_push = instruction.effect == CODE_EFFECT_PUSH_GOT;
	}
	return false;
}

struct row code_row_x86_64(const struct elf_image *image, uint64_t pc)
{
	struct search search = {.image = image};
	struct row row = {0};
	struct code_instruction before;
	uint8_t code[6];

	/* In a PLT's first entry, between its two instructions: push *x(%rip), jmp *y(%rip). */
	if (elf_image_read(image, pc - sizeof(code), code, sizeof(code)) == sizeof(code) &&
	    code[0] == 0xff && code_decode(code, sizeof(code), pc, &before) &&
	    before.effect == CODE_EFFECT_PUSH_GOT) {
		struct state state = {.offset = PLT_PUSHED};

		row_at_return(&state, 0, &row);
		return row;
	}
	keep_branch(&search, &(struct state){0}, pc);
	while (search.nr_branches) {
		struct state state = search.branches[--search.nr_branches];

		if (follow(&search, state, &row))
			return row;
	}
	return row_of_kind(ROW_NO_CFI);
}
