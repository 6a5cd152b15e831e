// SPDX-License-Identifier: GPL-2.0-or-later
/* The blob's entry: the stub calls heap_slow(). */
#include <stddef.h>

#include "heap/heap_blob_priv.h"

struct outcome heap_slow(struct heap_frame *frame, uint32_t which, int64_t counted)
	__attribute__((visibility("hidden"), used));

/* Files in assembly know these offsets. */
_Static_assert(offsetof(struct heap_frame, jump) == 8 &&
		       offsetof(struct heap_frame, scratch[HEAP_SCRATCH_SLOT]) == 16 &&
		       offsetof(struct heap_frame, arguments) == HEAP_FRAME_ARGUMENTS_AT &&
		       sizeof(struct heap_frame) == HEAP_FRAME_BYTES && HEAP_STACK_ARGUMENTS == 16,
	       "heap_stubs_*.S, heap_call_*.S");

struct outcome heap_slow(struct heap_frame *frame, uint32_t which, int64_t counted)
{
	struct request request;
	struct outcome outcome;

	if (rules.is_all && rules.hooks[which >> HEAP_STUB_HOOK_LOG2].form.function != HEAP_EXIT)
		return heap_record_one(frame, which);
	heap_begin_request(&request, frame, which, counted);
	heap_find_slot(&request);
	relaxed_add(&heap_own()->in_flight, 1);
	if (heap_maps(&request.hook->form))
		outcome = heap_on_map(&request);
	else if (request.hook->form.function == HEAP_EXIT)
		outcome = heap_on_exit(&request);
	else if (heap_frees(&request.hook->form))
		outcome = heap_on_free(&request);
	else
		outcome = heap_on_allocation(&request);
	heap_claim_slot(&request);
	relaxed_add(&heap_own()->in_flight, -1);
	return outcome;
}
