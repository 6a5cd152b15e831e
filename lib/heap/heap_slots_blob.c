// SPDX-License-Identifier: GPL-2.0-or-later
/* The slots of threads: the generated code finds them in the same way. */
#include "heap/heap_blob_priv.h"

struct heap_slot *heap_slot_of_thread(void)
{
	uint64_t data = thread_data(), number;

	if (rules.has_own_slots) {
		number = relaxed_load(&heap_own()->owners[patch_owner_index(data)]) + data +
			 HEAP_OWN_SLOTS;
		if (number < HEAP_OWN_SLOTS)
			return &shared.own_slots[number].slot;
	}
	return &shared.slots[(data >> 12) % HEAP_SLOTS];
}

static bool is_own(const struct heap_slot *slot)
{
	return (uint64_t)slot - (uint64_t)shared.own_slots < sizeof(shared.own_slots);
}

/*
 * The addition has brought the own slot's countdown below zero. If that is not so any more, an
 * allocation in a signal handler has begun a new one: then this allocation has used the former one
 * up, to the last byte that was left.
 */
void heap_find_slot(struct request *request)
{
	int64_t countdown;

	if (!request->is_counted) {
		request->slot = heap_slot_of_thread();
		return;
	}
	request->slot = (struct heap_slot *)request->frame->scratch[HEAP_SCRATCH_SLOT];
	if (!is_own(request->slot))
		return;
	countdown = relaxed_load(&request->slot->countdown);
	request->countdown = countdown < 0 ? countdown - request->countdown : 0;
}

/* Is the address in the thread's first word that of its data, and so no other thread's? */
static bool has_own_word(uint64_t data)
{
	return rules.reads_base ? machine_thread_register() == data : data != 0;
}

/*
 * A word in the table never changes again: the hash of its thread's address is that of no other
 * thread with a slot. A forked child, which finds zeros there, claims slots of its own. While the
 * thread is inside a function that may call hooked ones, its slot has to stay the same: by that
 * such calls are recognised.
 */
void heap_claim_slot(const struct request *request)
{
	uint64_t data, none = 0, number;
	uint64_t *entry;

	if (!rules.has_own_slots)
		return;
	data = thread_data();
	entry = &heap_own()->owners[patch_owner_index(data)];
	if (relaxed_load(entry) || relaxed_load(&shared.nr_claimed) >= HEAP_OWN_SLOTS ||
	    is_nested(request) || !has_own_word(data))
		return;
	number = relaxed_add(&shared.nr_claimed, 1);
	if (number < HEAP_OWN_SLOTS)
		exchange(entry, &none, number - HEAP_OWN_SLOTS - data);
}
