// SPDX-License-Identifier: GPL-2.0-or-later
/* The tables of a profile as the schema has them, and rows of one profile in another. */
#include <string.h>

#include "base/alloc.h"
#include "profile/profile.h"
#include "profile/renumber.h"
#include "profile/schema.h"
#include "tests/unit/unit.h"

static bool overlap(const struct schema_column *a, const struct schema_column *b)
{
	return a->offset < b->offset + b->nr_bytes && b->offset < a->offset + a->nr_bytes;
}

static void check_column(const struct schema *schema, const struct schema_column *column)
{
	bool is_row = column->type >= SCHEMA_ROW;
	bool is_time = !is_row && column->type >= SCHEMA_TIME;

	assert_true(column->offset + column->nr_bytes <= schema->row_bytes || !column->nr_bytes);
	/* What is no member has a coder, and bytes never are one. */
	assert_true(column->nr_bytes || column->form >= SCHEMA_CODED);
	assert_false(column->nr_bytes && column->form == SCHEMA_CODED_BYTES);
	assert_true(!column->nr_bytes || !is_row || column->nr_bytes == sizeof(uint32_t));
	assert_true(!column->nr_bytes || !is_time || column->nr_bytes == sizeof(uint64_t));
	assert_true(!column->nr_bytes || !is_row || schemas[column->of].title);
	assert_true(column->type != SCHEMA_CHOICE || column->of > 0);
	for (const struct schema_column *other = schema->columns; other != column; other++) {
		assert_string_not_equal(other->name, column->name);
		assert_false(overlap(other, column));
	}
}

TEST(schema, columns_are_members_of_their_rows)
{
	unsigned int nr = 0;

	for (int type = 0; type < RECORD_TYPE_COUNT; type++) {
		const struct schema *schema = &schemas[type];

		if (!schema->title)
			continue;
		nr++;
		assert_in_range(schema->nr_old, 1, schema->nr);
		for (unsigned int i = 0; i < schema->nr; i++)
			check_column(schema, &schema->columns[i]);
	}
	assert_true(nr >= 30);
}

/* A value of a member in a row of which all other bytes are 0xaa. */
static void check_member(const struct schema_column *column, size_t row_bytes)
{
	uint8_t *row = xmalloc(row_bytes);
	const uint64_t value = UINT64_C(0x0102030405060708) >> 8 * (8 - column->nr_bytes);

	memset(row, 0xaa, row_bytes);
	schema_save(column, row, value);
	assert_int_equal(schema_load(column, row), value);
	for (size_t i = 0; i < row_bytes; i++)
		assert_true((i >= column->offset && i < column->offset + column->nr_bytes) ||
			    row[i] == 0xaa);
	free(row);
}

TEST(schema, saves_what_it_loads)
{
	for (int type = 0; type < RECORD_TYPE_COUNT; type++)
		for (unsigned int i = 0; i < schemas[type].nr; i++)
			if (schemas[type].columns[i].nr_bytes)
				check_member(&schemas[type].columns[i], schemas[type].row_bytes);
}

TEST(renumber, rows_and_times_change)
{
	uint32_t texts[] = {0, 7, 8}, processes[] = {4, 5}, frames[] = {9}, waits[] = {6};
	struct renumbering map = {.offset_ns = 1000};
	struct profile_process process = {
		.pid = 1, .parent = 1, .name = {2}, .exe = {1}, .start_ns = 5, .end_ns = 6};
	struct profile_count count = {
		.where = {0}, .callee = COUNT_NO_CALLEE, .calls = 1, .from_ns = 1, .to_ns = 2};
	struct sample sample = {.time_ns = 1, .cpu_ns = 1, .stack = {3}, .wait = 1};

	map.rows[RECORD_STRINGS] = texts;
	map.rows[RECORD_PROCESSES] = processes;
	map.rows[RECORD_FRAMES] = frames;
	map.rows[RECORD_WAITS] = waits;
	renumber(&map, RECORD_PROCESSES, &process);
	assert_int_equal(process.pid, 1);
	assert_int_equal(process.parent, 5);
	assert_int_equal(process.name.v, 8);
	assert_int_equal(process.exe.v, 7);
	assert_int_equal(process.command.v, 0);
	assert_int_equal(process.start_ns, 1005);
	assert_int_equal(process.end_ns, 1006);
	renumber(&map, RECORD_COUNTS, &count);
	assert_int_equal(count.process, 4);
	assert_int_equal(count.where.v, 9);
	assert_int_equal(count.callee.v, COUNT_NO_CALLEE.v);
	assert_int_equal(count.calls, 1);
	assert_int_equal(count.from_ns, 1001);
	assert_int_equal(count.to_ns, 1002);
	renumber(&map, RECORD_SAMPLES, &sample);
	assert_int_equal(sample.time_ns, 1001);
	assert_int_equal(sample.cpu_ns, 1);
	assert_int_equal(sample.stack.v, 3); /* the map has no stacks */
	assert_int_equal(sample.wait, 7);
}

TEST(renumber, what_is_none_stays_none)
{
	uint32_t processes[] = {4};
	struct renumbering map = {.offset_ns = 1000};
	struct profile_process process = {.parent = PROCESS_NONE, .start_ns = 1};
	struct sample sample = {.wait = 0};

	map.rows[RECORD_PROCESSES] = processes;
	map.rows[RECORD_WAITS] = processes;
	renumber(&map, RECORD_PROCESSES, &process);
	renumber(&map, RECORD_SAMPLES, &sample);
	assert_int_equal(process.parent, PROCESS_NONE);
	assert_int_equal(process.end_ns, 0); /* it lives */
	assert_int_equal(sample.wait, 0);
}

TEST(renumber, texts_alone)
{
	struct profile *from = profile_new(), *into = profile_new();
	struct profile_run row = {.command = profile_intern(from, "./prog"), .duration_ns = 5};

	profile_intern(into, "other");
	renumber_texts(into, from, RECORD_RUNS, &row);
	assert_string_equal(profile_str(into, row.command), "./prog");
	assert_string_equal(profile_str(into, row.hostname), "");
	assert_int_equal(row.duration_ns, 5);
	profile_free(from);
	profile_free(into);
}
