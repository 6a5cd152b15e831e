// SPDX-License-Identifier: GPL-2.0-or-later
#include "code/plt_entry.h"

#if defined(__aarch64__)

#include <string.h>

#include "code/code_aarch64.h"

#define BTI_C	UINT32_C(0xd503245f)
#define ADD_X16 UINT32_C(0x91000210) /* add x16, x16, #... */

/*
 * adrp x16, page; ldr x17, [x16, #offset]; add x16, x16, #offset; br x17. A landing pad may be
 * before it.
 */
uint64_t plt_entry_word(const uint8_t *bytes, size_t nr_bytes, uint64_t address)
{
	struct a64_instruction load;
	uint32_t words[4];
	uint64_t page;
	size_t at;

	if (nr_bytes < sizeof(words))
		return 0;
	memcpy(words, bytes, sizeof(words));
	at = words[0] == BTI_C;
	if (!a64_page(words[at], address + at * sizeof(words[0]), &page))
		return 0;
	a64_decode(words[at + 1], 0, &load);
	if (!load.is_load || !load.is_access || !load.is_word || load.moves_base ||
	    load.reg[0] != 17 || load.reg[1] != A64_NO_REG || load.base != 16 ||
	    (words[at + 2] & 0xffc003ff) != ADD_X16)
		return 0;
	return page + (uint64_t)load.offset;
}

#endif
