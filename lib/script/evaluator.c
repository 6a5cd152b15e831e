// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the code of the function that evaluates frames, both parts of it. */
#include "script/evaluator.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "cfi/cfi.h"
#include "code/code_x86_64.h"
#include "elf/elf_image.h"

#define EVALUATOR_BYTES_MAX (UINT64_C(1) << 20)

static bool is_in(const struct script_code_range *range, uint64_t address)
{
	return address >= range->start && address < range->end;
}

/*
 * Where most of the jumps that leave `hot` go: a function jumps to its own parts so, and hardly
 * ever to another function. Data among the code lead to many places.
 */
static void find_cold(const struct cfi_search *cfi, const struct script_code_range *hot,
		      const uint8_t *code, struct script_code_range *cold)
{
	size_t nr_bytes = hot->end - hot->start, at = 0;
	size_t nr_more = 0; /* jumps that go there, less others */

	while (at < nr_bytes) {
		struct script_code_range found;
		struct code_instruction instruction;
		uint64_t target;

		if (!code_decode(code + at, nr_bytes - at, hot->start + at, &instruction)) {
			at++;
			continue;
		}
		at += instruction.nr_bytes;
		target = instruction.target;
		if (instruction.effect != CODE_EFFECT_BRANCH || is_in(hot, target) ||
		    !cfi_search_function(cfi, target, &found.start, &found.end))
			continue;
		if (!nr_more)
			*cold = found;
		nr_more = is_in(cold, target) ? nr_more + 1 : nr_more - 1;
	}
	if (!nr_more)
		*cold = (struct script_code_range){.start = 0};
}

bool evaluator_find(struct elf_image *image, uint64_t entry, struct script_code_range *ranges)
{
	struct script_code_range *hot = &ranges[0];
	const struct elf_cfi *sections = elf_image_cfi(image);
	const struct cfi_search cfi = {.hdr = sections->eh_frame_hdr, .frames = sections->eh_frame};
	cleanup_free uint8_t *code = NULL;
	size_t nr_bytes;

	ranges[1] = (struct script_code_range){.start = 0};
	if (!elf_image_function(image, entry, &hot->start, &hot->end) || hot->start != entry ||
	    hot->end - hot->start > EVALUATOR_BYTES_MAX)
		return false;
	nr_bytes = hot->end - hot->start;
	code = xmalloc(nr_bytes);
	if (elf_image_machine(image) == ELF_MACHINE_X86_64 &&
	    elf_image_read(image, entry, code, nr_bytes) == nr_bytes)
		find_cold(&cfi, hot, code, &ranges[1]);
	return true;
}
