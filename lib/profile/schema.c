// SPDX-License-Identifier: GPL-2.0-or-later
/* The tables of a profile, column by column, as files have them. */
#include "profile/schema.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "profile/advances.h"
#include "profile/profile.h"

#define COLUMN(name, row, member, type, of, form)                                                  \
	{                                                                                          \
		name, offsetof(struct row, member), sizeof(((struct row *)0)->member), type, of,   \
			form                                                                       \
	}
#define PLAIN(name, row, member, type) COLUMN(name, row, member, type, 0, SCHEMA_PLAIN)
#define NUMBER(name, row, member)      PLAIN(name, row, member, SCHEMA_NUMBER)
#define NS(name, row, member)	       PLAIN(name, row, member, SCHEMA_NS)
#define SPAN(name, row, member)	       PLAIN(name, row, member, SCHEMA_SPAN)
#define TIME(name, row, member)	       PLAIN(name, row, member, SCHEMA_TIME)
#define ENDS(name, row, member)	       PLAIN(name, row, member, SCHEMA_END)
#define PID(name, row, member)	       PLAIN(name, row, member, SCHEMA_PID)
#define CHOICE(name, row, member, nr)  COLUMN(name, row, member, SCHEMA_CHOICE, nr, SCHEMA_PLAIN)
#define BOOL(name, row, member)	       CHOICE(name, row, member, 2)
#define ROW(name, row, member, table)  COLUMN(name, row, member, SCHEMA_ROW, table, SCHEMA_PLAIN)
#define TEXT(name, row, member)	       ROW(name, row, member, RECORD_STRINGS)
#define ROW_OR_NONE(name, row, member, table)                                                      \
	COLUMN(name, row, member, SCHEMA_ROW_OR_NONE, table, SCHEMA_PLAIN)
#define DIFFERENCE(name, row, member, type, of)                                                    \
	COLUMN(name, row, member, type, of, SCHEMA_DIFFERENCE)
/* Columns that are no members. */
#define CODED(name, type, form)                                                                    \
	{                                                                                          \
		name, 0, 0, type, 0, form                                                          \
	}
#define CODED_NUMBER(name) CODED(name, SCHEMA_NUMBER, SCHEMA_CODED_NUMBER)
#define CODED_SIGNED(name) CODED(name, SCHEMA_NUMBER, SCHEMA_CODED_SIGNED)
#define NUMBER_OF(name, table)                                                                     \
	{                                                                                          \
		name, 0, 0, SCHEMA_NUMBER, table, SCHEMA_CODED                                     \
	}
#define CODED_BYTES(name) CODED(name, SCHEMA_NUMBER, SCHEMA_CODED_BYTES)

static const struct schema_column meta[] = {
	TEXT("version", profile_meta, version),
	TEXT("hostname", profile_meta, hostname),
	TEXT("kernel", profile_meta, kernel),
	TEXT("CPU model", profile_meta, cpu_model),
	TEXT("architecture", profile_meta, arch),
	TEXT("unwinder", profile_meta, unwinder),
	NUMBER("CPUs", profile_meta, nr_cpus),
	NUMBER("frequency", profile_meta, frequency_hz),
	SPAN("start", profile_meta, start_realtime_ns),
	SPAN("duration", profile_meta, duration_ns),
	NUMBER("max overhead", profile_meta, max_overhead_ppm),
	BOOL("attached", profile_meta, attached),
	PLAIN("exit status", profile_meta, exit_status, SCHEMA_SIGNED),
	BOOL("knows calls", profile_meta, knows_calls),
	TEXT("within", profile_meta, within),
	BOOL("knows freeing", profile_meta, knows_freeing),
	BOOL("knows waits", profile_meta, knows_waits),
	BOOL("knows faults", profile_meta, knows_faults),
};

static const struct schema_column command[] = {
	TEXT("argument", str_id, v),
};

static const struct schema_column strings[] = {
	CODED_NUMBER("length"),
	CODED_BYTES("text"),
};

static const struct schema_column modules[] = {
	CHOICE("kind", module, kind, MODULE_KIND_SCRIPT + 1),
	PID("owner", module, owner_pid),
	BOOL("deleted", module, deleted),
	NUMBER("device", module, dev),
	NUMBER("inode", module, inode),
	NUMBER("size", module, file_bytes),
	CODED_NUMBER("path length"),
	CODED_BYTES("path"),
	CODED_NUMBER("build-id length"),
	CODED_BYTES("build-id"),
	NS("modified", module, modified_ns),
	NUMBER("image offset", module, image_offset),
	NUMBER("fingerprint", module, fingerprint),
};

static const struct schema_column processes[] = {
	CODED_NUMBER("number"),
	PID("pid", profile_process, pid),
	ROW_OR_NONE("parent", profile_process, parent, RECORD_PROCESSES),
	TEXT("name", profile_process, name),
	TEXT("executable", profile_process, exe),
	TEXT("command", profile_process, command),
	TIME("start", profile_process, start_ns),
	ENDS("end", profile_process, end_ns),
	CODED_NUMBER("user"),
	CODED_NUMBER("system"),
	NUMBER("faults", profile_process, split.nr_faults),
	NUMBER("unseen", profile_process, nr_unseen),
	BOOL("stands", profile_process, stands_for_unseen),
	NUMBER("children", profile_process, children_ns),
	TEXT("context", profile_process, context),
	TEXT("not read", profile_process, context_problem),
};

static const struct schema_column threads[] = {
	CODED_NUMBER("number"),
	ROW("process", profile_thread, process, RECORD_PROCESSES),
	PID("tid", profile_thread, tid),
	TEXT("name", profile_thread, name),
	TIME("start", profile_thread, start_ns),
	ENDS("end", profile_thread, end_ns),
	CODED_NUMBER("user"),
	CODED_NUMBER("system"),
	NUMBER("faults", profile_thread, split.nr_faults),
	NUMBER("switches", profile_thread, nr_switches),
	BOOL("stands", profile_thread, stands_for_unseen),
	BOOL("missed", profile_thread, was_missed),
};

static const struct schema_column frames[] = {
	ROW("module", frame, where.module, RECORD_MODULES),
	DIFFERENCE("address", frame, where.address, SCHEMA_NUMBER, 0),
};

static const struct schema_column stacks[] = {
	CODED_NUMBER("caller"),
	CODED("frame", SCHEMA_ROW, SCHEMA_CODED),
};

/* There are millions of rows: their coder has all columns, as that of allocations. */
static const struct schema_column samples[] = {
	ROW("thread", sample, thread, RECORD_THREADS),
	CHOICE("kind", sample, kind, SAMPLE_KIND_COUNT),
	CHOICE("end", sample, end, STACK_END_COUNT),
	NUMBER("count", sample, nr),
	CODED_NUMBER("system call"),
	NS("runq", sample, runq_ns),
	CODED("minor", SCHEMA_NS, SCHEMA_CODED),
	CODED_SIGNED("major"),
	COLUMN("time", sample, time_ns, SCHEMA_TIME, 0, SCHEMA_CODED_SIGNED),
	ROW("stack", sample, stack, RECORD_STACKS),
	COLUMN("wait", sample, wait, SCHEMA_ROW_PLUS_ONE, RECORD_WAITS, SCHEMA_PLAIN),
	ROW("kernel", sample, kernel, RECORD_STACKS),
	COLUMN("labels", sample, labels, SCHEMA_ROW_PLUS_ONE, RECORD_LABELS, SCHEMA_PLAIN),
};

static const struct schema_column counters[] = {
	TEXT("name", profile_counter, name),
	NUMBER("value", profile_counter, value),
};

static const struct schema_column marks[] = {
	TIME("time", profile_mark, time_ns),
	TEXT("text", profile_mark, text),
};

static const struct schema_column functions[] = {
	TEXT("name", function, name),	  TEXT("linkage name", function, linkage_name),
	TEXT("file", function, file),	  NUMBER("line", function, line),
	TEXT("shared", function, shared),
};

static const struct schema_column locations[] = {
	CODED_NUMBER("frame"),
	ROW("function", location, function, RECORD_FUNCTIONS),
	TEXT("file", location, file),
	NUMBER("line", location, line),
};

static const struct schema_column module_symbols[] = {
	CHOICE("source", module_symbols, source, SYMBOL_SOURCE_COUNT),
	TEXT("debug file", module_symbols, debug_path),
	TEXT("problem", module_symbols, problem),
	BOOL("mismatched", module_symbols, mismatched),
	NUMBER("owner", module_symbols, owner),
};

static const struct schema_column end[] = {
	NUMBER_OF("texts", RECORD_STRINGS),	      NUMBER_OF("modules", RECORD_MODULES),
	NUMBER_OF("processes", RECORD_PROCESSES),     NUMBER_OF("threads", RECORD_THREADS),
	NUMBER_OF("frames", RECORD_FRAMES),	      NUMBER_OF("stacks", RECORD_STACKS),
	NUMBER_OF("samples", RECORD_SAMPLES),	      NUMBER_OF("functions", RECORD_FUNCTIONS),
	NUMBER_OF("locations", RECORD_LOCATIONS),     CODED_NUMBER("complete"),
	NUMBER_OF("counts", RECORD_COUNTS),	      NUMBER_OF("refusals", RECORD_REFUSALS),
	NUMBER_OF("allocations", RECORD_ALLOCATIONS), NUMBER_OF("moments", RECORD_MOMENTS),
};

static const struct schema_column allocations[] = {
	CODED_SIGNED("number"),
	COLUMN("time", profile_allocation, time_ns, SCHEMA_TIME, 0, SCHEMA_CODED_NUMBER),
	COLUMN("life", profile_allocation, freed_ns, SCHEMA_END, 0, SCHEMA_CODED_NUMBER),
	ROW_OR_NONE("freed by", profile_allocation, freed_by, RECORD_THREADS),
	NUMBER("size", profile_allocation, size_bytes),
	DIFFERENCE("mean", profile_allocation, mean_bytes, SCHEMA_NUMBER, 0),
	ROW("thread", profile_allocation, thread, RECORD_THREADS),
	ROW("stack", profile_allocation, stack, RECORD_STACKS),
	CHOICE("kind", profile_allocation, kind, ALLOCATION_KIND_COUNT),
	CHOICE("end", profile_allocation, end, STACK_END_COUNT),
	CODED_NUMBER("former"),
	BOOL("moved", profile_allocation, is_moved),
	ROW("freed stack", profile_allocation, freed_stack, RECORD_STACKS),
	CHOICE("freed end", profile_allocation, freed_end, STACK_END_COUNT + 1),
	NUMBER("more", profile_allocation, nr_more),
	SPAN("lived", profile_allocation, life_ns),
	CODED_NUMBER("part"),
	BOOL("earlier", profile_allocation, is_earlier),
};

static const struct schema_column moments[] = {
	COLUMN("time", profile_heap_moment, time_ns, SCHEMA_TIME, 0, SCHEMA_CODED),
	ROW("process", profile_heap_moment, process, RECORD_PROCESSES),
	DIFFERENCE("anonymous", profile_heap_moment, rss_anon_bytes, SCHEMA_NUMBER, 0),
	DIFFERENCE("file", profile_heap_moment, rss_file_bytes, SCHEMA_NUMBER, 0),
	DIFFERENCE("shared", profile_heap_moment, rss_shmem_bytes, SCHEMA_NUMBER, 0),
	DIFFERENCE("swap", profile_heap_moment, swap_bytes, SCHEMA_NUMBER, 0),
	DIFFERENCE("heap", profile_heap_moment, heap_mapped_bytes, SCHEMA_NUMBER, 0),
	DIFFERENCE("allocated", profile_heap_moment, allocated_bytes, SCHEMA_NUMBER, 0),
	DIFFERENCE("allocations", profile_heap_moment, nr_allocations, SCHEMA_NUMBER, 0),
	DIFFERENCE("dropped", profile_heap_moment, nr_dropped, SCHEMA_NUMBER, 0),
	DIFFERENCE("lost frees", profile_heap_moment, nr_frees_dropped, SCHEMA_NUMBER, 0),
};

static const struct schema_column counts[] = {
	CODED_SIGNED("number"),
	CHOICE("kind", profile_count, kind, COUNT_KIND_COUNT),
	COLUMN("flags", profile_count, flags, SCHEMA_FLAGS, COUNT_FLAGS_ALL, SCHEMA_PLAIN),
	DIFFERENCE("process", profile_count, process, SCHEMA_ROW, RECORD_PROCESSES),
	DIFFERENCE("place", profile_count, where, SCHEMA_ROW, RECORD_FRAMES),
	DIFFERENCE("callee", profile_count, callee, SCHEMA_ROW_OR_NONE, RECORD_FRAMES),
	DIFFERENCE("calls", profile_count, calls, SCHEMA_NUMBER, 0),
	DIFFERENCE("from", profile_count, from_ns, SCHEMA_TIME, 0),
	TIME("to", profile_count, to_ns),
};

static const struct schema_column refusals[] = {
	ROW("process", profile_refusal, process, RECORD_PROCESSES),
	TEXT("function", profile_refusal, function),
	TEXT("module", profile_refusal, module),
	TEXT("reason", profile_refusal, reason),
};

static const struct schema_column jit_names[] = {
	ROW("frame", jit_name, frame, RECORD_FRAMES),
	TEXT("name", jit_name, name),
	TEXT("file", jit_name, file),
	NUMBER("line", jit_name, line),
	TEXT("function file", jit_name, function_file),
	NUMBER("function line", jit_name, function_line),
};

static const struct schema_column jit_sources[] = {
	ROW("module", jit_source, module, RECORD_MODULES),
	CHOICE("source", jit_source, source, SYMBOL_SOURCE_COUNT),
	TEXT("path", jit_source, path),
	TEXT("problem", jit_source, problem),
	NUMBER("owner", jit_source, owner),
};

static const struct schema_column sources[] = {
	TEXT("file", profile_source, file),
	NUMBER("size", profile_source, nr_bytes),
	NS("modified", profile_source, modified_ns),
	TEXT("text", profile_source, text),
};

static const struct schema_column discards[] = {
	TIME("time", heap_discard, time_ns),
	NUMBER("allocations", heap_discard, nr_allocations),
	NUMBER("moments", heap_discard, nr_moments),
};

static const struct schema_column searches[] = {
	TIME("time", profile_search, time_ns),
	ROW("process", profile_search, process, RECORD_PROCESSES),
	NS("stop", profile_search, stop_ns),
	NUMBER("bytes", profile_search, nr_bytes),
	TEXT("reason", profile_search, why_not),
	TEXT("mark", profile_search, mark),
};

static const struct schema_column searched[] = {
	CODED_SIGNED("number"),
	CODED_NUMBER("state"),
};

static const struct schema_column waits[] = {
	CODED_NUMBER("number"),
	ROW("process", profile_wait, process, RECORD_PROCESSES),
	CHOICE("kind", profile_wait, kind, WAIT_KIND_COUNT),
	NUMBER("what", profile_wait, number),
	ROW_OR_NONE("place", profile_wait, place, RECORD_FRAMES),
	TEXT("name", profile_wait, name),
	ROW_OR_NONE("owner", profile_wait, owner, RECORD_THREADS),
	TEXT("peer", profile_wait, peer),
};

static const struct schema_column verdicts[] = {
	ROW("search", profile_verdict, search, RECORD_SEARCHES),
	CODED_SIGNED("number"),
	CHOICE("state", profile_verdict, verdict, ALLOCATION_SEARCH_COUNT),
};

static const struct schema_column runs[] = {
	TEXT("command", profile_run, command),		TEXT("host", profile_run, hostname),
	NS("start", profile_run, start_realtime_ns),	NS("duration", profile_run, duration_ns),
	NUMBER("processes", profile_run, nr_processes), NUMBER("marks", profile_run, nr_marks),
};

static const struct schema_column listings[] = {
	ROW("module", profile_listing, module, RECORD_MODULES),
	NUMBER("start", profile_listing, start),
	NUMBER("end", profile_listing, end),
	TEXT("text", profile_listing, text),
};

static const struct schema_column advances[] = {
	TIME("time", profile_advance, time_ns),
	ROW("thread", profile_advance, thread, RECORD_THREADS),
	ROW("before", profile_advance, before, RECORD_STACKS),
	ROW("after", profile_advance, after, RECORD_STACKS),
	CHOICE("end", profile_advance, end, STACK_END_COUNT),
	BOOL("seen", profile_advance, is_seen),
	CHOICE("counter", profile_advance, counter, NR_KERNEL_COUNTERS),
	NUMBER("amount", profile_advance, amount),
};

static const struct schema_column others[] = {
	TEXT("name", profile_other, name),
	BOOL("children", profile_other, is_of_children),
	NS("CPU", profile_other, cpu_ns),
};

static const struct schema_column spans[] = {
	ROW("process", profile_span, process, RECORD_PROCESSES),
	ROW("place", profile_span, where, RECORD_FRAMES),
	TIME("from", profile_span, from_ns),
	TEXT("pair", profile_span, pair),
};

static const struct schema_column span_sums[] = {
	ROW("function", profile_span_sum, span, RECORD_SPANS),
	TIME("to", profile_span_sum, to_ns),
	NUMBER("begun", profile_span_sum, nr_begun),
	NS("total", profile_span_sum, total_ns),
	SPAN("longest", profile_span_sum, longest_ns),
	TIME("begin", profile_span_sum, longest_from_ns),
	ROW_OR_NONE("thread", profile_span_sum, longest_thread, RECORD_THREADS),
};

static const struct schema_column span_lengths[] = {
	ROW("function", profile_span_length, span, RECORD_SPANS),
	TIME("to", profile_span_length, to_ns),
	NS("least", profile_span_length, least_ns),
	NS("end", profile_span_length, end_ns),
	NUMBER("calls", profile_span_length, nr),
};

static const struct schema_column slow_calls[] = {
	ROW("function", profile_slow_call, span, RECORD_SPANS),
	ROW_OR_NONE("thread", profile_slow_call, thread, RECORD_THREADS),
	TIME("begin", profile_slow_call, from_ns),
	SPAN("length", profile_slow_call, length_ns),
};

static const struct schema_column wakes[] = {
	ROW("thread", profile_wake, thread, RECORD_THREADS),
	ROW("waker", profile_wake, waker, RECORD_THREADS),
	TIME("begin", profile_wake, from_ns),
	TIME("end", profile_wake, to_ns),
	ROW_OR_NONE("place", profile_wake, where, RECORD_FRAMES),
};

static const struct schema_column labels[] = {
	COLUMN("outer", profile_label, outer, SCHEMA_ROW_PLUS_ONE, RECORD_LABELS, SCHEMA_PLAIN),
	TEXT("key", profile_label, key),
	TEXT("value", profile_label, value),
};

/* A table whose rows are no array of the profile. */
#define TABLE(title, nr_old, columns, row_bytes)                                                   \
	{                                                                                          \
		title, nr_old, ARRAY_SIZE(columns), columns, row_bytes, 0, 0                       \
	}
#define ARRAY(title, nr_old, columns, rows, nr)                                                    \
	{                                                                                          \
		title, nr_old, ARRAY_SIZE(columns), columns, sizeof(*((struct profile *)0)->rows), \
			offsetof(struct profile, rows), offsetof(struct profile, nr)               \
	}

const struct schema schemas[RECORD_TYPE_COUNT] = {
	[RECORD_META] = TABLE("facts of the recording", 13, meta, sizeof(struct profile_meta)),
	[RECORD_COMMAND] = TABLE("command", 1, command, sizeof(struct str_id)),
	[RECORD_STRINGS] = TABLE("texts", 2, strings, 0),
	[RECORD_MODULES] = TABLE("modules", 10, modules, sizeof(struct module)),
	[RECORD_PROCESSES] = ARRAY("processes", 8, processes, processes, nr_processes),
	[RECORD_THREADS] = ARRAY("threads", 6, threads, threads, nr_threads),
	[RECORD_FRAMES] = ARRAY("frames", 2, frames, frames, nr_frames),
	[RECORD_STACKS] = TABLE("stacks", 2, stacks, 0),
	[RECORD_SAMPLES] = ARRAY("samples", 10, samples, samples, nr_samples),
	[RECORD_COUNTERS] = ARRAY("counters", 2, counters, counters, nr_counters),
	[RECORD_MARKS] = ARRAY("marks", 2, marks, marks, nr_marks),
	[RECORD_FUNCTIONS] =
		ARRAY("functions", 4, functions, symbols.functions, symbols.nr_functions),
	[RECORD_LOCATIONS] =
		ARRAY("locations", 4, locations, symbols.locations, symbols.nr_locations),
	[RECORD_MODULE_SYMBOLS] =
		ARRAY("symbols of modules", 4, module_symbols, symbols.modules, symbols.nr_modules),
	[RECORD_END] = TABLE("end", 10, end, 0),
	[RECORD_ALLOCATIONS] =
		ARRAY("allocations", 10, allocations, heap.allocations, heap.nr_allocations),
	[RECORD_MOMENTS] = ARRAY("moments of memory", 10, moments, heap.moments, heap.nr_moments),
	[RECORD_COUNTS] = ARRAY("counts", 9, counts, probes.counts, probes.nr_counts),
	[RECORD_REFUSALS] = ARRAY("refusals", 4, refusals, probes.refusals, probes.nr_refusals),
	[RECORD_JIT_NAMES] = ARRAY("names in JIT memory", 6, jit_names, jit.names, jit.nr_names),
	[RECORD_JIT_SOURCES] = ARRAY("sources of names in JIT memory", 4, jit_sources, jit.sources,
				     jit.nr_sources),
	[RECORD_SOURCES] = ARRAY("sources", 3, sources, symbols.sources, symbols.nr_sources),
	[RECORD_DISCARDS] = TABLE("discarded memory", 3, discards, sizeof(struct heap_discard)),
	[RECORD_SEARCHES] = ARRAY("searches", 5, searches, heap.searches, heap.nr_searches),
	[RECORD_SEARCHED] = TABLE("blocks that were searched for", 2, searched, 0),
	[RECORD_WAITS] = TABLE("waits", 8, waits, sizeof(struct profile_wait)),
	[RECORD_VERDICTS] = ARRAY("blocks that were searched for at marks", 3, verdicts,
				  heap.verdicts, heap.nr_verdicts),
	[RECORD_RUNS] = ARRAY("runs", 4, runs, runs.rows, runs.nr),
	[RECORD_LISTINGS] =
		ARRAY("instructions", 4, listings, symbols.listings, symbols.nr_listings),
	[RECORD_ADVANCES] = ARRAY("advances of counters", 8, advances, advances.rows, advances.nr),
	[RECORD_OTHERS] = ARRAY("other programs", 3, others, others.rows, others.nr),
	[RECORD_SPANS] = ARRAY("timed functions", 3, spans, spans.rows, spans.nr),
	[RECORD_SPAN_SUMS] = ARRAY("timed calls", 7, span_sums, spans.sums, spans.nr_sums),
	[RECORD_SPAN_LENGTHS] =
		ARRAY("lengths of timed calls", 5, span_lengths, spans.lengths, spans.nr_lengths),
	[RECORD_SLOW_CALLS] = ARRAY("slow calls", 4, slow_calls, spans.slow, spans.nr_slow),
	[RECORD_WAKES] = ARRAY("ends of waits", 5, wakes, probes.wakes.rows, probes.wakes.nr),
	[RECORD_LABELS] = TABLE("labels", 3, labels, sizeof(struct profile_label)),
};

uint64_t schema_load(const struct schema_column *column, const void *row)
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
	if (!column->nr_bytes)
		return 0;
	assert(column->nr_bytes == sizeof(value));
	memcpy(&value, member, sizeof(value));
	return value;
}

void schema_save(const struct schema_column *column, void *row, uint64_t value)
{
	uint8_t *member = (uint8_t *)row + column->offset;
	uint32_t narrow = (uint32_t)value;

	if (column->nr_bytes == sizeof(value))
		memcpy(member, &value, sizeof(value));
	else if (column->nr_bytes == sizeof(uint8_t))
		*member = (uint8_t)value;
	else if (column->nr_bytes)
		memcpy(member, &narrow, sizeof(narrow));
}

bool schema_equal(enum record_type type, const void *a, const void *b)
{
	const struct schema *schema = &schemas[type];

	for (unsigned int i = 0; i < schema->nr; i++)
		if (schema_load(&schema->columns[i], a) != schema_load(&schema->columns[i], b))
			return false;
	return true;
}

const void *schema_rows(const struct profile *profile, enum record_type type)
{
	const void *rows;

	if (type == RECORD_LABELS)
		return profile_labels(profile)->rows;
	assert(schemas[type].rows_offset);
	memcpy(&rows, (const uint8_t *)profile + schemas[type].rows_offset, sizeof(rows));
	return rows;
}

size_t schema_nr_rows(const struct profile *profile, enum record_type type)
{
	size_t nr;

	if (type == RECORD_STRINGS)
		return strtab_nr(profile->strings);
	if (type == RECORD_MODULES)
		return module_table_nr(profile->modules);
	if (type == RECORD_STACKS)
		return stack_trie_nr(profile->stacks);
	if (type == RECORD_WAITS)
		return profile_waits(profile)->nr;
	if (type == RECORD_LABELS)
		return profile_labels(profile)->nr;
	if (!schemas[type].rows_offset)
		return 0;
	memcpy(&nr, (const uint8_t *)profile + schemas[type].nr_offset, sizeof(nr));
	return nr;
}

/* Two ids and a depth. */
#define STACK_BYTES 12

uint64_t schema_nr_bytes(const struct profile *profile)
{
	uint64_t nr = strtab_nr_bytes(profile->strings);

	nr += schema_nr_rows(profile, RECORD_STACKS) * STACK_BYTES;
	for (enum record_type type = RECORD_META; type < RECORD_TYPE_COUNT; type++)
		nr += schema_nr_rows(profile, type) * schemas[type].row_bytes;
	for (uint32_t i = 0; i < module_table_nr(profile->modules); i++)
		nr += strlen(module_table_get(profile->modules, (struct module_id){i})->path);
	return nr;
}
