// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the call from which exceptions land at an address. */
#include "unwind/eh_landing.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "unwind/eh_table.h"

/* Bounds on a function's exception table, its code, and the code that one entry covers. */
#define TABLE_BYTES_MAX	   (64 * 1024)
#define FUNCTION_BYTES_MAX (16 * 1024)
#define SITE_BYTES_MAX	   (16 * 1024)

/* The calls found, as none, one or several. */
struct calls {
	uint64_t return_address; /* of the last one */
	size_t nr;
};

static void add(struct calls *calls, uint64_t return_address)
{
	calls->nr += !calls->nr || calls->return_address != return_address;
	calls->return_address = return_address;
}

/*
 * Is the target a function of this module that cannot have led to the callee? It is neither the
 * called function nor one that continues in the part that the compiler has split off (.cold), where
 * the callee was. If the callee was in another module: a function that does not jump elsewhere, as
 * PLTs do.
 */
static bool is_another_function(const struct eh_landing *landing, uint64_t target)
{
	struct cfi_fde called;
	struct cfi_fde stood;

	if ((!landing->callee_pc && !landing->callee_is_elsewhere) ||
	    !module_cfi_fde(landing->cfi, target, &called) || called.start != target ||
	    called.end - called.start > FUNCTION_BYTES_MAX)
		return false;
	if (landing->callee_is_elsewhere)
		return !landing->code->jumps_out(landing->cfi->image, called.start, called.end);
	return module_cfi_fde(landing->cfi, landing->callee_pc, &stood) && stood.start != target &&
	       !landing->code->jumps_into(landing->cfi->image, called.start, called.end,
					  stood.start, stood.end);
}

/* Add all calls of a call site to `all`, and those that may have called the callee to `fitting`. */
static void search_site(const struct eh_landing *landing, const struct eh_call_site *site,
			struct calls *all, struct calls *fitting)
{
	uint64_t at = site->start;
	uint64_t target;
	enum row_call call;

	if (site->end - site->start > SITE_BYTES_MAX)
		return;
	while ((call = landing->code->next_call(landing->cfi->image, &at, site->end, &target)) !=
	       ROW_CALL_NONE) {
		add(all, at);
		if (call == ROW_CALL_INDIRECT || !is_another_function(landing, target))
			add(fitting, at);
	}
}

enum eh_landing_calls eh_landing_call(const struct eh_landing *landing, uint64_t *return_address)
{
	cleanup_free uint8_t *bytes = NULL;
	struct elf_bytes table_bytes;
	struct eh_table table;
	struct eh_call_site site;
	struct cfi_fde fde;
	struct calls all = {0};
	struct calls fitting = {0};

	if (!module_cfi_fde(landing->cfi, landing->pc, &fde) || !fde.lsda)
		return EH_LANDING_NONE;
	bytes = xmalloc(TABLE_BYTES_MAX);
	table_bytes = (struct elf_bytes){
		.bytes = bytes,
		.nr_bytes = elf_image_read(landing->cfi->image, fde.lsda, bytes, TABLE_BYTES_MAX),
		.vaddr = fde.lsda,
	};
	if (!eh_table_begin(&table, &table_bytes, fde.start))
		return EH_LANDING_NONE;
	while (eh_table_next(&table, &site)) {
		if (site.landing == landing->pc)
			search_site(landing, &site, &all, &fitting);
	}
	if (fitting.nr)
		all = fitting;
	if (all.nr != 1)
		return all.nr ? EH_LANDING_SEVERAL : EH_LANDING_NONE;
	*return_address = all.return_address;
	return EH_LANDING_ONE;
}
