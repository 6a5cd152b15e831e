// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A partial decoder, enough to follow the stack pointer through code: the length of every
 * instruction of 64-bit mode (Intel SDM vol. 2, appendix A), and the meaning of those that change
 * rsp, rbp or the flow of control.
 */
#include "code/code_x86_64.h"

#include <string.h>

enum { RSP = 4, RBP = 5 }; /* as instructions number them */

struct decoder {
	const uint8_t *bytes;
	size_t nr_bytes, at;
	uint64_t address;
	bool failed;
	bool has_operand_size; /* 66: 16-bit operands */
	bool has_address_size;
	uint8_t rex;
	/* of ModRM */
	uint8_t mod, reg, rm;
	bool is_rip_relative, is_rsp_relative; /* the memory operand, and nothing else in it */
	bool is_rbp_relative;
	bool is_base_only; /* rm is the base, and there is no index */
	int64_t displacement;
	uint8_t disp_at; /* offset of a displacement relative to rip */
};

static uint8_t next(struct decoder *decoder)
{
	if (decoder->at >= decoder->nr_bytes) {
		decoder->failed = true;
		return 0;
	}
	return decoder->bytes[decoder->at++];
}

static uint8_t peek(const struct decoder *decoder)
{
	return decoder->at < decoder->nr_bytes ? decoder->bytes[decoder->at] : 0;
}

/* A little-endian number of 1, 2, 4 or 8 bytes, sign extended. */
static int64_t immediate(struct decoder *decoder, unsigned int nr_bytes)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < nr_bytes; i++)
		value |= (uint64_t)next(decoder) << (8 * i);
	if (nr_bytes && nr_bytes < 8 && value >> (8 * nr_bytes - 1))
		value |= ~UINT64_C(0) << (8 * nr_bytes);
	return (int64_t)value;
}

static void prefixes(struct decoder *decoder)
{
	for (;; decoder->at++) {
		switch (peek(decoder)) {
		case 0x66:
			decoder->has_operand_size = true;
			break;
		case 0x67:
			decoder->has_address_size = true;
			break;
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0x64:
		case 0x65:
		case 0xf0:
		case 0xf2:
		case 0xf3:
			break;
		default: /* no more prefixes */
			if ((peek(decoder) & 0xf0) == 0x40)
				decoder->rex = next(decoder);
			return;
		}
	}
}

static void modrm(struct decoder *decoder)
{
	uint8_t byte = next(decoder);
	bool has_index = false;
	uint8_t base;

	decoder->mod = byte >> 6;
	decoder->reg = (uint8_t)((byte >> 3 & 7) | (decoder->rex & 4) << 1);
	decoder->rm = (uint8_t)((byte & 7) | (decoder->rex & 1) << 3);
	if (decoder->mod == 3)
		return;
	base = decoder->rm;
	if ((byte & 7) == RSP) {
		uint8_t sib = next(decoder);

		base = (uint8_t)((sib & 7) | (decoder->rex & 1) << 3);
		has_index = (sib >> 3 & 7) != 4 || (decoder->rex & 2);
	}
	if (decoder->mod == 0 && (byte & 7) == RBP) {
		decoder->is_rip_relative = true;
		decoder->disp_at = (uint8_t)decoder->at;
		decoder->displacement = immediate(decoder, 4);
		return;
	}
	if (decoder->mod == 0 && (base & 7) == RBP) { /* no base, but 4 bytes */
		decoder->displacement = immediate(decoder, 4);
		return;
	}
	decoder->displacement = immediate(decoder, decoder->mod == 1   ? 1
						   : decoder->mod == 2 ? 4
								       : 0);
	decoder->is_rsp_relative = base == RSP && !has_index;
	decoder->is_rbp_relative = base == RBP && !has_index;
	decoder->is_base_only = !has_index && base == decoder->rm;
}

static void set(struct code_instruction *out, enum code_effect effect)
{
	out->effect = effect;
}

/* A general register is written with an untracked value. */
static void lose(struct code_instruction *out, uint8_t reg)
{
	out->written |= (uint16_t)(1 << reg);
	if (reg == RSP)
		set(out, CODE_EFFECT_MOVE_RSP);
	else if (reg == RBP)
		set(out, CODE_EFFECT_LOSE_RBP);
}

/* A register is written with a full value: rsp may then be on any stack. */
static void load_into(struct code_instruction *out, uint8_t reg)
{
	lose(out, reg);
	if (reg == RSP)
		set(out, CODE_EFFECT_LOAD_RSP);
}

/* to = from + value; one of both is rsp. */
static void copy(struct code_instruction *out, uint8_t to, uint8_t from, int64_t value)
{
	out->value = value;
	if (to == RSP) {
		out->reg = from;
		set(out, CODE_EFFECT_RSP_FROM_REG);
	} else {
		lose(out, to);
		out->reg = to;
		set(out, CODE_EFFECT_COPY_RSP);
	}
}

/* As lose(), for byte operands: without a REX prefix these numbers are ah, ch, dh, bh. */
static void lose_sized(const struct decoder *decoder, struct code_instruction *out, uint8_t reg,
		       bool is_byte)
{
	if (!is_byte || decoder->rex)
		lose(out, reg);
}

static unsigned int operand_bytes(const struct decoder *decoder)
{
	return decoder->has_operand_size && !(decoder->rex & 8) ? 2 : 4;
}

static void relative(struct decoder *decoder, struct code_instruction *out, unsigned int nr_bytes,
		     enum code_effect effect)
{
	int64_t offset = immediate(decoder, nr_bytes);

	out->target = decoder->address + decoder->at + (uint64_t)offset;
	set(out, effect);
}

/* mov r, r/m */
static void load(const struct decoder *decoder, struct code_instruction *out)
{
	if (decoder->mod == 3 && decoder->reg == RSP && decoder->rm == RBP) {
		set(out, CODE_EFFECT_RSP_FROM_RBP);
	} else if (decoder->mod == 3 && decoder->reg == RBP && decoder->rm == RSP) {
		set(out, CODE_EFFECT_RBP_FROM_RSP);
	} else if (decoder->mod != 3 && decoder->reg == RBP && decoder->is_rsp_relative) {
		out->value = decoder->displacement;
		set(out, CODE_EFFECT_LOAD_RBP);
	} else if (decoder->mod == 3 && (decoder->reg == RSP || decoder->rm == RSP)) {
		copy(out, decoder->reg, decoder->rm, 0);
		out->is_load = true;
	} else if (decoder->is_rsp_relative || decoder->is_rbp_relative) {
		lose(out, decoder->reg); /* a value saved on this stack */
		out->restored = (uint16_t)(1 << decoder->reg);
	} else {
		load_into(out, decoder->reg);
	}
}

/* mov r/m, r */
static void store(const struct decoder *decoder, struct code_instruction *out)
{
	out->value = decoder->displacement;
	if (decoder->mod != 3 && decoder->is_rsp_relative && decoder->reg == RBP)
		set(out, CODE_EFFECT_STORE_RBP);
	if (decoder->mod != 3)
		return;
	if (decoder->rm == RSP && decoder->reg == RBP)
		set(out, CODE_EFFECT_RSP_FROM_RBP);
	else if (decoder->rm == RBP && decoder->reg == RSP)
		set(out, CODE_EFFECT_RBP_FROM_RSP);
	else if (decoder->rm == RSP || decoder->reg == RSP)
		copy(out, decoder->rm, decoder->reg, 0);
	else
		lose(out, decoder->rm);
	out->is_load = out->effect == CODE_EFFECT_RSP_FROM_REG;
}

static void load_address(const struct decoder *decoder, struct code_instruction *out)
{
	out->value = decoder->displacement;
	if (decoder->reg == RSP && decoder->is_rsp_relative)
		set(out, CODE_EFFECT_ADD_RSP);
	else if (decoder->reg == RSP && decoder->is_rbp_relative)
		set(out, CODE_EFFECT_RSP_FROM_RBP);
	else if (decoder->reg == RBP && decoder->is_rsp_relative)
		set(out, CODE_EFFECT_RBP_FROM_RSP);
	else if (decoder->is_rsp_relative || (decoder->reg == RSP && decoder->is_base_only))
		copy(out, decoder->reg, decoder->is_rsp_relative ? RSP : decoder->rm, out->value);
	else
		lose(out, decoder->reg);
}

/* 80, 81, 83: arithmetic with an immediate; /7 is cmp */
static void group1(const struct decoder *decoder, struct code_instruction *out, int64_t value,
		   bool is_byte)
{
	uint8_t operation = decoder->reg & 7;

	if (decoder->mod != 3 || operation == 7)
		return;
	if (!is_byte && decoder->rm == RSP && (operation == 0 || operation == 5)) {
		out->value = operation == 0 ? value : -value;
		set(out, CODE_EFFECT_ADD_RSP);
	} else {
		lose_sized(decoder, out, decoder->rm, is_byte);
	}
}

/* fe, ff */
static void group5(const struct decoder *decoder, struct code_instruction *out, bool is_byte)
{
	switch (decoder->reg & 7) {
	case 2:
	case 3:
		set(out, CODE_EFFECT_CALL);
		return;
	case 4:
		set(out, decoder->is_rip_relative ? CODE_EFFECT_JUMP_GOT : CODE_EFFECT_STOP);
		return;
	case 5:
		set(out, CODE_EFFECT_STOP);
		return;
	case 6:
		set(out, decoder->is_rip_relative ? CODE_EFFECT_PUSH_GOT : CODE_EFFECT_PUSH);
		return;
	default: /* inc, dec */
		if (decoder->mod == 3)
			lose_sized(decoder, out, decoder->rm, is_byte);
		return;
	}
}

/* Two-byte opcodes that write the register of the reg field. */
static bool writes_reg_0f(uint8_t op)
{
	return (op >= 0x40 && op <= 0x4f) || op == 0xaf || op == 0xb6 || op == 0xb7 || op == 0xb8 ||
	       (op >= 0xbc && op <= 0xbf);
}

static bool has_no_modrm_0f(uint8_t op)
{
	return op == 0x05 || op == 0x06 || op == 0x07 || op == 0x08 || op == 0x09 || op == 0x0b ||
	       op == 0x0e || (op >= 0x30 && op <= 0x37) || op == 0x77 ||
	       (op >= 0x80 && op <= 0x8f) || op == 0xa0 || op == 0xa1 || op == 0xa2 || op == 0xa8 ||
	       op == 0xa9 || op == 0xaa || (op >= 0xc8 && op <= 0xcf);
}

static bool has_byte_0f(uint8_t op)
{
	return (op >= 0x70 && op <= 0x73) || op == 0xa4 || op == 0xac || op == 0xba || op == 0xc2 ||
	       op == 0xc4 || op == 0xc5 || op == 0xc6;
}

static void decode_0f(struct decoder *decoder, struct code_instruction *out)
{
	uint8_t op = next(decoder);

	if (op == 0x38 || op == 0x3a) {
		next(decoder);
		modrm(decoder);
		if (op == 0x3a)
			next(decoder);
		return;
	}
	if (op == 0x0b) { /* ud2 */
		set(out, CODE_EFFECT_HALT);
		return;
	}
	if (op >= 0x80 && op <= 0x8f) {
		relative(decoder, out, 4, CODE_EFFECT_BRANCH);
		return;
	}
	if (op >= 0xc8 && op <= 0xcf)
		lose(out, (uint8_t)((op & 7) | (decoder->rex & 1) << 3));
	if (has_no_modrm_0f(op))
		return;
	modrm(decoder);
	if (has_byte_0f(op))
		next(decoder);
	out->is_padding = op == 0x1f;
	if (writes_reg_0f(op))
		lose(out, decoder->reg);
	if ((op == 0xc1 || op == 0xb1) && decoder->mod == 3) /* xadd, cmpxchg */
		lose(out, decoder->rm);
}

/* VEX: c5 with one byte after it, c4 with two; the map decides about the immediate. */
static void decode_vex(struct decoder *decoder, uint8_t op)
{
	uint8_t map = 1;
	uint8_t first = next(decoder);
	uint8_t opcode;

	if (op == 0xc4) {
		map = first & 0x1f;
		next(decoder);
	}
	opcode = next(decoder);
	if (map == 1 && opcode == 0x77) /* vzeroupper */
		return;
	modrm(decoder);
	if (map == 3 || (map == 1 && has_byte_0f(opcode)))
		next(decoder);
}

static void decode_evex(struct decoder *decoder)
{
	uint8_t map = next(decoder) & 7;
	uint8_t opcode;

	next(decoder);
	next(decoder);
	opcode = next(decoder);
	modrm(decoder); /* the displacement is scaled, but its length is the same */
	if (map == 3 || (map == 1 && has_byte_0f(opcode)))
		next(decoder);
}

/* 00-3f: arithmetic, in eight groups of the same six forms. */
static void decode_arithmetic(struct decoder *decoder, struct code_instruction *out, uint8_t op)
{
	bool is_compare = op >= 0x38;

	switch (op & 7) {
	case 0:
	case 1:
		modrm(decoder);
		if (decoder->mod == 3 && !is_compare)
			lose_sized(decoder, out, decoder->rm, !(op & 1));
		return;
	case 2:
	case 3:
		modrm(decoder);
		if (!is_compare)
			lose_sized(decoder, out, decoder->reg, !(op & 1));
		return;
	case 4:
		next(decoder);
		return;
	case 5:
		immediate(decoder, operand_bytes(decoder));
		return;
	default: /* push and pop of segment registers: not in 64-bit mode */
		decoder->failed = true;
		return;
	}
}

static void decode_push_pop(const struct decoder *decoder, struct code_instruction *out, uint8_t op)
{
	uint8_t reg = (uint8_t)((op & 7) | (decoder->rex & 1) << 3);

	if (op < 0x58)
		set(out, reg == RBP ? CODE_EFFECT_PUSH_RBP : CODE_EFFECT_PUSH);
	else if (reg == RSP)
		set(out, CODE_EFFECT_LOAD_RSP);
	else
		set(out, reg == RBP ? CODE_EFFECT_POP_RBP : CODE_EFFECT_POP);
	if (op >= 0x58)
		out->written |= (uint16_t)(1 << reg);
}

/* XOP of AMD, 8f: as VEX with two bytes, and maps of its own. */
static void decode_xop(struct decoder *decoder)
{
	uint8_t map = next(decoder) & 0x1f;

	next(decoder);
	next(decoder);
	modrm(decoder);
	immediate(decoder, map == 8 ? 1 : map == 10 ? 4 : 0);
}

/* 80-8f */
static void decode_80(struct decoder *decoder, struct code_instruction *out, uint8_t op)
{
	/* Where pop has a ModRM byte with 0 for its reg field, XOP has the number of a map. */
	if (op == 0x8f && (peek(decoder) & 0x1f) >= 8) {
		decode_xop(decoder);
		return;
	}
	modrm(decoder);
	switch (op) {
	case 0x80:
	case 0x83:
		group1(decoder, out, immediate(decoder, 1), op == 0x80);
		return;
	case 0x81:
		group1(decoder, out, immediate(decoder, operand_bytes(decoder)), false);
		return;
	case 0x86:
	case 0x87:
		lose_sized(decoder, out, decoder->reg, op == 0x86);
		if (decoder->mod == 3)
			lose_sized(decoder, out, decoder->rm, op == 0x86);
		if (out->effect == CODE_EFFECT_MOVE_RSP)
			set(out, CODE_EFFECT_LOAD_RSP);
		return;
	case 0x89:
		store(decoder, out);
		return;
	case 0x8b:
		load(decoder, out);
		return;
	case 0x8d:
		load_address(decoder, out);
		return;
	case 0x8f:
		set(out, decoder->mod == 3 && decoder->rm == RBP ? CODE_EFFECT_POP_RBP
								 : CODE_EFFECT_POP);
		return;
	default: /* test, and moves of bytes and segment registers */
		return;
	}
}

/* c0-cf */
static void decode_c0(struct decoder *decoder, struct code_instruction *out, uint8_t op)
{
	switch (op) {
	case 0xc0:
	case 0xc1:
		modrm(decoder);
		next(decoder);
		if (decoder->mod == 3)
			lose_sized(decoder, out, decoder->rm, op == 0xc0);
		return;
	case 0xc2:
		immediate(decoder, 2);
		set(out, CODE_EFFECT_RETURN);
		return;
	case 0xc3:
		set(out, CODE_EFFECT_RETURN);
		return;
	case 0xc4:
	case 0xc5:
		decode_vex(decoder, op);
		return;
	case 0xc6:
		modrm(decoder);
		next(decoder);
		return;
	case 0xc7:
		if (peek(decoder) == 0xf8) { /* xbegin: the target of an abort */
			next(decoder);
			relative(decoder, out, operand_bytes(decoder), CODE_EFFECT_BRANCH);
			return;
		}
		modrm(decoder);
		immediate(decoder, operand_bytes(decoder));
		if (decoder->mod == 3)
			lose(out, decoder->rm);
		return;
	case 0xc9:
		set(out, CODE_EFFECT_LEAVE);
		return;
	case 0xcc:
		set(out, CODE_EFFECT_STOP);
		return;
	default: /* enter, far returns, interrupts */
		decoder->failed = true;
		return;
	}
}

/* d0-ff without relative calls and jumps */
static void decode_high(struct decoder *decoder, struct code_instruction *out, uint8_t op)
{
	switch (op) {
	case 0xd0:
	case 0xd1:
	case 0xd2:
	case 0xd3:
		modrm(decoder);
		if (decoder->mod == 3)
			lose_sized(decoder, out, decoder->rm, !(op & 1));
		return;
	case 0xf4: /* hlt */
		set(out, CODE_EFFECT_HALT);
		return;
	case 0xf6:
	case 0xf7:
		modrm(decoder);
		if ((decoder->reg & 7) < 2) /* test */
			immediate(decoder, op == 0xf6 ? 1 : operand_bytes(decoder));
		else if (decoder->mod == 3 && (decoder->reg & 7) < 4) /* not, neg */
			lose_sized(decoder, out, decoder->rm, op == 0xf6);
		return;
	case 0xfe:
	case 0xff:
		modrm(decoder);
		group5(decoder, out, op == 0xfe);
		return;
	default:
		if (op >= 0xd8 && op <= 0xdf) /* x87 */
			modrm(decoder);
		else if (op == 0xd7 || op == 0xf5 || (op >= 0xf8 && op <= 0xfd))
			return; /* one byte, irrelevant */
		else
			decoder->failed = true;
		return;
	}
}

static void decode_low(struct decoder *decoder, struct code_instruction *out, uint8_t op)
{
	if (op < 0x40)
		decode_arithmetic(decoder, out, op);
	else if (op >= 0x50 && op <= 0x5f)
		decode_push_pop(decoder, out, op);
	else if (op == 0x62)
		decode_evex(decoder);
	else if (op == 0x63 || op == 0x69 || op == 0x6b) { /* movsxd, imul */
		modrm(decoder);
		immediate(decoder, op == 0x69 ? operand_bytes(decoder) : op == 0x6b ? 1 : 0);
		lose(out, decoder->reg);
	} else if (op == 0x68 || op == 0x6a) {
		immediate(decoder, op == 0x68 ? 4 : 1);
		set(out, CODE_EFFECT_PUSH);
	} else if (op >= 0x70) {
		relative(decoder, out, 1, CODE_EFFECT_BRANCH);
	} else {
		decoder->failed = true;
	}
}

/* 90-bf: exchanges, moves of the accumulator, strings, moves of immediates */
static void decode_90(struct decoder *decoder, struct code_instruction *out, uint8_t op)
{
	uint8_t reg = (uint8_t)((op & 7) | (decoder->rex & 1) << 3);

	if (op >= 0xb8) {
		immediate(decoder, decoder->rex & 8 ? 8 : operand_bytes(decoder));
		load_into(out, reg);
	} else if (op >= 0xb0 || op == 0xa8) {
		next(decoder);
	} else if (op == 0xa9) {
		immediate(decoder, operand_bytes(decoder));
	} else if (op >= 0xa0 && op <= 0xa3) {
		immediate(decoder, decoder->has_address_size ? 4 : 8);
	} else if (op == 0x9c) {
		set(out, CODE_EFFECT_PUSH);
	} else if (op == 0x9d) {
		set(out, CODE_EFFECT_POP);
	} else if (op > 0x90 && op < 0x98) {
		load_into(out, reg); /* xchg with rax */
		out->written |= 1;
	} else if (op == 0x9a) {
		decoder->failed = true;
	}
}

static void decode_opcode(struct decoder *decoder, struct code_instruction *out)
{
	uint8_t op = next(decoder);

	if (op == 0x0f)
		decode_0f(decoder, out);
	else if (op == 0xe8)
		relative(decoder, out, 4, CODE_EFFECT_CALL);
	else if (op == 0xe9 || op == 0xeb)
		relative(decoder, out, op == 0xe9 ? 4 : 1, CODE_EFFECT_JUMP);
	else if (op >= 0xe0 && op <= 0xe3) /* loop, jrcxz */
		relative(decoder, out, 1, CODE_EFFECT_BRANCH);
	else if (op >= 0xd0)
		decode_high(decoder, out, op);
	else if (op >= 0xc0)
		decode_c0(decoder, out, op);
	else if (op >= 0x90)
		decode_90(decoder, out, op);
	else if (op >= 0x80)
		decode_80(decoder, out, op);
	else
		decode_low(decoder, out, op);
}

bool code_decode(const uint8_t *bytes, size_t nr_bytes, uint64_t address,
		 struct code_instruction *instruction)
{
	struct decoder decoder = {
		.bytes = bytes,
		.nr_bytes = nr_bytes < CODE_INSTRUCTION_MAX_BYTES ? nr_bytes
								  : CODE_INSTRUCTION_MAX_BYTES,
		.address = address,
	};

	*instruction = (struct code_instruction){.effect = CODE_EFFECT_NONE};
	prefixes(&decoder);
	instruction->opcode_at = (uint8_t)decoder.at;
	decode_opcode(&decoder, instruction);
	instruction->nr_bytes = decoder.at;
	instruction->disp_at = decoder.disp_at;
	if (decoder.disp_at)
		instruction->operand = address + decoder.at + (uint64_t)decoder.displacement;
	return !decoder.failed;
}

enum code_flow code_flow(enum code_effect effect)
{
	switch (effect) {
	case CODE_EFFECT_CALL:
		return CODE_FLOW_CALLS;
	case CODE_EFFECT_BRANCH:
		return CODE_FLOW_MAY_BRANCH;
	case CODE_EFFECT_RETURN:
	case CODE_EFFECT_JUMP:
	case CODE_EFFECT_JUMP_GOT:
	case CODE_EFFECT_HALT:
	case CODE_EFFECT_STOP:
		return CODE_FLOW_LEAVES;
	case CODE_EFFECT_NONE:
	case CODE_EFFECT_PUSH:
	case CODE_EFFECT_PUSH_RBP:
	case CODE_EFFECT_STORE_RBP:
	case CODE_EFFECT_PUSH_GOT:
	case CODE_EFFECT_POP:
	case CODE_EFFECT_POP_RBP:
	case CODE_EFFECT_ADD_RSP:
	case CODE_EFFECT_RSP_FROM_RBP:
	case CODE_EFFECT_LEAVE:
	case CODE_EFFECT_LOAD_RBP:
	case CODE_EFFECT_RBP_FROM_RSP:
	case CODE_EFFECT_COPY_RSP:
	case CODE_EFFECT_RSP_FROM_REG:
	case CODE_EFFECT_MOVE_RSP:
	case CODE_EFFECT_LOAD_RSP:
	case CODE_EFFECT_LOSE_RBP:
		break;
	}
	return CODE_FLOW_ON;
}
