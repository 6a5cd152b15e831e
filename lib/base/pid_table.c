// SPDX-License-Identifier: GPL-2.0-or-later
/* Open addressing with linear probing; removal moves later rows of the same run up. */
#include "base/pid_table.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"

#define SMALLEST_CAP 64

void pid_table_release(struct pid_table *table)
{
	free(table->rows);
	*table = (struct pid_table){0};
}

static size_t home_of(const struct pid_table *table, pid_t pid)
{
	return ((uint32_t)pid * UINT32_C(2654435769) >> 7) & (table->cap - 1);
}

/* Its slot, or the slot where it would be put. */
static size_t slot_of(const struct pid_table *table, pid_t pid)
{
	size_t slot = home_of(table, pid);

	while (table->rows[slot].pid && table->rows[slot].pid != pid)
		slot = (slot + 1) & (table->cap - 1);
	return slot;
}

void *pid_table_get(const struct pid_table *table, pid_t pid)
{
	return table->cap ? table->rows[slot_of(table, pid)].value : NULL;
}

static void grow(struct pid_table *table)
{
	struct pid_table grown = {.cap = table->cap ? 2 * table->cap : SMALLEST_CAP};

	grown.rows = xcalloc(grown.cap, sizeof(*grown.rows));
	grown.nr = table->nr;
	for (size_t i = 0; i < table->cap; i++) {
		if (table->rows[i].pid)
			grown.rows[slot_of(&grown, table->rows[i].pid)] = table->rows[i];
	}
	free(table->rows);
	*table = grown;
}

void pid_table_set(struct pid_table *table, pid_t pid, void *value)
{
	struct pid_row *row;

	if (2 * (table->nr + 1) > table->cap)
		grow(table);
	row = &table->rows[slot_of(table, pid)];
	table->nr += !row->pid;
	*row = (struct pid_row){.pid = pid, .value = value};
}

/* Is `at` within the run of slots from `home` to `hole`, which may wrap around? */
static bool is_reached_over(size_t home, size_t hole, size_t at)
{
	return home <= at ? home <= hole && hole < at : home <= hole || hole < at;
}

void pid_table_remove(struct pid_table *table, pid_t pid)
{
	size_t hole, at;

	if (!table->cap)
		return;
	hole = slot_of(table, pid);
	if (!table->rows[hole].pid)
		return;
	table->nr--;
	for (at = (hole + 1) & (table->cap - 1); table->rows[at].pid;
	     at = (at + 1) & (table->cap - 1)) {
		if (!is_reached_over(home_of(table, table->rows[at].pid), hole, at))
			continue;
		table->rows[hole] = table->rows[at];
		hole = at;
	}
	table->rows[hole] = (struct pid_row){0};
}
