// SPDX-License-Identifier: GPL-2.0-or-later
/* Which first instructions of functions can stay in front of a probe. */
#include "patch/first_x86_64.h"

#if defined(__x86_64__)

#include <string.h>

#include "code/code_x86_64.h"

/* As instructions number them. */
enum { RAX = 0, R10 = 10, R11 = 11 };

struct instruction {
	struct code_instruction code;
	const uint8_t *bytes;
	uint8_t rex;		/* its four bits */
	uint8_t opcode, second; /* and the byte after it, of ModRM or of the opcode */
};

static bool decode(struct instruction *instruction, const uint8_t *bytes, size_t nr_bytes)
{
	uint8_t opcode_at;

	if (!code_decode(bytes, nr_bytes, 0, &instruction->code))
		return false;
	opcode_at = instruction->code.opcode_at;
	instruction->bytes = bytes;
	instruction->opcode = bytes[opcode_at];
	instruction->second =
		instruction->code.nr_bytes > opcode_at + 1u ? bytes[opcode_at + 1] : 0;
	instruction->rex =
		opcode_at && (bytes[opcode_at - 1] & 0xf0) == 0x40 ? bytes[opcode_at - 1] & 0xf : 0;
	return true;
}

/* The reg field of ModRM, which names an operation in some opcodes. */
static uint8_t operation(const struct instruction *instruction)
{
	return instruction->second >> 3 & 7;
}

/* Operands of both bytes or registers only. */
static bool is_of_registers(const struct instruction *instruction)
{
	return instruction->second >> 6 == 3;
}

/* Are both operands, which are registers, the same one? */
static bool is_of_one_register(const struct instruction *instruction)
{
	uint8_t reg = (uint8_t)(operation(instruction) | (instruction->rex & 4) << 1);
	uint8_t rm = (uint8_t)((instruction->second & 7) | (instruction->rex & 1) << 3);

	return is_of_registers(instruction) && reg == rm;
}

/* Operands of another size, locks and repetitions: few functions begin with such. */
static bool has_other_prefix(const struct instruction *instruction)
{
	static const uint8_t others[] = {0x66, 0x67, 0xf0, 0xf2, 0xf3};

	for (size_t i = 0; i < sizeof(others); i++) {
		if (memchr(instruction->bytes, others[i], instruction->code.opcode_at))
			return true;
	}
	return false;
}

static bool is_test(const struct instruction *instruction)
{
	switch (instruction->opcode) {
	case 0x84:
	case 0x85:
	case 0xa8:
	case 0xa9:
		return true;
	case 0xf6:
	case 0xf7:
		return operation(instruction) < 2;
	default:
		return false;
	}
}

static bool is_compare(const struct instruction *instruction)
{
	if (instruction->opcode == 0x80 || instruction->opcode == 0x81 ||
	    instruction->opcode == 0x83)
		return operation(instruction) == 7;
	return instruction->opcode >= 0x38 && instruction->opcode <= 0x3d;
}

/* Moves, of any kind, to a register or memory: they leave flags alone. */
static bool is_move(const struct instruction *instruction)
{
	switch (instruction->opcode) {
	case 0x63: /* movslq */
	case 0x89:
	case 0x8b:
	case 0x8d: /* lea */
		return true;
	case 0xc7:
		return operation(instruction) == 0;
	case 0x0f: /* movzx, movsx */
		return (instruction->second & 0xf6) == 0xb6;
	default:
		return instruction->opcode >= 0xb8 && instruction->opcode <= 0xbf;
	}
}

static bool is_push(const struct instruction *instruction)
{
	return (instruction->opcode & 0xf8) == 0x50 || instruction->opcode == 0x68 ||
	       instruction->opcode == 0x6a;
}

/* sub $imm,%rsp and the like */
static bool lowers_stack(const struct instruction *instruction)
{
	return instruction->code.effect == CODE_EFFECT_ADD_RSP && instruction->rex & 8 &&
	       instruction->code.value < 0 && instruction->code.value > INT32_MIN;
}

/* Is it a move to a register other than the stack pointer? */
static bool sets_register(const struct instruction *instruction)
{
	switch (instruction->code.effect) {
	case CODE_EFFECT_NONE:
	case CODE_EFFECT_LOSE_RBP:
	case CODE_EFFECT_LOAD_RBP:
	case CODE_EFFECT_RBP_FROM_RSP:
	case CODE_EFFECT_COPY_RSP:
		break;
	default:
		return false;
	}
	return is_move(instruction) &&
	       (is_of_registers(instruction) ||
		(instruction->opcode != 0x89 && instruction->opcode != 0xc7));
}

static bool is_zeroing(const struct instruction *instruction)
{
	return (instruction->opcode == 0x31 || instruction->opcode == 0x33) &&
	       is_of_one_register(instruction) && instruction->code.effect != CODE_EFFECT_MOVE_RSP;
}

/* A register that is no argument of a function, nor kept by it. */
static bool sets_scratch(const struct instruction *instruction)
{
	uint16_t written = instruction->code.written;

	return written == 1 << RAX || written == 1 << R10 || written == 1 << R11;
}

/* Does no register that it reads change by it, as far as that can be seen at once? */
static bool can_set_again(const struct instruction *instruction)
{
	if ((instruction->opcode & 0xf8) == 0xb8 || instruction->opcode == 0xc7 ||
	    instruction->code.disp_at)
		return true;
	return (instruction->opcode == 0x89 || instruction->opcode == 0x8b) &&
	       is_of_registers(instruction) && !is_of_one_register(instruction);
}

bool first_instruction_stays(const uint8_t *bytes, size_t nr_bytes, struct first_instruction *first)
{
	struct instruction one;

	*first = (struct first_instruction){.nr_bytes = 0};
	if (!decode(&one, bytes, nr_bytes))
		return false;
	first->nr_bytes = one.code.nr_bytes;
	if (one.code.is_padding) {
		first->can_repeat = true;
		return true;
	}
	if (has_other_prefix(&one))
		return false;
	if (is_push(&one) || lowers_stack(&one)) {
		first->lowers_by = is_push(&one) ? sizeof(uint64_t) : (uint32_t)-one.code.value;
		first->is_repeated = first->can_repeat = true;
		return true;
	}
	if (is_compare(&one) || is_test(&one)) {
		first->is_repeated = first->can_repeat = true;
		return true;
	}
	if (is_zeroing(&one)) {
		first->is_repeated = true;
		first->can_repeat = sets_scratch(&one);
		return true;
	}
	first->can_repeat = sets_scratch(&one) && can_set_again(&one);
	return sets_register(&one);
}

#endif
