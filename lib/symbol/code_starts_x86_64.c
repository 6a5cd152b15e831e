// SPDX-License-Identifier: GPL-2.0-or-later
/* Where functions begin and end in the code of x86-64, by the flow of control. */
#include <string.h>

#include "code/code_x86_64.h"
#include "symbol/code_sections.h"
#include "symbol/code_starts.h"

#define INT3 0xcc
#define NOP  0x90

/* Compilers and assemblers align functions to that. */
#define ALIGNMENT 16

static bool has(const struct code_section *section, uint64_t at, const char *bytes, size_t nr)
{
	uint64_t offset = at - section->address;

	return offset < section->nr_bytes && section->nr_bytes - offset >= nr &&
	       memcmp(section->bytes + offset, bytes, nr) == 0;
}

static bool decode(const struct code_section *section, uint64_t at,
		   struct code_instruction *instruction)
{
	size_t offset = (size_t)(at - section->address);

	return offset < section->nr_bytes &&
	       code_decode(section->bytes + offset, section->nr_bytes - offset, at, instruction);
}

/* push %rbp, mov %rsp,%rbp */
static bool makes_frame(const struct code_section *section, uint64_t at)
{
	return has(section, at, "\x55\x48\x89\xe5", 4) || has(section, at, "\x55\x48\x8b\xec", 4);
}

/* As compilers begin a function, and after a jump or a return nothing else: or with endbr64. */
static bool is_prologue(const struct code_section *section, uint64_t at)
{
	return has(section, at, "\xf3\x0f\x1e\xfa", 4) || makes_frame(section, at);
}

bool code_may_begin_x86_64(const struct code_section *section, uint64_t address)
{
	uint64_t offset = address - section->address;
	const uint8_t *at = section->bytes + offset;

	if (!offset || address % ALIGNMENT == 0 || is_prologue(section, address))
		return true;
	/* Padding, or the end of a function: ret, hlt, jmp, ud2. */
	return (at[-1] == INT3 || at[-1] == NOP || at[-1] == 0xc3 || at[-1] == 0xf4) ||
	       (offset >= 2 && (at[-2] == 0xeb || (at[-2] == 0x0f && at[-1] == 0x0b))) ||
	       (offset >= 5 && at[-5] == 0xe9);
}

static bool is_zero_up_to_alignment(const struct code_section *section, uint64_t at)
{
	static const char zeros[ALIGNMENT];
	size_t nr = (size_t)(ALIGNMENT - at % ALIGNMENT) % ALIGNMENT;

	return nr && has(section, at, zeros, nr);
}

static uint64_t skip_padding(const struct code_section *section, uint64_t at)
{
	struct code_instruction nop;

	while (decode(section, at, &nop)) {
		uint8_t opcode = section->bytes[at - section->address + nop.opcode_at];

		if (is_zero_up_to_alignment(section, at))
			return at + (ALIGNMENT - at % ALIGNMENT) % ALIGNMENT;
		if (!nop.is_padding && opcode != INT3 && opcode != NOP)
			break;
		at += nop.nr_bytes;
	}
	return at;
}

/* Does another function begin behind an instruction that ends at `at`? */
static bool ends(const struct code_section *section, const struct code_instruction *last,
		 uint64_t at, uint64_t reach)
{
	uint64_t next;

	switch (code_flow(last->effect)) {
	case CODE_FLOW_ON:
	case CODE_FLOW_MAY_BRANCH:
		return false;
	case CODE_FLOW_CALLS:
		/* It may not return: abort(). Behind setjmp() is an endbr64, too. */
		next = skip_padding(section, at);
		return makes_frame(section, next) ||
		       (next != at && reach < at && is_prologue(section, next));
	case CODE_FLOW_LEAVES:
		return reach < at || is_prologue(section, skip_padding(section, at));
	}
	return false;
}

/* The highest address that control comes to within the function, as far as is known. */
static uint64_t extend(const struct code_section *section, const struct code_instruction *code,
		       uint64_t reach, uint64_t limit)
{
	if (code->effect != CODE_EFFECT_JUMP && code->effect != CODE_EFFECT_BRANCH)
		return reach;
	/* A jump to another function is a call that does not come back. */
	if (code->target <= reach || code->target >= limit || is_prologue(section, code->target))
		return reach;
	return code->target;
}

/* A function that is being followed. */
struct following {
	struct code_sections *sections;
	const struct code_section *section;
	uint64_t start, limit;
	uint64_t reach; /* the highest address in it that control is known to come to */
	uint64_t table; /* the last address that was taken; 0: none */
};

/* Switches of C have fewer cases. */
#define TABLE_ENTRIES_MAX 4096
/* All switches of a program have fewer: other code may jump by one table again and again. */
#define ENTRIES_MAX (1 << 22)

static bool read_word(const struct code_sections *sections, uint64_t at, void *word, size_t nr)
{
	const struct code_section *section = code_section_at(sections, at);
	uint64_t offset = section ? at - section->address : 0;

	if (!section || section->nr_bytes - offset < nr)
		return false;
	memcpy(word, section->bytes + offset, nr);
	return true;
}

/* The places in the function that a table names: the first other one ends it. */
static void follow_table(struct following *function, uint64_t table, bool is_relative)
{
	for (uint64_t i = 0; i < TABLE_ENTRIES_MAX && function->sections->nr_entries < ENTRIES_MAX;
	     i++) {
		uint64_t target;
		int32_t distance;

		function->sections->nr_entries++;
		if (is_relative) {
			if (!read_word(function->sections, table + 4 * i, &distance, 4))
				return;
			target = table + (uint64_t)(int64_t)distance;
		} else if (!read_word(function->sections, table + 8 * i, &target, 8)) {
			return;
		}
		if (target < function->start || target >= function->limit)
			return;
		if (target > function->reach)
			function->reach = target;
	}
}

/*
 * Compilers jump by `jmp *table(,%reg,8)`, or take the address of a table of distances and jump to
 * a register.
 */
static void follow_jump(struct following *function, uint64_t at,
			const struct code_instruction *code)
{
	const uint8_t *opcode =
		function->section->bytes + (at - function->section->address) + code->opcode_at;
	bool has_index = code->opcode_at + 7u <= code->nr_bytes && opcode[1] == 0x24 &&
			 (opcode[2] & 0xc7) == 0xc5;
	int32_t table;

	if (opcode[0] == 0x8d && code->disp_at)
		function->table = code->operand;
	if (opcode[0] != 0xff || code_flow(code->effect) != CODE_FLOW_LEAVES)
		return;
	if (has_index) {
		memcpy(&table, opcode + 3, sizeof(table));
		follow_table(function, (uint64_t)(int64_t)table, false);
	} else if (opcode[1] >= 0xe0 && opcode[1] < 0xe8 && function->table) {
		follow_table(function, function->table, true);
	}
}

static void begin(struct following *function, uint64_t start)
{
	function->start = function->reach = start;
	function->table = 0;
}

void code_divide_x86_64(struct code_sections *sections, uint64_t start, uint64_t limit,
			struct nameless_code *row)
{
	struct following function = {.sections = sections,
				     .section = code_section_at(sections, row->address),
				     .limit = limit};
	const struct code_section *section = function.section;
	uint64_t at = skip_padding(section, start);
	struct code_instruction code;

	at = at < limit && at <= row->address ? at : start;
	begin(&function, at);
	while (at < limit) {
		if (!decode(section, at, &code)) {
			/* Data, or what is not known. Code is there again sooner or later. */
			if (at < row->address)
				at = (at + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
			if (at >= row->address)
				break;
			begin(&function, at);
			continue;
		}
		function.reach = extend(section, &code, function.reach, limit);
		follow_jump(&function, at, &code);
		at += code.nr_bytes;
		if (!ends(section, &code, at, function.reach))
			continue;
		if (at > row->address)
			break;
		at = skip_padding(section, at);
		if (at > row->address)
			break; /* in padding: it belongs to the function before */
		begin(&function, at);
	}
	row->start = function.start;
	row->end = at > row->address && at < limit ? at : limit;
}
