// SPDX-License-Identifier: GPL-2.0-or-later
#include "patch/patch_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* Upper halves of addresses. */
#define UPPER (~(uint64_t)UINT32_MAX)
/* A shape, without the padding at its end: two are equal if these bytes are. */
#define SHAPE_AT    offsetof(struct patch, stub)
#define SHAPE_BYTES (offsetof(struct patch, steps) + sizeof(((struct patch *)0)->steps) - SHAPE_AT)

static bool has_callee(const struct patch *shape)
{
	return shape->callee_kind == PATCH_CALLEE_DIRECT ||
	       shape->callee_kind == PATCH_CALLEE_IN_WORD || shape->kind == PATCH_SITE;
}

/* How many bytes a patch of this shape has in the table. */
static size_t nr_bytes_of(const struct patch *shape)
{
	return 2u * patch_nr_known(shape) + shape->nr_before +
	       (has_callee(shape) ? sizeof(shape->callee) : 0);
}

bool patch_window_has(const struct patch_window *patch, const uint8_t *wanted, const uint8_t *there)
{
	if (memcmp(there, wanted, patch->nr_bytes) != 0)
		return false;
	for (size_t i = patch->nr_bytes; i < patch->nr_known; i++) {
		if (there[i] != wanted[i] && !patch_is_breakpoint(there[i]))
			return false;
	}
	return true;
}

void patch_table_get(const struct patch_table *table, size_t index, struct patch *patch)
{
	const struct patch_window window = patch_table_window(table, index);

	*patch = *patch_table_shape(table, index);
	patch->address = window.address;
	patch->thunk = patch_table_thunk(table, index);
	memcpy(patch->old, window.old, window.nr_known);
	memcpy(patch->new, window.new, window.nr_known);
	memcpy(patch->before, window.before, window.nr_before);
	if (has_callee(patch))
		memcpy(&patch->callee, window.before + window.nr_before, sizeof(patch->callee));
}

size_t patch_table_size(size_t nr, size_t nr_shapes, size_t nr_bytes)
{
	return nr * sizeof(struct patch_row) + nr_shapes * sizeof(struct patch) + nr_bytes;
}

size_t patch_table_max_size(size_t nr)
{
	return patch_table_size(nr, nr < PATCH_SHAPES_MAX ? nr : PATCH_SHAPES_MAX,
				nr * PATCH_ROW_MAX_BYTES);
}

struct patch_table patch_table_over(const void *at, size_t nr, size_t nr_shapes, size_t nr_bytes)
{
	const struct patch_row *rows = at;
	const struct patch *shapes = (const void *)(rows + nr);

	return (struct patch_table){.rows = rows,
				    .shapes = shapes,
				    .bytes = (const void *)(shapes + nr_shapes),
				    .nr = nr,
				    .nr_shapes = nr_shapes,
				    .nr_bytes = nr_bytes};
}

static bool is_sound_shape(const struct patch *shape)
{
	return shape->nr_bytes && shape->nr_bytes <= PATCH_MAX_BYTES &&
	       shape->nr_before <= PATCH_MAX_BEFORE && shape->nr_steps <= PATCH_MAX_STEPS &&
	       !(shape->pads >> PATCH_SITE_BYTES);
}

bool patch_table_is_sound(const struct patch_table *table)
{
	uint64_t end = 0; /* of the patch before */

	for (size_t i = 0; i < table->nr_shapes; i++) {
		if (!is_sound_shape(&table->shapes[i]))
			return false;
	}
	for (size_t i = 0; i < table->nr; i++) {
		const struct patch_row *row = &table->rows[i];
		const struct patch *shape;
		uint64_t address;

		if (row->shape >= table->nr_shapes)
			return false;
		shape = patch_table_shape(table, i);
		address = patch_table_address(table, i);
		if (address < end || address > UINT64_MAX - PATCH_MAX_BYTES ||
		    address < shape->nr_before || row->bytes_at > table->nr_bytes ||
		    nr_bytes_of(shape) > table->nr_bytes - row->bytes_at)
			return false;
		end = address + shape->nr_bytes;
	}
	return true;
}

static bool has_equal_shape(const void *owner, uint32_t index, const void *key)
{
	const struct patch_table_maker *maker = owner;
	const struct patch *shape = &maker->shapes[index], *patch = key;

	return shape->address == (patch->address & UPPER) &&
	       shape->thunk == (patch->thunk & UPPER) &&
	       memcmp((const uint8_t *)shape + SHAPE_AT, (const uint8_t *)patch + SHAPE_AT,
		      SHAPE_BYTES) == 0;
}

/* INDEX_NONE: there are too many. */
static uint32_t find_shape(struct patch_table_maker *maker, const struct patch *patch)
{
	uint64_t hash = hash_bytes((const uint8_t *)patch + SHAPE_AT, SHAPE_BYTES);
	uint32_t index = index_set_find(&maker->known, hash, has_equal_shape, maker, patch);
	struct patch *shape;

	if (index != INDEX_NONE || maker->nr_shapes == PATCH_SHAPES_MAX)
		return index;
	ARRAY_GROW(maker->shapes, maker->nr_shapes, maker->cap_shapes);
	index = (uint32_t)maker->nr_shapes++;
	shape = &maker->shapes[index];
	*shape = (struct patch){.address = patch->address & UPPER, .thunk = patch->thunk & UPPER};
	memcpy((uint8_t *)shape + SHAPE_AT, (const uint8_t *)patch + SHAPE_AT, SHAPE_BYTES);
	index_set_add(&maker->known, hash, index);
	return index;
}

/* Most are among those of the patches just before. */
static uint32_t index_of_shape(struct patch_table_maker *maker, const struct patch *patch)
{
	size_t at = (patch->nr_thunk_bytes * 5u + patch->nr_bytes) % ARRAY_SIZE(maker->recent);
	uint32_t index = maker->recent[at];

	if (index && has_equal_shape(maker, index - 1, patch))
		return index - 1;
	index = find_shape(maker, patch);
	if (index < UINT16_MAX)
		maker->recent[at] = (uint16_t)(index + 1);
	return index;
}

static void add_bytes(struct patch_table_maker *maker, const void *bytes, size_t nr_bytes)
{
	ARRAY_RESERVE(maker->bytes, maker->nr_bytes + nr_bytes, maker->cap_bytes);
	memcpy(maker->bytes + maker->nr_bytes, bytes, nr_bytes);
	maker->nr_bytes += nr_bytes;
}

bool patch_table_add(struct patch_table_maker *maker, const struct patch *patch)
{
	struct patch_row row = {.address = (uint32_t)patch->address,
				.thunk = (uint32_t)patch->thunk,
				.bytes_at = (uint32_t)maker->nr_bytes};
	uint32_t shape;

	assert(maker->nr_bytes <= UINT32_MAX - PATCH_ROW_MAX_BYTES);
	shape = index_of_shape(maker, patch);
	if (shape == INDEX_NONE)
		return false;
	row.shape = (uint16_t)shape;
	add_bytes(maker, patch->old, patch_nr_known(patch));
	add_bytes(maker, patch->new, patch_nr_known(patch));
	add_bytes(maker, patch->before, patch->nr_before);
	if (has_callee(patch))
		add_bytes(maker, &patch->callee, sizeof(patch->callee));
	ARRAY_GROW(maker->rows, maker->nr, maker->cap);
	maker->rows[maker->nr++] = row;
	return true;
}

void patch_table_note(struct patch_table_maker *maker, size_t index, uint16_t breakpoints)
{
	maker->rows[index].breakpoints = breakpoints;
}

void patch_table_void(struct patch_table_maker *maker, size_t index)
{
	const struct patch_row *row = &maker->rows[index];
	size_t nr_bytes = patch_nr_known(&maker->shapes[row->shape]);

	memcpy(maker->bytes + row->bytes_at + nr_bytes, maker->bytes + row->bytes_at, nr_bytes);
}

struct patch_table patch_table_made(const struct patch_table_maker *maker)
{
	return (struct patch_table){.rows = maker->rows,
				    .shapes = maker->shapes,
				    .bytes = maker->bytes,
				    .nr = maker->nr,
				    .nr_shapes = maker->nr_shapes,
				    .nr_bytes = maker->nr_bytes};
}

void patch_table_maker_release(struct patch_table_maker *maker)
{
	free(maker->rows);
	free(maker->shapes);
	free(maker->bytes);
	index_set_release(&maker->known);
	*maker = (struct patch_table_maker){.nr = 0};
}
