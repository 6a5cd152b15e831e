// SPDX-License-Identifier: GPL-2.0-or-later
#include "code/code_pointers.h"

#if defined(__x86_64__)

#include <string.h>

#include "code/code_x86_64.h"

size_t code_used_words(const struct code_bytes *code, uint64_t *words, size_t cap)
{
	struct code_instruction instruction;
	size_t nr = 0;

	for (size_t at = 0; at < code->nr_bytes && nr < cap; at += instruction.nr_bytes) {
		if (!code_decode(code->bytes + at, code->nr_bytes - at, code->address + at,
				 &instruction))
			break;
		if (instruction.disp_at)
			words[nr++] = instruction.operand;
	}
	return nr;
}

bool code_uses_offset(const struct code_bytes *code, uint32_t offset)
{
	return memmem(code->bytes, code->nr_bytes, &offset, sizeof(offset));
}

#define NOP	     0x90
#define OPERAND_SIZE 0x66

static bool is_no_op(const uint8_t *bytes, size_t nr_bytes)
{
	struct code_instruction instruction;

	if (bytes[nr_bytes - 1] == NOP &&
	    (nr_bytes == 1 || (nr_bytes == 2 && bytes[0] == OPERAND_SIZE)))
		return true;
	return code_decode(bytes, nr_bytes, 0, &instruction) && instruction.nr_bytes == nr_bytes &&
	       instruction.is_padding;
}

uint64_t code_other_pointer(uint64_t function, const uint8_t *bytes, size_t nr_bytes)
{
	for (size_t nr = 1; nr <= nr_bytes && nr <= CODE_INSTRUCTION_MAX_BYTES; nr++) {
		if (is_no_op(bytes + nr_bytes - nr, nr))
			return function - nr;
	}
	return 0;
}

/* The register is compared soon after it was loaded. */
#define COMPARED_WITHIN 48
#define REX_W		0x48
#define REX_R		0x04
#define REX_B		0x01
#define LEA		0x8d
#define CMP_RM_REG	0x39
#define CMP_REG_RM	0x3b
#define CMP_EAX_IMM	0x3d
#define CMP_RM_IMM	0x81
#define MODRM_RIP	0x05
#define MODRM_REGISTERS 0xc0

/* Do the bytes begin with a comparison of all of a register, or of memory with it? */
static bool compares(const uint8_t *bytes, size_t nr_bytes, unsigned int reg)
{
	unsigned int modrm;

	if (nr_bytes < 3 || (bytes[0] & 0xf8) != REX_W ||
	    (bytes[1] != CMP_RM_REG && bytes[1] != CMP_REG_RM))
		return false;
	modrm = bytes[2];
	return ((modrm >> 3 & 7) | (bytes[0] & REX_R) << 1) == reg ||
	       (modrm >= MODRM_REGISTERS && ((modrm & 7) | (bytes[0] & REX_B) << 3) == reg);
}

/* lea function(%rip),reg at `at`, and then a comparison with that register? */
static bool loads_and_compares(const struct code_bytes *code, size_t at, uint64_t function)
{
	const uint8_t *bytes = code->bytes + at;
	unsigned int reg = (bytes[2] >> 3 & 7) | (bytes[0] & REX_R) << 1;
	struct code_instruction instruction;
	int32_t distance;
	size_t end;

	memcpy(&distance, bytes + 3, sizeof(distance));
	if (code->address + at + 7 + (uint64_t)(int64_t)distance != function)
		return false;
	end = code->nr_bytes - at < COMPARED_WITHIN ? code->nr_bytes - at : COMPARED_WITHIN;
	for (size_t next = 7; next < end; next += instruction.nr_bytes) {
		if (compares(bytes + next, end - next, reg))
			return true;
		if (!code_decode(bytes + next, end - next, code->address + at + next, &instruction))
			return false;
	}
	return false;
}

/* cmp $function,reg at `at`? The constant is 32 bits. */
static bool compares_constant(const struct code_bytes *code, size_t at, uint64_t function)
{
	const uint8_t *bytes = code->bytes + at;
	size_t left = code->nr_bytes - at;
	bool is_short = bytes[1] == CMP_EAX_IMM;
	uint32_t constant;

	if (function > INT32_MAX || left < 7 ||
	    !(is_short || (bytes[1] == CMP_RM_IMM && bytes[2] >= 0xf8)))
		return false;
	memcpy(&constant, bytes + (is_short ? 2 : 3), sizeof(constant));
	return constant == function;
}

bool code_compares_with(const struct code_bytes *code, uint64_t function)
{
	for (size_t at = 0; at + 7 <= code->nr_bytes; at++) {
		const uint8_t *bytes = code->bytes + at;

		if ((bytes[0] & 0xf8) != REX_W)
			continue;
		if (bytes[1] == LEA && (bytes[2] & 0xc7) == MODRM_RIP
			    ? loads_and_compares(code, at, function)
			    : compares_constant(code, at, function))
			return true;
	}
	return false;
}

#endif
