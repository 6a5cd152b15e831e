// SPDX-License-Identifier: GPL-2.0-or-later
#include "patch/gate_priv.h"

#if defined(__x86_64__)

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "code/code_x86_64.h"
#include "patch/patch.h"

#define JUMP_BYTES	5
#define TABLE_ROWS_MAX	4096
#define INT3		0xcc
#define PREFIX_NOTRACK	0x3e
#define OPCODE_LEA	0x8d
#define OPCODE_INDIRECT 0xff

struct instruction {
	uint64_t address;
	struct code_instruction code;
	const uint8_t *bytes;
};

/* All instructions of a part. */
struct listing {
	struct instruction *at; /* owned */
	size_t nr, cap;
	const struct gate_code *code;
};

struct finder {
	const struct gate_search *search;
	struct listing *listings; /* owned, one for each part */
	uint64_t *targets; /* owned: targets of jumps within the gate, sorted once all are known */
	size_t nr_targets, cap_targets;
	size_t nr_of_tables; /* of the targets */
	struct gate_exits *exits;
};

static uint8_t opcode(const struct instruction *instruction)
{
	return instruction->bytes[instruction->code.opcode_at];
}

static bool is_indirect_jump(const struct instruction *instruction)
{
	return instruction->code.effect == CODE_EFFECT_STOP &&
	       opcode(instruction) == OPCODE_INDIRECT &&
	       (instruction->bytes[instruction->code.opcode_at + 1] >> 3 & 7) == 4;
}

/* `jmp *table(,%reg,8)`: the address of the table. */
static bool has_fixed_table(const struct instruction *instruction, uint64_t *table)
{
	const uint8_t *modrm = instruction->bytes + instruction->code.opcode_at + 1;
	int32_t address;

	if (modrm[0] != 0x24 || (modrm[1] & 0xc7) != 0xc5)
		return false;
	memcpy(&address, modrm + 2, sizeof(address));
	*table = (uint64_t)(int64_t)address;
	return true;
}

/*
 * Does a jump go through a table, within the function, and not to the loaded address of a function?
 * Compilers add the table's address right before to the number read from it, or mark the jump as
 * one that need not be tracked (notrack).
 */
static bool is_through_table(const struct listing *listing, size_t index)
{
	const struct instruction *jump = &listing->at[index];
	const uint8_t *modrm = jump->bytes + jump->code.opcode_at + 1;
	uint64_t table;

	if (has_fixed_table(jump, &table) ||
	    memchr(jump->bytes, PREFIX_NOTRACK, jump->code.opcode_at))
		return true;
	/* add %reg,%other in either form, of the register that the jump goes through */
	if (modrm[0] >> 6 != 3 || index == 0)
		return false;
	for (size_t i = index; i > 0 && index - i < 3; i--) {
		const struct instruction *before = &listing->at[i - 1];
		const uint8_t *operands = before->bytes + before->code.opcode_at + 1;

		if (operands[0] >> 6 == 3 &&
		    ((opcode(before) == 0x01 && (operands[0] & 7) == (modrm[0] & 7)) ||
		     (opcode(before) == 0x03 && (operands[0] >> 3 & 7) == (modrm[0] & 7))))
			return true;
	}
	return false;
}

static void add_target(struct finder *finder, uint64_t target)
{
	ARRAY_GROW(finder->targets, finder->nr_targets, finder->cap_targets);
	finder->targets[finder->nr_targets++] = target;
}

/*
 * Reads addresses in the gate, up to the first one that is elsewhere. If it is no table, this ends
 * at once, or makes a target of an instruction that is none, which does no harm.
 */
static void read_table(struct finder *finder, uint64_t table, bool is_relative)
{
	for (size_t i = 0; i < TABLE_ROWS_MAX; i++) {
		uint64_t target = 0;
		int32_t distance;

		if (is_relative) {
			if (finder->search->read(finder->search->context,
						 table + i * sizeof(distance), &distance,
						 sizeof(distance)) != sizeof(distance))
				return;
			target = table + (uint64_t)(int64_t)distance;
		} else if (finder->search->read(finder->search->context, table + i * sizeof(target),
						&target, sizeof(target)) != sizeof(target)) {
			return;
		}
		if (!gate_has(finder->search, target))
			return;
		add_target(finder, target);
		finder->nr_of_tables++;
	}
}

static void add_targets(struct finder *finder, const struct listing *listing)
{
	for (size_t i = 0; i < listing->nr; i++) {
		const struct instruction *instruction = &listing->at[i];
		enum code_effect effect = instruction->code.effect;
		uint64_t table;

		if (effect == CODE_EFFECT_JUMP || effect == CODE_EFFECT_BRANCH)
			add_target(finder, instruction->code.target);
		if (instruction->code.disp_at && opcode(instruction) == OPCODE_LEA)
			read_table(finder, instruction->code.operand, true);
		if (is_indirect_jump(instruction) && has_fixed_table(instruction, &table))
			read_table(finder, table, false);
	}
}

static bool list_instructions(struct listing *listing, const struct gate_code *code)
{
	size_t nr_bytes = (size_t)(code->end - code->start);

	listing->code = code;
	if (nr_bytes > code->nr_bytes)
		return false;
	for (size_t at = 0; at < nr_bytes;) {
		struct instruction *next;

		ARRAY_GROW(listing->at, listing->nr, listing->cap);
		next = &listing->at[listing->nr++];
		next->address = code->start + at;
		next->bytes = code->bytes + at;
		if (!code_decode(next->bytes, code->nr_bytes - at, next->address, &next->code)) {
			listing->nr--;
			return false;
		}
		at += next->code.nr_bytes;
	}
	return true;
}

static int compare_addresses(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

static bool is_target(const struct finder *finder, uint64_t address)
{
	return finder->nr_targets && bsearch(&address, finder->targets, finder->nr_targets,
					     sizeof(address), compare_addresses);
}

/* Is there a target among the bytes [from, to)? */
static bool has_target(const struct finder *finder, uint64_t from, uint64_t to)
{
	for (uint64_t at = from; at < to; at++) {
		if (is_target(finder, at))
			return true;
	}
	return false;
}

static bool is_exit(const struct finder *finder, const struct listing *listing, size_t index)
{
	const struct instruction *instruction = &listing->at[index];
	enum code_effect effect = instruction->code.effect;
	enum code_flow flow = code_flow(effect);

	if (flow == CODE_FLOW_ON || flow == CODE_FLOW_CALLS || effect == CODE_EFFECT_HALT)
		return false;
	if (flow == CODE_FLOW_MAY_BRANCH || effect == CODE_EFFECT_JUMP)
		return !gate_has(finder->search, instruction->code.target);
	return effect != CODE_EFFECT_STOP ||
	       (is_indirect_jump(instruction) && !is_through_table(listing, index));
}

/*
 * Can it be moved, together with its successor? A system call may be restarted from the byte after
 * it.
 */
static bool is_movable(const struct finder *finder, const struct listing *listing, size_t index)
{
	const struct instruction *instruction = &listing->at[index];
	enum code_flow flow = code_flow(instruction->code.effect);

	if (flow == CODE_FLOW_CALLS || flow == CODE_FLOW_LEAVES)
		return false;
	if (opcode(instruction) == 0x0f &&
	    instruction->bytes[instruction->code.opcode_at + 1] == 0x05)
		return false;
	return flow == CODE_FLOW_ON || !is_exit(finder, listing, index);
}

/* The bytes of padding after the way out, up to nr_wanted or a bit more; 0: too few. */
static size_t padding_behind(const struct finder *finder, const struct gate_code *code, uint64_t at,
			     size_t nr_wanted)
{
	size_t nr = 0;

	while (nr < nr_wanted) {
		size_t offset = (size_t)(at + nr - code->start);
		struct code_instruction padding;

		if (offset >= code->nr_bytes || at + nr >= code->next_start ||
		    !code_decode(code->bytes + offset, code->nr_bytes - offset, at + nr, &padding))
			return 0;
		if (!padding.is_padding && code->bytes[offset + padding.opcode_at] != INT3 &&
		    !(padding.nr_bytes <= 2 && code->bytes[offset + padding.opcode_at] == 0x90))
			return 0;
		nr += padding.nr_bytes;
	}
	return has_target(finder, at, at + nr) || at + nr > code->next_start ? 0 : nr;
}

/* The window of a way out, from its own first byte or an earlier one on. */
static bool find_window(const struct finder *finder, const struct listing *listing, size_t index,
			uint64_t not_before, struct gate_exit *window)
{
	const struct instruction *out = &listing->at[index];
	uint64_t end = out->address + out->code.nr_bytes;
	size_t first = index, nr_bytes = out->code.nr_bytes, padding = 0;

	while (nr_bytes < JUMP_BYTES && out->code.effect != CODE_EFFECT_BRANCH && first > 0 &&
	       !is_target(finder, listing->at[first].address) &&
	       listing->at[first - 1].address >= not_before &&
	       is_movable(finder, listing, first - 1)) {
		first--;
		nr_bytes = (size_t)(end - listing->at[first].address);
	}
	if (nr_bytes < JUMP_BYTES && out->code.effect != CODE_EFFECT_BRANCH)
		padding = padding_behind(finder, listing->code, end, JUMP_BYTES - nr_bytes);
	*window = (struct gate_exit){
		.address = listing->at[first].address,
		.nr_bytes = (uint8_t)(nr_bytes + padding),
		.exit_at = (uint8_t)(out->address - listing->at[first].address),
	};
	return nr_bytes + padding >= JUMP_BYTES && nr_bytes + padding <= PATCH_MAX_BYTES;
}

/* Does it continue into the code after it? A call at its end does not return. */
static bool runs_on(const struct listing *listing)
{
	size_t nr = listing->nr;
	enum code_flow flow;

	while (nr && (listing->at[nr - 1].code.is_padding || opcode(&listing->at[nr - 1]) == 0x90))
		nr--;
	if (!nr)
		return true;
	flow = code_flow(listing->at[nr - 1].code.effect);
	return flow == CODE_FLOW_ON || flow == CODE_FLOW_MAY_BRANCH;
}

static const char *find_exits_of(struct finder *finder, const struct listing *listing)
{
	uint64_t not_before = listing->code->start;

	if (!listing->nr)
		return "its size is not known";
	if (runs_on(listing))
		return "it continues into the code after it";
	for (size_t i = 0; i < listing->nr; i++) {
		struct gate_exits *exits = finder->exits;
		struct gate_exit window;

		if (is_indirect_jump(&listing->at[i]) && is_through_table(listing, i) &&
		    !finder->nr_of_tables)
			return "a jump in it goes through a table that profc does not find";
		if (!is_exit(finder, listing, i))
			continue;
		if (listing->at[i].code.target &&
		    !gate_is_function(finder->search, listing->at[i].code.target))
			return "it jumps to code that is not a known function";
		if (!find_window(finder, listing, i, not_before, &window))
			return "a way out of it is shorter than a jump";
		if (window.address == listing->code->start && listing->code->is_entered)
			return "it is too short for a probe on either side";
		ARRAY_GROW(exits->at, exits->nr, exits->cap);
		exits->at[exits->nr++] = window;
		not_before = window.address + window.nr_bytes;
	}
	return NULL;
}

const char *gate_exits_find(const struct gate_search *search, struct gate_exits *exits)
{
	size_t nr = search->nr;
	struct finder finder = {.search = search,
				.listings = xcalloc(nr + 1, sizeof(*finder.listings)),
				.exits = exits};
	const char *why = NULL;

	for (size_t i = 0; i < nr && !why; i++) {
		if (!list_instructions(&finder.listings[i], &search->code[i]))
			why = "it has an instruction that profc does not know";
	}
	for (size_t i = 0; i < nr; i++)
		add_targets(&finder, &finder.listings[i]);
	if (finder.nr_targets)
		qsort(finder.targets, finder.nr_targets, sizeof(*finder.targets),
		      compare_addresses);
	for (size_t i = 0; i < nr && !why; i++)
		why = find_exits_of(&finder, &finder.listings[i]);
	for (size_t i = 0; i < nr; i++)
		free(finder.listings[i].at);
	free(finder.listings);
	free(finder.targets);
	return why;
}

#endif
