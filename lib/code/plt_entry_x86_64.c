// SPDX-License-Identifier: GPL-2.0-or-later
#include "code/plt_entry.h"

#if defined(__x86_64__)

#include <string.h>

#include "code/code_x86_64.h"

static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};

/* The jump may have a bnd prefix. */
uint64_t plt_entry_word(const uint8_t *bytes, size_t nr_bytes, uint64_t address)
{
	struct code_instruction code;
	size_t at = 0;

	if (nr_bytes >= sizeof(endbr64) && memcmp(bytes, endbr64, sizeof(endbr64)) == 0)
		at += sizeof(endbr64);
	if (!code_decode(bytes + at, nr_bytes - at, address + at, &code) ||
	    code.effect != CODE_EFFECT_JUMP_GOT)
		return 0;
	return code.operand;
}

#endif
