// SPDX-License-Identifier: GPL-2.0-or-later
/* Follows the paths through x86-64 code, to find their effect on the stack. */
#include "unwind/code_ways_x86_64.h"

#include "base/alloc.h"
#include "code/code_x86_64.h"
#include "elf/elf_image.h"
#include "unwind/visited.h"

#define BRANCHES_MAX 512
#define WINDOW_BYTES 512

/* A place in short: frames larger than an int32_t count as none. */
struct short_place {
	int32_t offset;
	uint8_t base; /* enum way_base */
};

/* The state when an instruction was reached. */
struct visit {
	uint64_t pc; /* 0: free */
	struct short_place rsp, rbp;
	uint8_t rbp_kind;
};

/* Open addressing by pc. */
struct visits {
	struct visit slots[VISITED_SLOTS];
};

struct search {
	const struct elf_image *image;
	uint64_t goal;		      /* an address to reach; 0: a return */
	uint64_t function_end;	      /* of the function where it begins; 0: not known */
	uint64_t entry;		      /* where it begins */
	uint8_t window[WINDOW_BYTES]; /* code at window_start */
	uint64_t window_start;
	size_t window_bytes;
	struct way_state branches[BRANCHES_MAX]; /* not followed yet */
	size_t nr_branches;
	struct visits visited;
	size_t nr_instructions;
	bool is_open; /* some path could not be followed */
	bool is_found;
	bool has_switched; /* on some path, other than to the goal */
	struct way_state found;
};

/* The slot of an instruction, free (pc 0) if it was not reached. */
static struct visit *visited_at(struct visits *visits, uint64_t pc)
{
	size_t i = hash_u64(pc) % VISITED_SLOTS;

	while (visits->slots[i].pc && visits->slots[i].pc != pc)
		i = (i + 1) % VISITED_SLOTS;
	return &visits->slots[i];
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

static struct way_place rbp_as_place(const struct way_state *state)
{
	if (state->rbp_kind == RBP_AS_IT_WAS)
		return (struct way_place){.base = BASE_RBP};
	if (state->rbp_kind == RBP_IS_PLACE)
		return state->rbp;
	return (struct way_place){.base = BASE_NONE};
}

static void set_rbp(struct way_state *state, enum rbp_kind kind, struct way_place place)
{
	state->rbp_kind = place.base == BASE_NONE ? RBP_LOST : kind;
	state->rbp = place;
}

static void save_rbp(struct way_state *state, struct way_place place)
{
	if (state->rbp_kind == RBP_AS_IT_WAS)
		state->saved_rbp = place;
}

/* The caller-saved registers (psABI 3.2.1). */
#define CALL_CLOBBERS 0x0fc7

static void forget_copy(struct way_state *state, const struct code_instruction *instruction)
{
	uint16_t written =
		instruction->effect == CODE_EFFECT_CALL ? CALL_CLOBBERS : instruction->written;

	if (state->has_copy && written >> state->copy_reg & 1)
		state->has_copy = false;
	state->restored = (uint16_t)((state->restored & ~written) | instruction->restored);
}

/* rsp has not changed since it was copied; else a move may be from any stack, arithmetic is not. */
static void take_copy(struct way_state *state, const struct code_instruction *instruction)
{
	if (state->has_copy && state->copy_reg == instruction->reg) {
		state->rsp = way_place_moved(state->copy, instruction->value);
	} else {
		state->rsp.base = BASE_NONE;
		state->is_switched |=
			instruction->is_load && !(state->restored >> instruction->reg & 1);
	}
}

static void apply(struct way_state *state, const struct code_instruction *instruction)
{
	forget_copy(state, instruction);
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
		save_rbp(state, way_place_moved(state->rsp, instruction->value));
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
		state->rsp = way_place_moved(rbp_as_place(state), instruction->value);
		state->is_switched &= state->rsp.base == BASE_NONE;
		return;
	case CODE_EFFECT_LEAVE:
		state->rsp = rbp_as_place(state);
		state->is_switched &= state->rsp.base == BASE_NONE;
		set_rbp(state, RBP_FROM_MEMORY, state->rsp);
		state->rsp.offset += 8;
		return;
	case CODE_EFFECT_LOAD_RBP:
		set_rbp(state, RBP_FROM_MEMORY, way_place_moved(state->rsp, instruction->value));
		return;
	case CODE_EFFECT_RBP_FROM_RSP:
		set_rbp(state, RBP_IS_PLACE, way_place_moved(state->rsp, instruction->value));
		return;
	case CODE_EFFECT_COPY_RSP:
		state->copy = way_place_moved(state->rsp, instruction->value);
		state->copy_reg = instruction->reg;
		state->has_copy = true;
		return;
	case CODE_EFFECT_RSP_FROM_REG:
		take_copy(state, instruction);
		return;
	case CODE_EFFECT_LOAD_RSP:
		state->is_switched = true;
		state->rsp.base = BASE_NONE;
		return;
	case CODE_EFFECT_MOVE_RSP:
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

static void keep_branch(struct search *search, const struct way_state *state, uint64_t target)
{
	if (search->nr_branches == BRANCHES_MAX) {
		search->is_open = true;
		return;
	}
	search->branches[search->nr_branches] = *state;
	search->branches[search->nr_branches++].pc = target;
}

/* Does the path to a return end here? */
static bool is_return(struct search *search, const struct way_state *state,
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

static bool is_same_place(struct way_place a, struct way_place b)
{
	return a.base == b.base && (a.base == BASE_NONE || a.offset == b.offset);
}

static struct short_place in_short(struct way_place place)
{
	return (struct short_place){.offset = (int32_t)place.offset, .base = (uint8_t)place.base};
}

static bool is_same_short(struct short_place a, struct way_place b)
{
	return a.base == (uint8_t)b.base && (b.base == BASE_NONE || a.offset == (int32_t)b.offset);
}

/*
 * An address reached again, with the same stack or another one (a loop that pushes): differing
 * members become unknown from there on. False if nothing differs, or if that was followed already.
 */
static bool differs(struct visit *visit, struct way_state *state)
{
	bool same_rsp = is_same_short(visit->rsp, state->rsp);
	bool same_rbp = visit->rbp_kind == state->rbp_kind &&
			(state->rbp_kind == RBP_AS_IT_WAS || state->rbp_kind == RBP_LOST ||
			 is_same_short(visit->rbp, state->rbp));

	if (same_rsp && same_rbp)
		return false;
	if (!same_rsp) {
		if (visit->rsp.base == BASE_NONE)
			return false;
		state->rsp.base = BASE_NONE;
	}
	if (!same_rbp) {
		if (visit->rbp_kind == RBP_LOST)
			return false;
		state->rbp_kind = RBP_LOST;
	}
	visit->rsp = in_short(state->rsp);
	visit->rbp_kind = (uint8_t)state->rbp_kind;
	visit->rbp = in_short(state->rbp);
	return true;
}

/* Is this instruction to be followed, for the first time or with less known than before? */
static bool is_new(struct search *search, struct way_state *state)
{
	struct visit *visit = visited_at(&search->visited, state->pc);

	if (!visit->pc) {
		*visit = (struct visit){.pc = state->pc,
					.rsp = in_short(state->rsp),
					.rbp = in_short(state->rbp),
					.rbp_kind = (uint8_t)state->rbp_kind};
		return true;
	}
	/*
	 * For a return one path is enough. And at a function's entry nothing is pushed: code that
	 * jumps there with pushed words was decoded past a call that never returns.
	 */
	return search->goal && state->pc != search->entry && differs(visit, state);
}

/* At the goal: keep the members that all paths agree on. */
static void take_goal(struct search *search, const struct way_state *state)
{
	struct way_state *found = &search->found;

	if (!search->is_found) {
		search->is_found = true;
		*found = *state;
		return;
	}
	if (!is_same_place(found->rsp, state->rsp))
		found->rsp.base = BASE_NONE;
	if (found->rbp_kind != state->rbp_kind || !is_same_place(found->rbp, state->rbp))
		found->rbp_kind = RBP_LOST;
	if (!is_same_place(found->saved_rbp, state->saved_rbp))
		found->saved_rbp.base = BASE_NONE;
	found->is_switched |= state->is_switched;
}

/* A call at the end of a function does not return: the next function follows it. */
static bool is_dead_end(const struct search *search, const struct way_state *state, bool after_call)
{
	return after_call && search->function_end && state->pc == search->function_end;
}

/* Follow one path, to a return or until it reaches the goal. */
static void follow(struct search *search, struct way_state state, bool after_call)
{
	bool after_got_push = false;

	while (search->nr_instructions++ < INSTRUCTIONS_MAX) {
		struct code_instruction instruction = {0};
		enum code_effect effect;

		if (search->goal && state.pc == search->goal) {
			take_goal(search, &state);
			return;
		}
		if (is_dead_end(search, &state, after_call) || !is_new(search, &state))
			return;
		search->is_open |= !fetch(search, state.pc, &instruction);
		/* Padding follows a call only if the call does not return and ends the function. */
		search->is_open |= after_call && instruction.is_padding;
		if (search->is_open)
			return;
		effect = instruction.effect;
		state.pc += instruction.nr_bytes;
		apply(&state, &instruction);
		search->has_switched |= state.is_switched;
		if (is_return(search, &state, &instruction, after_got_push)) {
			search->is_found = true;
			return;
		}
		if (effect == CODE_EFFECT_STOP || effect == CODE_EFFECT_RETURN ||
		    effect == CODE_EFFECT_JUMP_GOT || effect == CODE_EFFECT_HALT) {
			search->is_open |= effect == CODE_EFFECT_STOP;
			return;
		}
		if (effect == CODE_EFFECT_BRANCH)
			keep_branch(search, &state, instruction.target);
		if (effect == CODE_EFFECT_JUMP)
			state.pc = instruction.target;
		after_call = effect == CODE_EFFECT_CALL;
		after_got_push = effect == CODE_EFFECT_PUSH_GOT;
	}
	search->is_open = true;
}

enum way_end code_search_ways(const struct elf_image *image, const struct way *way,
			      struct way_state *found)
{
	const struct way_state start = {.pc = way->pc, .saved_rbp.base = BASE_NONE};
	cleanup_free struct search *search =
		xcalloc(1, sizeof(*search)); /* too large for a stack */
	bool is_open = false;
	bool is_found;

	search->image = image;
	search->goal = way->goal;
	search->function_end = way->function_end;
	search->entry = way->pc;
	follow(search, start, way->after_call);
	while ((!search->is_found || way->goal) && search->nr_branches) {
		is_open |= search->is_open;
		search->is_open = false;
		follow(search, search->branches[--search->nr_branches], false);
	}
	*found = search->found;
	is_found = search->is_found;
	if (!is_found)
		found->is_switched = search->has_switched;
	if (is_found)
		return WAY_FOUND;
	return is_open || search->is_open ? WAY_OPEN : WAY_CLOSED;
}
