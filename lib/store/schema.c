// SPDX-License-Identifier: GPL-2.0-or-later
/* The columns of tables with rows of plain members. */
#include "store/schema_priv.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "profile/advances.h"
#include "profile/profile.h"
#include "store/bounds_priv.h"
#include "store/columns_priv.h"

#define CHOICE(row, member, nr)                                                                    \
	{                                                                                          \
		offsetof(struct row, member), sizeof(((struct row *)0)->member), SCHEMA_CHOICE, nr \
	}
#define COLUMN(row, member, type)                                                                  \
	{                                                                                          \
		offsetof(struct row, member), sizeof(((struct row *)0)->member), type, 0           \
	}
#define NUMBER(row, member) COLUMN(row, member, SCHEMA_NUMBER)
#define TIME(row, member)   COLUMN(row, member, SCHEMA_TIME)
#define TEXT(row, member)   COLUMN(row, member, SCHEMA_TEXT)
#define BOOL(row, member)   CHOICE(row, member, 2)
#define COLUMNS(...)                                                                               \
	.nr = ARRAY_SIZE(((const struct schema_column[]){__VA_ARGS__})), .columns = {__VA_ARGS__}

const struct schema schema_meta = {
	.nr_old = 13,
	COLUMNS(TEXT(profile_meta, version), TEXT(profile_meta, hostname),
		TEXT(profile_meta, kernel), TEXT(profile_meta, cpu_model), TEXT(profile_meta, arch),
		TEXT(profile_meta, unwinder), NUMBER(profile_meta, nr_cpus),
		NUMBER(profile_meta, frequency_hz), TIME(profile_meta, start_realtime_ns),
		TIME(profile_meta, duration_ns), NUMBER(profile_meta, max_overhead_ppm),
		BOOL(profile_meta, attached), COLUMN(profile_meta, exit_status, SCHEMA_SIGNED),
		BOOL(profile_meta, knows_calls), TEXT(profile_meta, within),
		BOOL(profile_meta, knows_freeing), BOOL(profile_meta, knows_waits)),
};

const struct schema schema_processes = {
	.nr_old = 8,
	.first = PROCESSES_ROW + 1,
	COLUMNS(COLUMN(profile_process, pid, SCHEMA_PID),
		COLUMN(profile_process, parent, SCHEMA_NO_PROCESS), TEXT(profile_process, name),
		TEXT(profile_process, exe), TEXT(profile_process, command),
		TIME(profile_process, start_ns), TIME(profile_process, end_ns)),
};

const struct schema schema_threads = {
	.nr_old = 6,
	.first = THREADS_ROW + 1,
	COLUMNS(COLUMN(profile_thread, process, SCHEMA_PROCESS),
		COLUMN(profile_thread, tid, SCHEMA_PID), TEXT(profile_thread, name),
		TIME(profile_thread, start_ns), TIME(profile_thread, end_ns)),
};

const struct schema schema_counters = {
	COLUMNS(TEXT(profile_counter, name), NUMBER(profile_counter, value)),
};

const struct schema schema_marks = {
	COLUMNS(TIME(profile_mark, time_ns), TEXT(profile_mark, text)),
};

const struct schema schema_jit_names = {
	COLUMNS(COLUMN(jit_name, frame, SCHEMA_FRAME), TEXT(jit_name, name), TEXT(jit_name, file),
		NUMBER(jit_name, line), TEXT(jit_name, function_file),
		NUMBER(jit_name, function_line)),
};

const struct schema schema_jit_sources = {
	.nr_old = 4,
	COLUMNS(COLUMN(jit_source, module, SCHEMA_MODULE),
		CHOICE(jit_source, source, SYMBOL_SOURCE_COUNT), TEXT(jit_source, path),
		TEXT(jit_source, problem), NUMBER(jit_source, owner)),
};

const struct schema schema_functions = {
	COLUMNS(TEXT(function, name), TEXT(function, linkage_name), TEXT(function, file),
		NUMBER(function, line)),
};

const struct schema schema_module_symbols = {
	.nr_old = 4,
	COLUMNS(CHOICE(module_symbols, source, SYMBOL_SOURCE_COUNT),
		TEXT(module_symbols, debug_path), TEXT(module_symbols, problem),
		BOOL(module_symbols, mismatched), NUMBER(module_symbols, owner)),
};

const struct schema schema_runs = {
	COLUMNS(TEXT(profile_run, command), TEXT(profile_run, hostname),
		NUMBER(profile_run, start_realtime_ns), NUMBER(profile_run, duration_ns)),
};

const struct schema schema_sources = {
	.nr_old = 3,
	COLUMNS(TEXT(profile_source, file), NUMBER(profile_source, nr_bytes),
		NUMBER(profile_source, modified_ns), TEXT(profile_source, text)),
};

const struct schema schema_listings = {
	COLUMNS(COLUMN(profile_listing, module, SCHEMA_MODULE), NUMBER(profile_listing, start),
		NUMBER(profile_listing, end), TEXT(profile_listing, text)),
};

const struct schema schema_refusals = {
	COLUMNS(COLUMN(profile_refusal, process, SCHEMA_PROCESS), TEXT(profile_refusal, function),
		TEXT(profile_refusal, module), TEXT(profile_refusal, reason)),
};

const struct schema schema_searches = {
	.nr_old = 5,
	COLUMNS(NUMBER(profile_search, time_ns), COLUMN(profile_search, process, SCHEMA_PROCESS),
		NUMBER(profile_search, stop_ns), NUMBER(profile_search, nr_bytes),
		TEXT(profile_search, why_not), TEXT(profile_search, mark)),
};

const struct schema schema_waits = {
	.first = 1,
	COLUMNS(COLUMN(profile_wait, process, SCHEMA_PROCESS),
		CHOICE(profile_wait, kind, WAIT_KIND_COUNT), NUMBER(profile_wait, number),
		COLUMN(profile_wait, place, SCHEMA_NO_FRAME), TEXT(profile_wait, name),
		COLUMN(profile_wait, owner, SCHEMA_NO_THREAD), TEXT(profile_wait, peer)),
};

const struct schema schema_advances = {
	COLUMNS(TIME(profile_advance, time_ns), COLUMN(profile_advance, thread, SCHEMA_THREAD),
		COLUMN(profile_advance, before, SCHEMA_STACK),
		COLUMN(profile_advance, after, SCHEMA_STACK),
		CHOICE(profile_advance, end, STACK_END_COUNT), BOOL(profile_advance, is_seen),
		CHOICE(profile_advance, counter, NR_KERNEL_COUNTERS),
		NUMBER(profile_advance, amount)),
};

static uint64_t load(const struct schema_column *column, const void *row)
{
	const uint8_t *member = (const uint8_t *)row + column->offset;
	uint32_t value;

	if (column->nr_bytes == sizeof(uint64_t)) {
		uint64_t wide;

		memcpy(&wide, member, sizeof(wide));
		return wide;
	}
	if (column->nr_bytes == sizeof(uint8_t))
		return *member;
	assert(column->nr_bytes == sizeof(value));
	memcpy(&value, member, sizeof(value));
	return value;
}

static void save(const struct schema_column *column, void *row, uint64_t value)
{
	uint8_t *member = (uint8_t *)row + column->offset;
	uint32_t narrow = (uint32_t)value;

	if (column->nr_bytes == sizeof(value))
		memcpy(member, &value, sizeof(value));
	else if (column->nr_bytes == sizeof(uint8_t))
		*member = (uint8_t)value;
	else
		memcpy(member, &narrow, sizeof(narrow));
}

static bool is_plus_one(const struct schema_column *column)
{
	return column->type >= SCHEMA_NO_FRAME;
}

void schema_put(const struct schema *schema, struct columns_out *out, const void *row)
{
	for (unsigned int i = 0; i < schema->nr; i++) {
		const struct schema_column *column = &schema->columns[i];
		uint64_t value = load(column, row);

		if (column->type == SCHEMA_SIGNED)
			columns_out_delta(out, schema->first + i, (uint64_t)(int32_t)value, 0);
		else if (is_plus_one(column)) /* UINT32_MAX wraps to 0 */
			columns_out_uint(out, schema->first + i, (uint32_t)(value + 1));
		else
			columns_out_uint(out, schema->first + i, value);
	}
}

/* The number of values that a column may have, from 0 on. */
static uint64_t nr_values(const struct schema_column *column, const struct profile *profile)
{
	switch ((enum schema_type)column->type) {
	case SCHEMA_NUMBER:
		break;
	case SCHEMA_SIGNED:
		return UINT64_MAX;
	case SCHEMA_TIME:
		return TIME_MAX_NS + 1;
	case SCHEMA_CHOICE:
		return column->nr_choices;
	case SCHEMA_PID:
		return (uint64_t)INT32_MAX + 1;
	case SCHEMA_TEXT:
		return strtab_nr(profile->strings);
	case SCHEMA_MODULE:
		return module_table_nr(profile->modules);
	case SCHEMA_PROCESS:
		return profile->nr_processes;
	case SCHEMA_THREAD:
		return profile->nr_threads;
	case SCHEMA_STACK:
		return stack_trie_nr(profile->stacks);
	case SCHEMA_FRAME:
		return profile->nr_frames;
	case SCHEMA_NO_FRAME:
		return profile->nr_frames + 1;
	case SCHEMA_NO_THREAD:
		return profile->nr_threads + 1;
	case SCHEMA_NO_PROCESS:
		return profile->nr_processes + 1;
	}
	return column->nr_bytes == sizeof(uint64_t) ? 0 : (uint64_t)UINT32_MAX + 1;
}

bool schema_take(const struct schema *schema, struct columns_in *in, const struct profile *profile,
		 void *row)
{
	for (unsigned int i = 0; i < schema->nr; i++) {
		const struct schema_column *column = &schema->columns[i];
		uint64_t nr = nr_values(column, profile);
		bool is_any = column->type == SCHEMA_NUMBER && nr == 0;
		uint64_t value = columns_in_uint(in, schema->first + i);

		if (!is_any && value >= nr)
			return false;
		if (column->type == SCHEMA_SIGNED)
			value = columns_in_delta(in, schema->first + i, 0);
		save(column, row, value - is_plus_one(column));
	}
	return true;
}

bool schema_equal(const struct schema *schema, const void *a, const void *b)
{
	for (unsigned int i = 0; i < schema->nr; i++)
		if (load(&schema->columns[i], a) != load(&schema->columns[i], b))
			return false;
	return true;
}
