// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Compilers and linkers choose among ways to the address of a thread-local variable, and put other
 * instructions in between; so the few that compute it are followed with what is in the registers.
 *
 *	tpidr_el0 + constants			in a program, from add, or movz and movk
 *	tpidr_el0 + a word near the code	in a program that finds it by a word
 *	tpidr_el0 + the result of a call	in a library, by a descriptor: a function and its
 *						argument, to be called with its address in x0
 */
#include "script/cpython_variable.h"

#include <string.h>

#include "code/code_aarch64.h"

#define NR_REGS 31 /* the stack pointer is never known */
#define BTI_C	UINT32_C(0xd503245f)
#define RET	UINT32_C(0xd65f03c0)
#define GET_ARG UINT32_C(0xf9400400) /* ldr x0, [x0, #8] */
/* The argument of a resolved descriptor is below this; before, it is an address of the linker's. */
#define MODULES_MAX 65536
#define OFFSET_MAX  (UINT64_C(1) << 24)

struct value {
	enum { UNKNOWN, NUMBER, THREAD } kind; /* THREAD: tpidr_el0, and the number added */
	uint64_t number;
};

struct follower {
	struct value regs[NR_REGS + 1];
	cpython_reader *read;
	void *context;
	struct cpython_variable *variable;
};

enum step { GOES_ON, FOUND, FAILED };

static bool matches(uint32_t word, uint32_t mask, uint32_t value)
{
	return (word & mask) == value;
}

static void set(struct follower *follower, uint8_t reg, struct value value)
{
	if (reg < NR_REGS)
		follower->regs[reg] = value;
}

static struct value number(uint64_t value)
{
	return (struct value){NUMBER, value};
}

static struct value read_word(const struct follower *follower, uint64_t address)
{
	uint64_t word;

	return follower->read(follower->context, address, &word, sizeof(word))
		       ? number(word)
		       : (struct value){.kind = UNKNOWN};
}

static enum step found(struct follower *follower, uint64_t module, uint64_t offset)
{
	*follower->variable = (struct cpython_variable){.module = module, .offset = offset};
	return FOUND;
}

/*
 * The variable of a module that was there when the program began is at the same offset in all
 * threads: then the function, of the linker, only returns it. Otherwise its argument leads to the
 * module and the offset.
 */
static enum step call_descriptor(struct follower *follower)
{
	const struct value at = follower->regs[0];
	uint64_t descriptor[2], of_module[2];
	uint32_t code[3];
	size_t skipped;

	if (at.kind != NUMBER ||
	    !follower->read(follower->context, at.number, descriptor, sizeof(descriptor)) ||
	    !follower->read(follower->context, descriptor[0], code, sizeof(code)))
		return FAILED;
	skipped = code[0] == BTI_C;
	if (code[skipped] == GET_ARG && code[skipped + 1] == RET) {
		follower->regs[0] = number(descriptor[1]);
		return GOES_ON;
	}
	if (!follower->read(follower->context, descriptor[1], of_module, sizeof(of_module)) ||
	    !of_module[0] || of_module[0] > MODULES_MAX || of_module[1] > OFFSET_MAX)
		return FAILED;
	return found(follower, of_module[0], of_module[1]);
}

static enum step load(struct follower *follower, const struct a64_instruction *code)
{
	const struct value base = follower->regs[code->base];

	if (base.kind == THREAD)
		return found(follower, 0, base.number + (uint64_t)code->offset);
	set(follower, code->reg[0],
	    base.kind == NUMBER ? read_word(follower, base.number + (uint64_t)code->offset)
				: (struct value){.kind = UNKNOWN});
	return GOES_ON;
}

/* ldr of the sum of two registers. */
static enum step load_sum(struct follower *follower, uint32_t word)
{
	const struct value base = follower->regs[word >> 5 & 31];
	const struct value index = follower->regs[word >> 16 & 31];

	if ((base.kind == THREAD && index.kind == NUMBER) ||
	    (base.kind == NUMBER && index.kind == THREAD))
		return found(follower, 0, base.number + index.number);
	set(follower, word & 31, (struct value){.kind = UNKNOWN});
	return GOES_ON;
}

/* movz, and movk, which changes a part. */
static void move(struct follower *follower, uint32_t word)
{
	unsigned int shift = (word >> 21 & 3) * 16;
	uint64_t part = (uint64_t)(word >> 5 & 0xffff) << shift;
	struct value *to = &follower->regs[word & 31];

	if (matches(word, 0xff800000, 0xd2800000))
		set(follower, word & 31, number(part));
	else if (to->kind == NUMBER)
		to->number = (to->number & ~(UINT64_C(0xffff) << shift)) | part;
}

static enum step follow_others(struct follower *follower, const struct a64_instruction *code)
{
	struct value sum = {.kind = UNKNOWN};

	switch (code->effect) {
	case A64_EFFECT_ADD:
		sum = follower->regs[code->base];
		sum.number += (uint64_t)code->offset;
		break;
	case A64_EFFECT_NONE:
		if (code->is_load && code->is_access && code->is_word && !code->moves_base &&
		    code->reg[1] == A64_NO_REG)
			return load(follower, code);
		break;
	case A64_EFFECT_SET:
	case A64_EFFECT_BRANCH: /* to where the variable is 0 */
		break;
	case A64_EFFECT_CALL:
		return code->target ? FAILED : call_descriptor(follower);
	default:
		return FAILED;
	}
	if (code->effect != A64_EFFECT_NONE || code->is_load) {
		set(follower, code->reg[0], sum);
		set(follower, code->reg[1], (struct value){.kind = UNKNOWN});
	}
	return GOES_ON;
}

static enum step follow(struct follower *follower, uint32_t word, uint64_t address)
{
	struct a64_instruction code;
	uint64_t page;

	if (matches(word, 0xffffffe0, 0xd53bd040)) { /* mrs reg, tpidr_el0 */
		set(follower, word & 31, (struct value){.kind = THREAD});
		return GOES_ON;
	}
	if (a64_page(word, address, &page)) {
		set(follower, word & 31, number(page));
		return GOES_ON;
	}
	if (matches(word, 0xff800000, 0xd2800000) || matches(word, 0xff800000, 0xf2800000)) {
		move(follower, word);
		return GOES_ON;
	}
	if (matches(word, 0xffe0fc00, 0xf8606800))
		return load_sum(follower, word);
	a64_decode(word, address, &code);
	return follow_others(follower, &code);
}

bool cpython_find_variable_aarch64(const uint8_t *code, size_t nr_bytes, uint64_t address,
				   cpython_reader *read, void *context,
				   struct cpython_variable *variable)
{
	struct follower follower = {.read = read, .context = context, .variable = variable};
	enum step step = GOES_ON;
	uint32_t word;

	for (size_t at = 0; at + sizeof(word) <= nr_bytes && step == GOES_ON; at += sizeof(word)) {
		memcpy(&word, code + at, sizeof(word));
		step = follow(&follower, word, address + at);
	}
	return step == FOUND;
}
