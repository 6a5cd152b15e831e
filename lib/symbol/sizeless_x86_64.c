// SPDX-License-Identifier: GPL-2.0-or-later
/* Direct calls in the code of x86-64. */
#include <stdbool.h>
#include <string.h>

#include "symbol/sizeless.h"

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

bool sizeless_next_call_x86_64(const uint8_t *code, size_t nr_bytes, size_t *at, int64_t *target)
{
	const uint8_t *found;
	int32_t distance;

	if (*at > nr_bytes || nr_bytes - *at < CALL_BYTES)
		return false;
	found = memchr(code + *at, 0xe8, nr_bytes - *at - (CALL_BYTES - 1));
	if (!found)
		return false;
	memcpy(&distance, found + 1, sizeof(distance));
	*target = found + CALL_BYTES - code + (int64_t)distance;
	*at = (size_t)(found + 1 - code); /* any byte may begin an instruction */
	return true;
}
