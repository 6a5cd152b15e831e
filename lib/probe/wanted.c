// SPDX-License-Identifier: GPL-2.0-or-later
/* What of a file is to be counted. */
#include "probe/wanted.h"

#include <stdlib.h>

#include "base/alloc.h"

void wanted_add(struct wanted *wanted, enum wanted_kind kind, uint64_t address, uint64_t nr_bytes,
		const char *name)
{
	ARRAY_GROW(wanted->places, wanted->nr_places, wanted->cap_places);
	wanted->places[wanted->nr_places++] = (struct wanted_place){
		.address = address, .nr_bytes = nr_bytes, .kind = kind, .name = xstrdup(name)};
}

void wanted_add_start(struct wanted *wanted, uint64_t address)
{
	ARRAY_GROW(wanted->starts, wanted->nr_starts, wanted->cap_starts);
	wanted->starts[wanted->nr_starts++] = address;
}

void wanted_refuse(struct wanted *wanted, const char *name, const char *reason)
{
	ARRAY_GROW(wanted->refusals, wanted->nr_refusals, wanted->cap_refusals);
	wanted->refusals[wanted->nr_refusals++] =
		(struct wanted_refusal){.name = xstrdup(name), .reason = xstrdup(reason)};
}

static int compare_places(const void *a, const void *b)
{
	const struct wanted_place *left = a, *right = b;

	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	return (int)left->kind - (int)right->kind;
}

void wanted_sort(struct wanted *wanted)
{
	size_t nr = 0;

	if (wanted->nr_places)
		qsort(wanted->places, wanted->nr_places, sizeof(*wanted->places), compare_places);
	for (size_t i = 0; i < wanted->nr_places; i++) {
		if (nr && wanted->places[nr - 1].address == wanted->places[i].address)
			free(wanted->places[i].name);
		else
			wanted->places[nr++] = wanted->places[i];
	}
	wanted->nr_places = nr;
}

void wanted_release(struct wanted *wanted)
{
	for (size_t i = 0; i < wanted->nr_places; i++)
		free(wanted->places[i].name);
	for (size_t i = 0; i < wanted->nr_refusals; i++) {
		free(wanted->refusals[i].name);
		free(wanted->refusals[i].reason);
	}
	free(wanted->places);
	free(wanted->starts);
	free(wanted->refusals);
	*wanted = (struct wanted){.nr_places = 0};
}
