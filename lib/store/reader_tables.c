// SPDX-License-Identifier: GPL-2.0-or-later
/* Decodes each type of record into the tables of a profile. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "store/reader_priv.h"
#include "store/schema_coder_priv.h"

static bool take(struct reader *reader, const struct columns_in *in, enum record_type type,
		 void *row)
{
	return schema_take(type, in, reader->profile, row, NULL);
}

static bool read_meta(struct reader *reader, struct columns_in *in)
{
	return take(reader, in, RECORD_META, &reader->profile->meta);
}

static bool read_command_word(struct reader *reader, struct columns_in *in)
{
	struct str_id word;

	if (!take(reader, in, RECORD_COMMAND, &word))
		return false;
	profile_add_command_word(reader->profile, profile_str(reader->profile, word));
	return true;
}

/* Ids are dense: a duplicate text would shift all later ones. */
static bool read_string(struct reader *reader, struct columns_in *in)
{
	struct strtab *strings = reader->profile->strings;
	uint32_t nr = strtab_nr(strings);
	uint64_t length = columns_in_bounded(in, STRINGS_LENGTH, STRING_MAX_BYTES);
	const uint8_t *bytes = columns_in_bytes(in, STRINGS_BYTES, length);

	if (!bytes || memchr(bytes, '\0', length) || nr >= TABLE_ROWS_MAX)
		return false;
	return strtab_intern_n(strings, (const char *)bytes, length).v == nr;
}

static bool read_module(struct reader *reader, struct columns_in *in)
{
	uint32_t nr = module_table_nr(reader->profile->modules);
	struct module module = {.fd = -1};
	uint64_t path_length;
	const uint8_t *path, *build_id;
	struct module_id id;

	if (!take(reader, in, RECORD_MODULES, &module))
		return false;
	path_length = columns_in_bounded(in, MODULES_PATH_LENGTH, STRING_MAX_BYTES);
	path = columns_in_bytes(in, MODULES_PATH, path_length);
	module.nr_build_id_bytes =
		columns_in_bounded(in, MODULES_BUILD_ID_LENGTH, BUILD_ID_MAX_BYTES);
	build_id = columns_in_bytes(in, MODULES_BUILD_ID, module.nr_build_id_bytes);
	if (!path || !build_id || memchr(path, '\0', path_length) || reader->symbols_begun)
		return false;
	memcpy(module.build_id, build_id, module.nr_build_id_bytes);
	module.path = xstrndup((const char *)path, path_length);
	id = module_table_intern(reader->profile->modules, &module);
	free(module.path);
	return id.v == nr;
}

/* Stored plus one; 0: not known. */
static struct cpu_split read_split(struct columns_in *in, unsigned int user, unsigned int system)
{
	uint64_t user_ns = columns_in_bounded(in, user, TIME_MAX_NS);
	uint64_t system_ns = columns_in_bounded(in, system, TIME_MAX_NS);

	if (!user_ns || !system_ns)
		return (struct cpu_split){0};
	return (struct cpu_split){
		.user_ns = user_ns - 1, .system_ns = system_ns - 1, .known = true};
}

static bool read_process(struct reader *reader, struct columns_in *in)
{
	struct profile *profile = reader->profile;
	uint32_t row = (uint32_t)columns_in_bounded(in, PROCESSES_ROW, profile->nr_processes);
	struct profile_process process = {.split =
						  read_split(in, PROCESSES_USER, PROCESSES_SYSTEM)};

	/* Its parent is an earlier row. */
	if (!take(reader, in, RECORD_PROCESSES, &process) || in->failed ||
	    (process.parent != PROCESS_NONE && process.parent >= row))
		return false;
	if (row < profile->nr_processes)
		profile->processes[row] = process;
	else
		profile_add_process(profile, &process);
	return true;
}

static bool read_thread(struct reader *reader, struct columns_in *in)
{
	struct profile *profile = reader->profile;
	uint32_t row = (uint32_t)columns_in_bounded(in, THREADS_ROW, profile->nr_threads);
	struct profile_thread thread = {.split = read_split(in, THREADS_USER, THREADS_SYSTEM)};

	if (!take(reader, in, RECORD_THREADS, &thread) || in->failed)
		return false;
	if (row < profile->nr_threads) {
		profile->threads[row] = thread;
	} else {
		profile_add_thread(profile, &thread);
		sample_coder_grow(&reader->coder, profile->nr_threads);
	}
	return true;
}

static bool read_frame(struct reader *reader, struct columns_in *in)
{
	struct profile *profile = reader->profile;
	size_t nr = profile->nr_frames;
	struct frame frame = {0};

	if (!schema_take(RECORD_FRAMES, in, profile, &frame, &reader->last_frame) ||
	    reader->symbols_begun || nr >= TABLE_ROWS_MAX)
		return false;
	reader->last_frame = frame;
	return profile_intern_frame(profile, frame.where).v == nr;
}

static bool read_stack(struct reader *reader, struct columns_in *in)
{
	struct stack_trie *stacks = reader->profile->stacks;
	uint32_t nr = stack_trie_nr(stacks);
	uint32_t back = (uint32_t)columns_in_bounded(in, STACKS_PARENT, nr - 1);
	struct frame_id frame = {columns_in_index(in, STACKS_FRAME, reader->profile->nr_frames)};

	if (in->failed || nr >= TABLE_ROWS_MAX)
		return false;
	stack_trie_append(stacks, (struct stack_id){nr - 1 - back}, frame);
	return true;
}

static bool read_sample(struct reader *reader, struct columns_in *in)
{
	struct profile *profile = reader->profile;
	struct sample sample = {.stands_ns = 0}; /* which no file has */
	uint64_t minor_ns, major_ns;

	sample.thread.v = columns_in_index(in, SAMPLES_THREAD, profile->nr_threads);
	sample.stack.v = columns_in_index(in, SAMPLES_STACK, stack_trie_nr(profile->stacks));
	sample.kernel.v = columns_in_index(in, SAMPLES_KERNEL, stack_trie_nr(profile->stacks));
	sample.wait = (uint32_t)columns_in_bounded(in, SAMPLES_WAIT, profile_waits(profile)->nr);
	sample.labels =
		(uint32_t)columns_in_bounded(in, SAMPLES_LABELS, profile_labels(profile)->nr);
	sample.kind = (uint8_t)columns_in_bounded(in, SAMPLES_KIND, SAMPLE_KIND_COUNT - 1);
	sample.end = (uint8_t)columns_in_bounded(in, SAMPLES_END, STACK_END_COUNT - 1);
	sample.nr = (uint32_t)columns_in_bounded(in, SAMPLES_NR, UINT32_MAX);
	sample.syscall_nr = (int16_t)(columns_in_bounded(in, SAMPLES_SYSCALL, UINT16_MAX) - 1);
	sample.runq_ns = columns_in_uint(in, SAMPLES_RUNQ);
	sample.time_ns = columns_in_delta(in, SAMPLES_TIME, reader->coder.previous_ns);
	minor_ns = columns_in_uint(in, SAMPLES_MINOR);
	if (in->failed || profile->nr_samples >= TABLE_ROWS_MAX ||
	    stack_trie_depth(profile->stacks, sample.kernel) > SAMPLE_KERNEL_DEPTH_MAX)
		return false;
	major_ns = columns_in_delta(in, SAMPLES_MAJOR,
				    sample_coder_expect(&reader->coder, sample.thread.v,
							sample.time_ns, sample.runq_ns + minor_ns));
	sample.cpu_ns = sample.kind == SAMPLE_BLOCKED ? minor_ns : major_ns;
	sample.blocked_ns = sample.kind == SAMPLE_BLOCKED ? major_ns : minor_ns;
	if (!sample_sums_add(&reader->sums, &sample))
		return false;
	sample_coder_step(&reader->coder, sample.thread.v, sample.time_ns);
	profile_add_sample(profile, &sample);
	return true;
}

static bool read_label(struct reader *reader, struct columns_in *in)
{
	struct profile_labels *labels = profile_labels(reader->profile);
	size_t nr = labels->nr;
	struct profile_label row = {0};

	return take(reader, in, RECORD_LABELS, &row) &&
	       profile_labels_intern(labels, &row) == nr + 1;
}

static bool read_counter(struct reader *reader, struct columns_in *in)
{
	struct profile_counter row = {0};

	if (!take(reader, in, RECORD_COUNTERS, &row))
		return false;
	profile_set_counter(reader->profile, profile_str(reader->profile, row.name), row.value);
	/* A linear search per row: profiles of ours have some dozens. */
	return reader->profile->nr_counters <= COUNTERS_MAX;
}

static bool read_mark(struct reader *reader, struct columns_in *in)
{
	struct profile_mark row = {0};

	if (!take(reader, in, RECORD_MARKS, &row))
		return false;
	profile_add_mark(reader->profile, row.time_ns, profile_str(reader->profile, row.text));
	return true;
}

static bool read_advance(struct reader *reader, struct columns_in *in)
{
	struct profile_advance row = {0};

	if (!take(reader, in, RECORD_ADVANCES, &row) ||
	    !advances_sum_add(&reader->nr_advanced, row.amount))
		return false;
	advances_add(&reader->profile->advances, &row);
	return true;
}

static bool read_jit_name(struct reader *reader, struct columns_in *in)
{
	struct jit_name row = {0};

	if (!take(reader, in, RECORD_JIT_NAMES, &row))
		return false;
	profile_add_jit_name(reader->profile, &row);
	return true;
}

static bool read_jit_source(struct reader *reader, struct columns_in *in)
{
	struct jit_source row = {0};

	if (!take(reader, in, RECORD_JIT_SOURCES, &row))
		return false;
	profile_add_jit_source(reader->profile, &row);
	return true;
}

static void begin_symbols(struct reader *reader)
{
	if (!reader->symbols_begun)
		profile_reset_symbols(reader->profile);
	reader->symbols_begun = true;
}

static bool read_function(struct reader *reader, struct columns_in *in)
{
	struct profile *profile = reader->profile;
	size_t nr = profile->symbols.nr_functions;
	struct function function = {0};

	if (!take(reader, in, RECORD_FUNCTIONS, &function) || nr >= TABLE_ROWS_MAX)
		return false;
	begin_symbols(reader);
	return profile_intern_function(profile, &function).v == nr;
}

static bool read_location(struct reader *reader, struct columns_in *in)
{
	struct profile *profile = reader->profile;
	uint64_t frame = columns_in_uint(in, LOCATIONS_FRAME);
	struct location location = {0};
	struct frame_symbols *chain;

	if (!take(reader, in, RECORD_LOCATIONS, &location) ||
	    frame >= profile->nr_frames - reader->last_location_frame ||
	    profile->symbols.nr_locations >= TABLE_ROWS_MAX)
		return false;
	begin_symbols(reader);
	reader->last_location_frame += (uint32_t)frame;
	chain = &profile->symbols.frames[reader->last_location_frame];
	if (!chain->nr++)
		chain->first = (uint32_t)profile->symbols.nr_locations;
	ARRAY_GROW(profile->symbols.locations, profile->symbols.nr_locations,
		   profile->symbols.cap_locations);
	profile->symbols.locations[profile->symbols.nr_locations++] = location;
	return true;
}

static bool read_module_symbols(struct reader *reader, struct columns_in *in)
{
	struct module_symbols row = {0};

	begin_symbols(reader);
	if (!take(reader, in, RECORD_MODULE_SYMBOLS, &row) ||
	    reader->nr_module_symbols >= reader->profile->symbols.nr_modules)
		return false;
	reader->profile->symbols.modules[reader->nr_module_symbols++] = row;
	return true;
}

static bool read_run(struct reader *reader, struct columns_in *in)
{
	struct profile_run row = {0};

	if (!take(reader, in, RECORD_RUNS, &row))
		return false;
	profile_add_run(reader->profile, &row);
	return true;
}

static bool read_other(struct reader *reader, struct columns_in *in)
{
	struct profile_other row = {0};

	if (!take(reader, in, RECORD_OTHERS, &row))
		return false;
	profile_add_other(reader->profile, &row);
	return true;
}

static bool read_source(struct reader *reader, struct columns_in *in)
{
	struct profile_source row = {0};

	if (!take(reader, in, RECORD_SOURCES, &row))
		return false;
	profile_add_source(reader->profile, &row);
	return true;
}

static bool read_listing(struct reader *reader, struct columns_in *in)
{
	struct profile_listing row = {0};

	if (!take(reader, in, RECORD_LISTINGS, &row))
		return false;
	profile_add_listing(reader->profile, &row);
	return true;
}

/* The row that the numbers of a row of counts are relative to; false if it would leave a gap. */
static bool count_reference(const struct profile_probes *probes, uint64_t row,
			    struct profile_count *before)
{
	*before = (struct profile_count){.callee = COUNT_NO_CALLEE};
	if (row > probes->nr_counts || row >= TABLE_ROWS_MAX)
		return false;
	if (row < probes->nr_counts)
		*before = probes->counts[row];
	else if (row)
		*before = probes->counts[row - 1];
	if (row == probes->nr_counts)
		before->calls = 0;
	return true;
}

static bool take_count(struct reader *reader, uint64_t row, const struct profile_count *count)
{
	struct profile_probes *probes = &reader->profile->probes;
	bool is_new = row == probes->nr_counts;

	if (!calls_sum_replace(&reader->nr_calls, is_new ? 0 : probes->counts[row].calls,
			       count->calls))
		return false;
	if (is_new)
		profile_add_count(reader->profile, count);
	else
		probes->counts[row] = *count;
	reader->next_count = row + 1;
	return true;
}

static bool read_count(struct reader *reader, struct columns_in *in)
{
	struct profile *profile = reader->profile;
	uint64_t row = columns_in_delta(in, COUNTS_ROW, reader->next_count);
	struct profile_count before, count = {0};

	return count_reference(&profile->probes, row, &before) &&
	       schema_take(RECORD_COUNTS, in, profile, &count, &before) &&
	       take_count(reader, row, &count);
}

static bool read_refusal(struct reader *reader, struct columns_in *in)
{
	struct profile *profile = reader->profile;
	struct profile_refusal row = {0};

	if (!take(reader, in, RECORD_REFUSALS, &row) ||
	    profile->probes.nr_refusals >= TABLE_ROWS_MAX)
		return false;
	profile_add_refusal(profile, &row);
	return true;
}

static bool read_span(struct reader *reader, struct columns_in *in)
{
	struct profile_span row = {0};

	if (!take(reader, in, RECORD_SPANS, &row) || reader->profile->spans.nr >= TABLE_ROWS_MAX)
		return false;
	profile_add_span(reader->profile, &row);
	return true;
}

static bool read_span_sum(struct reader *reader, struct columns_in *in)
{
	struct profile_span_sum row = {0};

	if (!take(reader, in, RECORD_SPAN_SUMS, &row) ||
	    !span_sums_add(&reader->spans, row.nr_begun, row.total_ns))
		return false;
	profile_add_span_sum(reader->profile, &row);
	return true;
}

static bool read_span_length(struct reader *reader, struct columns_in *in)
{
	struct profile_span_length row = {0};

	if (!take(reader, in, RECORD_SPAN_LENGTHS, &row) || row.end_ns < row.least_ns ||
	    !span_sums_add(&reader->spans, row.nr, 0))
		return false;
	profile_add_span_length(reader->profile, &row);
	return true;
}

static bool read_slow_call(struct reader *reader, struct columns_in *in)
{
	struct profile_slow_call row = {0};

	if (!take(reader, in, RECORD_SLOW_CALLS, &row) ||
	    reader->profile->spans.nr_slow >= TABLE_ROWS_MAX)
		return false;
	profile_add_slow_call(reader->profile, &row);
	return true;
}

static bool read_wake(struct reader *reader, struct columns_in *in)
{
	struct profile_wake row = {0};

	if (!take(reader, in, RECORD_WAKES, &row) || row.to_ns < row.from_ns ||
	    reader->profile->probes.wakes.nr >= TABLE_ROWS_MAX)
		return false;
	profile_add_wake(reader->profile, &row);
	return true;
}

static bool read_end(struct reader *reader, struct columns_in *in)
{
	const struct schema *schema = &schemas[RECORD_END];
	struct profile *profile = reader->profile;

	profile->meta.complete = columns_in_bounded(in, END_COMPLETE, 1);
	reader->ended = true;
	for (unsigned int i = 0; i < schema->nr; i++) {
		enum record_type table = (enum record_type)schema->columns[i].of;

		if (i != END_COMPLETE && columns_in_uint(in, i) != schema_nr_rows(profile, table))
			reader->ended = false;
	}
	return reader->ended;
}

static reader_take_row *const readers[RECORD_TYPE_COUNT] = {
	[RECORD_META] = read_meta,
	[RECORD_COMMAND] = read_command_word,
	[RECORD_STRINGS] = read_string,
	[RECORD_MODULES] = read_module,
	[RECORD_PROCESSES] = read_process,
	[RECORD_THREADS] = read_thread,
	[RECORD_FRAMES] = read_frame,
	[RECORD_STACKS] = read_stack,
	[RECORD_SAMPLES] = read_sample,
	[RECORD_COUNTERS] = read_counter,
	[RECORD_MARKS] = read_mark,
	[RECORD_FUNCTIONS] = read_function,
	[RECORD_LOCATIONS] = read_location,
	[RECORD_MODULE_SYMBOLS] = read_module_symbols,
	[RECORD_END] = read_end,
	[RECORD_ALLOCATIONS] = reader_take_allocation,
	[RECORD_MOMENTS] = reader_take_moment,
	[RECORD_COUNTS] = read_count,
	[RECORD_REFUSALS] = read_refusal,
	[RECORD_JIT_NAMES] = read_jit_name,
	[RECORD_JIT_SOURCES] = read_jit_source,
	[RECORD_SOURCES] = read_source,
	[RECORD_DISCARDS] = reader_take_discard,
	[RECORD_SEARCHES] = reader_take_search,
	[RECORD_SEARCHED] = reader_take_searched,
	[RECORD_WAITS] = reader_take_wait,
	[RECORD_VERDICTS] = reader_take_verdict,
	[RECORD_RUNS] = read_run,
	[RECORD_LISTINGS] = read_listing,
	[RECORD_ADVANCES] = read_advance,
	[RECORD_OTHERS] = read_other,
	[RECORD_SPANS] = read_span,
	[RECORD_SPAN_SUMS] = read_span_sum,
	[RECORD_SPAN_LENGTHS] = read_span_length,
	[RECORD_SLOW_CALLS] = read_slow_call,
	[RECORD_LABELS] = read_label,
	[RECORD_WAKES] = read_wake,
};

/* A bit for each column of bytes; the others hold numbers. */
static uint32_t byte_columns(const struct schema *schema)
{
	uint32_t columns = 0;

	for (unsigned int i = 0; i < schema->nr; i++)
		columns |= (uint32_t)(schema->columns[i].form == SCHEMA_CODED_BYTES) << i;
	return columns;
}

/* A file of a few bytes must not ask for gigabytes of rows. */
static bool rows_in_bounds(struct reader *reader, uint64_t nr_rows)
{
	reader->nr_rows += nr_rows;
	return reader->nr_rows <=
	       ROWS_ALLOWANCE + ROWS_MAX_PER_FILE_BYTE * reader->frames.nr_bytes_taken;
}

bool reader_take_record(struct reader *reader, enum record_type type, const uint8_t *payload,
			size_t nr_bytes)
{
	const struct schema *schema = &schemas[type];
	struct columns_in *in = &reader->columns;

	if (!readers[type]) /* of another version */
		return true;
	if (!columns_in_open(in, payload, nr_bytes, schema->nr, schema->nr_old,
			     byte_columns(schema)) ||
	    !rows_in_bounds(reader, in->nr_rows))
		return false;
	if (type == RECORD_COMMAND) /* the last one replaces earlier ones */
		reader->profile->meta.nr_command = 0;
	for (; in->row < in->nr_rows; in->row++) {
		if (!readers[type](reader, in) || in->failed)
			return false;
	}
	return true;
}
