// SPDX-License-Identifier: GPL-2.0-or-later
/* Whether an address can be a return address, or is the beginning of a function in its place. */
#include "elf/elf_image.h"
#include "mapping/space.h"
#include "unwind/code_walk.h"
#include "unwind/module_cfi.h"
#include "unwind/rows_priv.h"

bool rows_is_behind_call(struct rows *rows, const struct row_query *query, uint64_t pc)
{
	const struct mapping *mapping = space_find(query->walk->space, pc - 1);
	struct row_key key = row_key(space_locate(query->walk->space, pc - 1), false);

	if (!mapping || !mapping->executable)
		return false;
	if (!query->arch->code || !space_image(query->walk->space, mapping) ||
	    row_cache_find(&rows->calls, key))
		return true;
	if (!code_walk_is_behind_call(query->arch, query->walk, pc) &&
	    !(query->arch->code->is_bottom &&
	      query->arch->code->is_bottom(space_image(query->walk->space, mapping),
					   pc - mapping->bias)))
		return false;
	row_cache_add(&rows->calls, key, row_of_kind(ROW_STEP));
	return true;
}

bool rows_begins_at(struct rows *rows, const struct walk *walk, uint64_t pc)
{
	const struct unwind_arch *arch = unwind_arch(walk->snapshot->arch);
	const struct mapping *mapping = space_find(walk->space, pc);
	struct elf_image *image;
	struct cfi_fde fde;
	uint64_t start, end;

	if (!mapping || !mapping->executable || !arch->code ||
	    row_cache_find(&rows->cache, row_key(space_locate(walk->space, pc - 1), false)))
		return false;
	image = space_image(walk->space, mapping);
	if (!image)
		return false;
	if (module_cfi_is_trampoline(rows_cfi(rows, mapping->module, image), arch,
				     pc - mapping->bias))
		return true;
	if (code_walk_is_behind_call(arch, walk, pc))
		return false;
	if (module_cfi_fde(rows_cfi(rows, mapping->module, image), pc - mapping->bias, &fde))
		return fde.start == pc - mapping->bias;
	return elf_image_function(image, pc - mapping->bias, &start, &end) &&
	       start == pc - mapping->bias;
}
