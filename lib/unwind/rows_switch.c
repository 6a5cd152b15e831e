// SPDX-License-Identifier: GPL-2.0-or-later
/* Functions that leave one stack for another, and their callers there. */
#include "elf/elf_image.h"
#include "mapping/space.h"
#include "unwind/code_walk.h"
#include "unwind/module_cfi.h"
#include "unwind/rows.h"

/* Bound on a frame of Go's runtime below its saved frame pointer. */
#define FRAME_WORDS_MAX 256

/* The function that a frame is in: by CFI, else by its symbol. */
static bool function_of(struct rows *rows, const struct row_query *query, struct elf_image *image,
			uint64_t *start, uint64_t *end)
{
	uint64_t lookup = query->frame->lookup.address;
	struct cfi_fde fde;

	if (module_cfi_fde(rows_cfi(rows, query->frame->lookup.module, image), lookup, &fde)) {
		*start = fde.start;
		*end = fde.end;
		return true;
	}
	return elf_image_function(image, lookup, start, end);
}

bool rows_is_stack_base(struct rows *rows, const struct row_query *query)
{
	const struct mapping *mapping = rows_mapping(query);
	struct elf_image *image = mapping ? space_image(query->walk->space, mapping) : NULL;
	struct code_at at = {.is_exact = query->frame->is_exact};
	uint64_t start;

	if (!image || !query->arch->code || !query->arch->code->switches_stack)
		return false;
	at.pc = query->frame->pc - mapping->bias;
	if (!function_of(rows, query, image, &start, &at.function_end))
		at.function_end = 0;
	return query->arch->code->switches_stack(image, &at);
}

bool rows_has_switched_stack(struct rows *rows, const struct row_query *query)
{
	const struct mapping *mapping = rows_mapping(query);
	struct elf_image *image = mapping ? space_image(query->walk->space, mapping) : NULL;
	struct code_frame code;
	uint64_t entry, end;

	if (!image || !query->arch->code || !query->arch->code->switched_stack)
		return false;
	if (function_of(rows, query, image, &entry, &end))
		return query->arch->code->switched_stack(image, entry,
							 query->frame->pc - mapping->bias);
	code = rows_code_frame(query, mapping, image);
	return code_walk_is_on_other_stack(query->arch, &code);
}

bool rows_is_first_of_stack(struct rows *rows, const struct row_query *query)
{
	return rows_is_stack_base(rows, query) || rows_has_switched_stack(rows, query);
}

bool rows_find_behind_switch(struct rows *rows, const struct row_query *query,
			     struct rows_behind *behind)
{
	const struct arch_regs *arch = query->arch->regs;
	const struct mapping *mapping = rows_mapping(query);
	struct elf_image *image = mapping ? space_image(query->walk->space, mapping) : NULL;
	uint64_t entry, end, fp, word;

	if (!image || !query->arch->code || !regs_get(query->regs, arch->fp, &fp) || !fp ||
	    fp % 8 || !function_of(rows, query, image, &entry, &end))
		return false;
	for (uint64_t slot = fp - 8; slot >= fp - 8 * FRAME_WORDS_MAX; slot -= 8) {
		const struct mapping *caller;
		struct row row;

		if (!walk_read(query->walk, slot, &word)) {
			behind->wanted_address = slot;
			return false;
		}
		if (!code_walk_calls(query->arch, query->walk, word, entry + mapping->bias))
			continue;
		caller = space_find(query->walk->space, word - 1);
		row = module_cfi_row(
			rows_cfi(rows, caller->module, space_image(query->walk->space, caller)),
			query->arch, word - 1 - caller->bias, word - caller->bias);
		if (row.kind != ROW_STEP || row.cfa_reg != arch->sp ||
		    slot + 8 + (uint64_t)(int64_t)row.cfa_offset != fp + 16)
			continue;
		*behind = (struct rows_behind){.pc = word, .sp = slot + 8};
		return true;
	}
	return false;
}
