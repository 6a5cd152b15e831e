// SPDX-License-Identifier: GPL-2.0-or-later
/* What of a file is to be counted. */
#include "probe/wanted.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "elf/elf_image.h"
#include "probe/gate.h"

/* Of what follows a function: more than any window takes. */
#define PADDING_BYTES  32
#define GATE_BYTES_MAX ((size_t)1 << 26)

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

bool wanted_is_counted(const struct wanted_place *place)
{
	return place->kind == WANTED_ENTRY || place->kind == WANTED_CALL;
}

static uint64_t next_start(const struct wanted *wanted, uint64_t end)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < wanted->nr_starts; i++) {
		if (wanted->starts[i] >= end && wanted->starts[i] < next)
			next = wanted->starts[i];
	}
	return next;
}

static size_t read_image(const void *context, uint64_t address, void *out, size_t nr_bytes)
{
	return elf_image_read(context, address, out, nr_bytes);
}

static void add_exits(struct wanted *wanted, const struct gate_exits *exits, const char *name)
{
	for (size_t i = 0; i < exits->nr; i++) {
		wanted_add(wanted, WANTED_GATE_EXIT, exits->at[i].address, exits->at[i].nr_bytes,
			   name);
		wanted->places[wanted->nr_places - 1].exit_at = exits->at[i].exit_at;
	}
}

void wanted_add_gate(struct wanted *wanted, const struct elf_image *image,
		     const struct wanted_gate *parts, size_t nr, const char *name)
{
	struct gate_code *code = xcalloc(nr + 1, sizeof(*code));
	uint8_t **bytes = xcalloc(nr + 1, sizeof(*bytes));
	struct gate_exits exits = {0};
	const char *why;

	for (size_t i = 0; i < nr; i++) {
		size_t nr_bytes = (size_t)(parts[i].end - parts[i].start) + PADDING_BYTES;

		bytes[i] = alloc_bounded(nr_bytes, 1, GATE_BYTES_MAX);
		code[i] = (struct gate_code){.start = parts[i].start,
					     .end = parts[i].end,
					     .bytes = bytes[i],
					     .next_start = next_start(wanted, parts[i].end)};
		if (bytes[i])
			code[i].nr_bytes =
				elf_image_read(image, parts[i].start, bytes[i], nr_bytes);
	}
	why = gate_exits_find(code, nr, read_image, image, &exits);
	if (why && !wanted->gate_refusal)
		wanted->gate_refusal =
			xasprintf("calls inside of %s cannot be counted: %s", name, why);
	for (size_t i = 0; i < nr && !why; i++) {
		if (parts[i].is_entered)
			wanted_add(wanted, WANTED_GATE_ENTRY, parts[i].start,
				   parts[i].end - parts[i].start, name);
	}
	if (!why)
		add_exits(wanted, &exits, name);
	for (size_t i = 0; i < nr; i++)
		free(bytes[i]);
	free(bytes);
	free(code);
	gate_exits_release(&exits);
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
		struct wanted_place *last = nr ? &wanted->places[nr - 1] : NULL;

		if (!last || last->address != wanted->places[i].address) {
			wanted->places[nr++] = wanted->places[i];
			continue;
		}
		last->is_gate_entry |= wanted->places[i].kind == WANTED_GATE_ENTRY;
		free(wanted->places[i].name);
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
	free(wanted->gate_refusal);
	*wanted = (struct wanted){.nr_places = 0};
}
