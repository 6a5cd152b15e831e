/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_PATCH_PATCH_TABLE_H
#define PROFC_PATCH_PATCH_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/index_set.h"
#include "patch/patch.h"

/*
 * Many patches in little memory, and without pointers: 100,000 functions have some hundred kinds of
 * beginnings, and all that patches have in common is there once, as a shape.
 */
struct patch_row {
	uint32_t address, thunk; /* the lower halves: a shape has the upper ones */
	uint32_t bytes_at;
	uint16_t shape;
	/* patch_breakpoints_of() the file between this patch and the next; 0: also not known */
	uint16_t breakpoints;
};

/*
 * More of a patch in `bytes`: old and new ones, those before, and the callee's address, or that of
 * the semaphore, if known.
 */
#define PATCH_ROW_MAX_BYTES (2 * PATCH_MAX_BYTES + PATCH_MAX_BEFORE + sizeof(uint64_t))
#define PATCH_SHAPES_MAX    ((size_t)1 << 16)

/* Borrowed; any thread may read it. */
struct patch_table {
	const struct patch_row *rows;
	const struct patch *shapes; /* without what rows and bytes have */
	const uint8_t *bytes;
	size_t nr, nr_shapes, nr_bytes;
};

/* A part of a patch, which takes no time to find. */
struct patch_window {
	uint64_t address;
	const uint8_t *old, *new, *before;
	uint8_t nr_bytes, nr_known, nr_before; /* see patch_nr_known() */
	enum patch_kind kind;
	uint16_t breakpoints;
};

static inline const struct patch *patch_table_shape(const struct patch_table *table, size_t index)
{
	return &table->shapes[table->rows[index].shape];
}

static inline uint64_t patch_table_address(const struct patch_table *table, size_t index)
{
	return patch_table_shape(table, index)->address + table->rows[index].address;
}

static inline uint64_t patch_table_thunk(const struct patch_table *table, size_t index)
{
	return patch_table_shape(table, index)->thunk + table->rows[index].thunk;
}

static inline struct patch_window patch_table_window(const struct patch_table *table, size_t index)
{
	const struct patch *shape = patch_table_shape(table, index);
	const uint8_t *bytes = table->bytes + table->rows[index].bytes_at;

	return (struct patch_window){.address = patch_table_address(table, index),
				     .old = bytes,
				     .new = bytes + patch_nr_known(shape),
				     .before = bytes + 2 * patch_nr_known(shape),
				     .nr_bytes = shape->nr_bytes,
				     .nr_known = (uint8_t)patch_nr_known(shape),
				     .nr_before = shape->nr_before,
				     .kind = shape->kind,
				     .breakpoints = table->rows[index].breakpoints};
}

/*
 * Are these its old bytes, or its new ones, at its place? Those that a static probe leaves as they
 * are have to be there as well, but for breakpoints of other tools.
 */
bool patch_window_has(const struct patch_window *patch, const uint8_t *wanted,
		      const uint8_t *there);

/* All of a patch. */
void patch_table_get(const struct patch_table *table, size_t index, struct patch *patch);

/* A table from rows, shapes and bytes in a row; `at` is aligned to eight bytes. */
struct patch_table patch_table_over(const void *at, size_t nr, size_t nr_shapes, size_t nr_bytes);
/* The bytes of all parts of one, and at most so many for a number of patches. */
size_t patch_table_size(size_t nr, size_t nr_shapes, size_t nr_bytes);
size_t patch_table_max_size(size_t nr);
/*
 * Of one that may have been written to by anybody: are its patches by address, none overlaps
 * another, and is all that they refer to in the table?
 */
bool patch_table_is_sound(const struct patch_table *table);

/* A table that is being made. Zero-initialised is empty. */
struct patch_table_maker {
	struct patch_row *rows; /* owned, as the next */
	struct patch *shapes;
	uint8_t *bytes;
	size_t nr, cap, nr_shapes, cap_shapes, nr_bytes, cap_bytes;
	struct index_set known; /* shapes */
	uint16_t recent[64];	/* one more than the index of a shape that was used lately; or 0 */
};

/* Add a patch after the last one. False: there are too many shapes. */
bool patch_table_add(struct patch_table_maker *maker, const struct patch *patch);
/* Note the breakpoints behind a patch. */
void patch_table_note(struct patch_table_maker *maker, size_t index, uint16_t breakpoints);
/* Have a patch change nothing. */
void patch_table_void(struct patch_table_maker *maker, size_t index);
/* Valid up to the next change. */
struct patch_table patch_table_made(const struct patch_table_maker *maker);
void patch_table_maker_release(struct patch_table_maker *maker);

#endif
