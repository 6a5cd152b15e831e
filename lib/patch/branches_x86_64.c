// SPDX-License-Identifier: GPL-2.0-or-later
#include "patch/branches.h"

#if defined(__x86_64__)

#include "base/minmax.h"
#include "code/code_x86_64.h"

static bool leads_somewhere(const struct code_instruction *code)
{
	return code->target &&
	       (code->effect == CODE_EFFECT_JUMP || code->effect == CODE_EFFECT_BRANCH ||
		code->effect == CODE_EFFECT_CALL);
}

/*
 * A decoder that begins at a wrong byte is back in step within a few instructions: at the latest,
 * here, where a function begins.
 */
void branches_add_code(struct branches *branches, uint64_t address, const uint8_t *bytes,
		       size_t nr_bytes)
{
	uint64_t next_start = branches_next_start(branches, address);

	for (size_t at = 0; at < nr_bytes;) {
		struct code_instruction code;
		size_t step = 1;

		if (address + at >= next_start)
			next_start = branches_next_start(branches, address + at);
		if (code_decode(bytes + at, nr_bytes - at, address + at, &code)) {
			step = code.nr_bytes;
			if (leads_somewhere(&code))
				branches_add(branches, address + at, code.target,
					     code.effect == CODE_EFFECT_CALL);
		}
		at += min_u64(step, next_start - (address + at));
	}
}

#endif
