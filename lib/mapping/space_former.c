// SPDX-License-Identifier: GPL-2.0-or-later
/* Former mappings of an address space, for samples that were taken before a change. */
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "base/alloc.h"
#include "mapping/space_priv.h"
#include "proc/range.h"

/* Few libraries are replaced at the same address. */
#define FORMER_MAX 16

void space_remember(struct space *space, const struct entry *entry)
{
	struct entries *former = &space->former;

	if (!entry->mapping.executable || !entry->inode)
		return;
	for (size_t i = 0; i < former->nr; i++) {
		if (space_same_mapping(&former->at[i], entry))
			return;
	}
	if (former->nr == FORMER_MAX) {
		free(former->at[0].path);
		memmove(former->at, former->at + 1, --former->nr * sizeof(*former->at));
	}
	ARRAY_GROW(former->at, former->nr, former->cap);
	former->at[former->nr] = *entry;
	former->at[former->nr++].path = xstrdup(entry->path);
}

static const struct entry *find_former(const struct space *space, const struct proc_range *range)
{
	for (size_t i = 0; i < space->former.nr; i++) {
		const struct entry *entry = &space->former.at[i];

		if (space_is_of_range(entry, range) &&
		    entry->dev == makedev(range->dev_major, range->dev_minor))
			return entry;
	}
	return NULL;
}

/* Takes over the path of `entry`, and replaces current entries that overlap. */
static void put_back(struct space *space, struct entry entry)
{
	struct entries *entries = &space->entries;
	size_t first = 0;
	size_t end;

	space_own_entries(space);
	while (first < entries->nr && entries->at[first].mapping.end <= entry.mapping.start)
		first++;
	for (end = first; end < entries->nr; end++) {
		if (entries->at[end].mapping.start >= entry.mapping.end)
			break;
		space_remember(space, &entries->at[end]);
		free(entries->at[end].path);
	}
	ARRAY_GROW(entries->at, entries->nr, entries->cap);
	memmove(&entries->at[first + 1], &entries->at[end],
		(entries->nr - end) * sizeof(*entries->at));
	entries->nr = entries->nr - (end - first) + 1;
	entries->at[first] = entry;
}

bool space_recall(struct space *space, const struct proc_range *range)
{
	const struct entry *former;
	struct entry entry;

	if (space_agrees(space, range))
		return true;
	former = find_former(space, range);
	if (!former)
		return false;
	entry = *former;
	entry.path = xstrdup(former->path);
	space_note_change(space);
	entry.mapping.generation = space->generation;
	space->nr_replaced += space_replaces_code(space, &entry.mapping);
	put_back(space, entry);
	space_index_code(space);
	return true;
}
