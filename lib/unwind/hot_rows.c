// SPDX-License-Identifier: GPL-2.0-or-later
/* The cache of rows by pc, for frequent frames. */
#include "unwind/hot_rows.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "unwind/unwind.h"

/* Number of lines: 32 KiB at first, at most 2 MiB. Compilers have 10,000 frequent pcs. */
#define FIRST_BITS 9
#define LAST_BITS  15

static size_t nr_lines(const struct hot_rows *hot)
{
	return (size_t)1 << (64 - hot->shift);
}

static void allocate(struct hot_rows *hot, unsigned int bits)
{
	hot->shift = 64 - bits;
	hot->nr_used = 0;
	hot->slots = xcalloc(nr_lines(hot), 2 * sizeof(*hot->slots));
}

void hot_rows_init(struct hot_rows *hot)
{
	allocate(hot, FIRST_BITS);
}

void hot_rows_release(struct hot_rows *hot)
{
	free(hot->slots);
	*hot = (struct hot_rows){0};
}

/* The slot of a key, or a free one, else the older one of the line. */
static struct hot_row *place_of(struct hot_rows *hot, uint64_t key)
{
	struct hot_row *line = hot_rows_line(hot, key);

	if (!line[0].key || line[0].key == key)
		return &line[0];
	if (!line[1].key || line[1].key == key)
		return &line[1];
	line[1] = line[0];
	return &line[0];
}

static void put(struct hot_rows *hot, const struct hot_row *row)
{
	struct hot_row *place = place_of(hot, row->key);

	hot->nr_used += !place->key;
	*place = *row;
}

static void grow(struct hot_rows *hot)
{
	struct hot_row *old = hot->slots;
	size_t nr_old = nr_lines(hot) * 2;

	allocate(hot, 64 - hot->shift + 1);
	for (size_t i = 0; i < nr_old; i++) {
		if (old[i].key)
			put(hot, &old[i]);
	}
	free(old);
}

/* Rows that hot_walk() handles. */
static bool is_plain(const struct arch_regs *arch, const struct row *row)
{
	return row->kind == ROW_STEP && !row->is_unproved && row->ra == ROW_RA_AT_CFA &&
	       row->ra_offset == -8 && !row->caller_is_exact &&
	       !(row->saves_eh && row->is_from_code) &&
	       (row->cfa_reg == arch->sp || row->cfa_reg == arch->fp) && row->fp != ROW_FP_AT_FP &&
	       (row->fp != ROW_FP_AT_CFA || row->fp_offset == (int16_t)row->fp_offset);
}

static void describe(struct hot_row *hot, const struct arch_regs *arch, const struct row *row)
{
	if (!is_plain(arch, row))
		return;
	hot->cfa_offset = row->cfa_offset;
	hot->rule = row->rule;
	hot->flags = HOT_IS_STEP;
	if (row->cfa_reg == arch->fp)
		hot->flags |= HOT_CFA_FROM_FP;
	if (row->fp == ROW_FP_LOST)
		hot->flags |= HOT_FP_LOST;
	if (row->fp == ROW_FP_AT_CFA) {
		hot->flags |= HOT_FP_AT_CFA;
		hot->fp_offset = (int16_t)row->fp_offset;
	}
}

void hot_rows_add(struct hot_rows *hot, const struct arch_regs *arch, uint32_t stamp,
		  const struct unwind_frame *frame, const struct row *row)
{
	struct hot_row fresh = {
		.key = hot_key(frame->pc, frame->is_exact),
		.stamp = stamp,
		.module = frame->lookup.module.v,
		.address = frame->lookup.address,
	};

	if (frame->pc >> 63 || !frame->pc)
		return;
	if (hot->nr_used > nr_lines(hot) && hot->shift > 64 - LAST_BITS)
		grow(hot);
	describe(&fresh, arch, row);
	put(hot, &fresh);
}
