// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the contexts that libgcc's unwinder keeps while it handles an exception. */
#include "unwind/eh_context.h"

#include "unwind/row.h"
#include "unwind/unwind_priv.h"

/* Two contexts of 240 bytes, the state of a frame of 400, and spilt registers. */
#define FRAME_BYTES_MAX 4096

static bool read_at(const struct walk *walk, uint64_t base, int64_t offset, uint64_t *value)
{
	return walk_read(walk, base + (uint64_t)offset, value);
}

/* Is `at` a context's pointer to a return address, followed by the CFA? */
static bool is_context(const struct walk *walk, const struct eh_layout *layout, uint64_t at,
		       uint64_t *cfa)
{
	uint64_t return_slot;

	return walk_read(walk, at, &return_slot) && read_at(walk, at, layout->cfa, cfa) &&
	       return_slot + 8 == *cfa;
}

static void add_target(const struct walk *walk, const struct eh_layout *layout, uint64_t at,
		       uint64_t cfa, struct eh_notes *notes)
{
	struct eh_target target = {.cfa = cfa};

	if (notes->nr_targets < EH_TARGETS_MAX && read_at(walk, at, layout->ra, &target.pc) &&
	    read_at(walk, at, layout->fp, &target.fp_slot))
		notes->targets[notes->nr_targets++] = target;
}

bool eh_context_find(const struct walk *walk, const struct eh_layout *layout,
		     const struct eh_frame *frame, struct eh_notes *notes)
{
	bool is_found = false;
	uint64_t cfa;
	uint64_t function;

	*notes = (struct eh_notes){0};
	if (frame->cfa < frame->sp || frame->cfa - frame->sp > FRAME_BYTES_MAX)
		return false;
	for (uint64_t at = frame->sp; at < frame->cfa; at += 8) {
		if (!is_context(walk, layout, at, &cfa) || cfa < frame->cfa ||
		    !read_at(walk, at, layout->function, &function))
			continue;
		if (cfa == frame->cfa && function == frame->entry)
			is_found |= read_at(walk, at, layout->ra, &notes->return_address);
		else
			add_target(walk, layout, at, cfa, notes);
	}
	return is_found;
}
