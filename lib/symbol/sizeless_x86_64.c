// SPDX-License-Identifier: GPL-2.0-or-later
/* Direct calls in the code of x86-64. */
#include <stdbool.h>
#include <string.h>

#include "symbol/sizeless.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define CALL_BYTES 5 /* e8 rel32 */

/* The system call is so close to the function's entry. */
#define CLONE_BYTES 64

/* mov $56,%al or mov $56,%eax, followed by a system call */
bool sizeless_is_clone_x86_64(const uint8_t *code, size_t nr_bytes)
{
	bool has_number = false;

	for (size_t i = 0; i + 2 <= nr_bytes && i < CLONE_BYTES; i++) {
		has_number |= code[i + 1] == 56 && (code[i] == 0xb0 || code[i] == 0xb8);
		if (code[i] == 0xc3)
			return false;
		if (code[i] == 0x0f && code[i + 1] == 0x05)
			return has_number;
	}
	return false;
}

#define BLOCK_BYTES 64
#define OPCODE	    0xe8

/* Which bytes of a block are the opcode of a call? One bit each. */
static uint64_t opcodes_of(const uint8_t *block)
{
	uint64_t found = 0;

#if defined(__SSE2__)
	const __m128i opcode = _mm_set1_epi8((char)OPCODE);

	for (unsigned int at = 0; at < BLOCK_BYTES; at += 16) {
		const __m128i bytes = _mm_loadu_si128((const __m128i_u *)(block + at));

		found |= (uint64_t)(unsigned int)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, opcode))
			 << at;
	}
#else
	for (unsigned int at = 0; at < BLOCK_BYTES; at++)
		found |= (uint64_t)(block[at] == OPCODE) << at;
#endif
	return found;
}

static uint64_t opcodes_in(const uint8_t *code, size_t nr_bytes)
{
	uint8_t last[BLOCK_BYTES] = {0};

	if (nr_bytes >= BLOCK_BYTES)
		return opcodes_of(code);
	memcpy(last, code, nr_bytes);
	return opcodes_of(last);
}

bool sizeless_next_call_x86_64(struct sizeless_calls *calls, int64_t *target)
{
	int32_t distance;
	size_t found;

	while (!calls->opcodes) {
		if (calls->at >= calls->nr_bytes)
			return false;
		calls->block = calls->at;
		calls->opcodes = opcodes_in(calls->code + calls->at, calls->nr_bytes - calls->at);
		calls->at += BLOCK_BYTES;
	}
	/* Any byte may begin an instruction. */
	found = calls->block + (unsigned int)__builtin_ctzll(calls->opcodes);
	calls->opcodes &= calls->opcodes - 1;
	if (calls->nr_bytes - found < CALL_BYTES)
		return false;
	memcpy(&distance, calls->code + found + 1, sizeof(distance));
	*target = (int64_t)(found + CALL_BYTES) + distance;
	return true;
}
