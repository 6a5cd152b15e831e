// SPDX-License-Identifier: GPL-2.0-or-later
/* The objects that blocked threads waited for: distinct rows. */
#include "profile/waits.h"

#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "profile/heap.h"

void profile_waits_release(struct profile_waits *waits)
{
	index_set_release(&waits->set);
	free(waits->rows);
	free(waits->updated);
	*waits = (struct profile_waits){0};
}

static bool same_wait(const void *owner, uint32_t index, const void *key)
{
	const struct profile_waits *waits = owner;
	const struct profile_wait *row = &waits->rows[index], *wanted = key;

	return row->process == wanted->process && row->kind == wanted->kind &&
	       row->number == wanted->number && row->place.v == wanted->place.v &&
	       row->name.v == wanted->name.v && row->owner.v == wanted->owner.v;
}

static uint64_t hash_of(const struct profile_wait *row)
{
	uint64_t hash = hash_mix((uint64_t)row->process << 8 | row->kind, row->number);

	return hash_mix(hash_mix(hash, (uint64_t)row->place.v << 32 | row->name.v), row->owner.v);
}

static uint32_t intern(struct profile_waits *waits, const struct profile_wait *row, size_t max)
{
	uint64_t hash = hash_of(row);
	uint32_t found = index_set_find(&waits->set, hash, same_wait, waits, row);

	if (found != INDEX_NONE || waits->nr >= max)
		return found;
	ARRAY_GROW(waits->rows, waits->nr, waits->cap);
	waits->rows[waits->nr] = *row;
	index_set_add(&waits->set, hash, (uint32_t)waits->nr);
	return (uint32_t)waits->nr++;
}

uint32_t profile_waits_intern(struct profile_waits *waits, const struct profile_wait *row)
{
	const struct profile_wait any = {.process = row->process,
					 .kind = row->kind,
					 .number = WAIT_NUMBER_ANY,
					 .place = WAIT_NO_PLACE,
					 .owner = THREAD_NONE};
	uint32_t found;

	assert(row->kind < WAIT_KIND_COUNT);
	found = intern(waits, row, WAIT_ROWS_MAX);
	if (found == INDEX_NONE)
		found = intern(waits, &any, SIZE_MAX);
	return found + 1;
}

void profile_waits_set_peer(struct profile_waits *waits, uint32_t row, struct str_id peer)
{
	assert(row < waits->nr);
	waits->rows[row].peer = peer;
	ARRAY_GROW(waits->updated, waits->nr_updated, waits->cap_updated);
	waits->updated[waits->nr_updated++] = row;
}
