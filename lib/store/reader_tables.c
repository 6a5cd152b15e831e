// SPDX-License-Identifier: GPL-2.0-or-later
/* Decodes each type of record into the tables of a profile. */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "store/reader_priv.h"
#include "store/schema_priv.h"

static struct str_id read_text(struct reader *reader, struct columns_in *in, unsigned int column)
{
	uint32_t max = strtab_nr(reader->profile->strings) - 1;

	return (struct str_id){(uint32_t)columns_in_bounded(in, column, max)};
}

static uint32_t read_u32(struct columns_in *in, unsigned int column)
{
	return (uint32_t)columns_in_bounded(in, column, UINT32_MAX);
}

static bool take(struct reader *reader, struct columns_in *in, const struct schema *schema,
		 void *row)
{
	return schema_take(schema, in, reader->profile, row);
}

static uint64_t read_time(struct columns_in *in, unsigned int column)
{
	return columns_in_bounded(in, column, TIME_MAX_NS);
}

static bool read_meta(struct reader *reader, struct columns_in *in)
{
	return take(reader, in, &schema_meta, &reader->profile->meta);
}

static bool read_command_word(struct reader *reader, struct columns_in *in)
{
	struct str_id word = read_text(reader, in, COMMAND_WORD);

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

	module.kind = (enum module_kind)columns_in_bounded(in, MODULES_KIND, MODULE_KIND_BETWEEN);
	module.owner_pid = (pid_t)columns_in_bounded(in, MODULES_OWNER, INT32_MAX);
	module.deleted = columns_in_bounded(in, MODULES_DELETED, 1);
	module.dev = columns_in_uint(in, MODULES_DEV);
	module.inode = columns_in_uint(in, MODULES_INODE);
	module.file_bytes = columns_in_uint(in, MODULES_FILE_BYTES);
	path_length = columns_in_bounded(in, MODULES_PATH_LENGTH, STRING_MAX_BYTES);
	path = columns_in_bytes(in, MODULES_PATH, path_length);
	module.nr_build_id_bytes =
		columns_in_bounded(in, MODULES_BUILD_ID_LENGTH, BUILD_ID_MAX_BYTES);
	build_id = columns_in_bytes(in, MODULES_BUILD_ID, module.nr_build_id_bytes);
	if (!path || !build_id || memchr(path, '\0', path_length) || reader->symbols_begun)
		return false;
	memcpy(module.build_id, build_id, module.nr_build_id_bytes);
	module.path = xstrndup((const char *)path, path_length);
	module.modified_ns = columns_in_uint(in, MODULES_MODIFIED);
	module.image_offset = columns_in_uint(in, MODULES_IMAGE_OFFSET);
	module.fingerprint = columns_in_uint(in, MODULES_FINGERPRINT);
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
	if (!take(reader, in, &schema_processes, &process) || in->failed ||
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

	if (!take(reader, in, &schema_threads, &thread) || in->failed)
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
	struct code_address where;

	where.module.v = columns_in_index(in, FRAMES_MODULE, module_table_nr(profile->modules));
	where.address = columns_in_delta(in, FRAMES_ADDRESS, reader->last_address);
	if (in->failed || reader->symbols_begun || nr >= TABLE_ROWS_MAX)
		return false;
	reader->last_address = where.address;
	return profile_intern_frame(profile, where).v == nr;
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
	struct sample sample;
	uint64_t minor_ns, major_ns;

	sample.thread.v = columns_in_index(in, SAMPLES_THREAD, profile->nr_threads);
	sample.stack.v = columns_in_index(in, SAMPLES_STACK, stack_trie_nr(profile->stacks));
	sample.wait = (uint32_t)columns_in_bounded(in, SAMPLES_WAIT, profile_waits(profile)->nr);
	sample.kind = (uint8_t)columns_in_bounded(in, SAMPLES_KIND, SAMPLE_KIND_COUNT - 1);
	sample.end = (uint8_t)columns_in_bounded(in, SAMPLES_END, STACK_END_COUNT - 1);
	sample.nr = read_u32(in, SAMPLES_NR);
	sample.syscall_nr = (int16_t)(columns_in_bounded(in, SAMPLES_SYSCALL, UINT16_MAX) - 1);
	sample.runq_ns = columns_in_uint(in, SAMPLES_RUNQ);
	sample.time_ns = columns_in_delta(in, SAMPLES_TIME, reader->coder.previous_ns);
	minor_ns = columns_in_uint(in, SAMPLES_MINOR);
	if (in->failed || profile->nr_samples >= TABLE_ROWS_MAX)
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

static bool read_counter(struct reader *reader, struct columns_in *in)
{
	struct profile_counter row = {0};

	if (!take(reader, in, &schema_counters, &row))
		return false;
	profile_set_counter(reader->profile, profile_str(reader->profile, row.name), row.value);
	/* A linear search per row: profiles of ours have some dozens. */
	return reader->profile->nr_counters <= COUNTERS_MAX;
}

static bool read_mark(struct reader *reader, struct columns_in *in)
{
	struct profile_mark row = {0};

	if (!take(reader, in, &schema_marks, &row))
		return false;
	profile_add_mark(reader->profile, row.time_ns, profile_str(reader->profile, row.text));
	return true;
}

static bool read_advance(struct reader *reader, struct columns_in *in)
{
	struct profile_advance row = {0};

	if (!take(reader, in, &schema_advances, &row) ||
	    row.amount > ADVANCES_SUM_MAX - reader->nr_advanced)
		return false;
	reader->nr_advanced += row.amount;
	advances_add(&reader->profile->advances, &row);
	return true;
}

static bool read_jit_name(struct reader *reader, struct columns_in *in)
{
	struct jit_name row = {0};

	if (!take(reader, in, &schema_jit_names, &row))
		return false;
	profile_add_jit_name(reader->profile, &row);
	return true;
}

static bool read_jit_source(struct reader *reader, struct columns_in *in)
{
	struct jit_source row = {0};

	if (!take(reader, in, &schema_jit_sources, &row))
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

	if (!take(reader, in, &schema_functions, &function) || nr >= TABLE_ROWS_MAX)
		return false;
	begin_symbols(reader);
	return profile_intern_function(profile, &function).v == nr;
}

static bool read_location(struct reader *reader, struct columns_in *in)
{
	struct profile *profile = reader->profile;
	uint64_t frame = columns_in_uint(in, LOCATIONS_FRAME);
	struct location location = {
		.function.v =
			columns_in_index(in, LOCATIONS_FUNCTION, profile->symbols.nr_functions),
		.file = read_text(reader, in, LOCATIONS_FILE),
		.line = read_u32(in, LOCATIONS_LINE),
	};
	struct frame_symbols *chain;

	if (in->failed || frame >= profile->nr_frames - reader->last_location_frame ||
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
	if (!take(reader, in, &schema_module_symbols, &row) ||
	    reader->nr_module_symbols >= reader->profile->symbols.nr_modules)
		return false;
	reader->profile->symbols.modules[reader->nr_module_symbols++] = row;
	return true;
}

static bool read_run(struct reader *reader, struct columns_in *in)
{
	struct profile_run row = {0};

	if (!take(reader, in, &schema_runs, &row))
		return false;
	profile_add_run(reader->profile, &row);
	return true;
}

static bool read_source(struct reader *reader, struct columns_in *in)
{
	struct profile_source row = {0};

	if (!take(reader, in, &schema_sources, &row))
		return false;
	profile_add_source(reader->profile, &row);
	return true;
}

static bool read_listing(struct reader *reader, struct columns_in *in)
{
	struct profile_listing row = {0};

	if (!take(reader, in, &schema_listings, &row))
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

/* The sum of a number and a signed difference, at most max. */
static uint64_t read_delta(struct columns_in *in, unsigned int column, uint64_t reference,
			   uint64_t max)
{
	uint64_t value = columns_in_delta(in, column, reference);

	if (value > max)
		in->failed = true;
	return value;
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
	struct profile_count before, count;
	uint32_t callee; /* a frame plus one; 0: none */

	if (!profile->nr_processes || !profile->nr_frames ||
	    !count_reference(&profile->probes, row, &before))
		return false;
	count.kind = (uint8_t)columns_in_bounded(in, COUNTS_KIND, COUNT_KIND_COUNT - 1);
	/* Flags of later versions are unknown here. */
	count.flags = (uint8_t)(columns_in_uint(in, COUNTS_FLAGS) & COUNT_FLAGS_ALL);
	count.process =
		(uint32_t)read_delta(in, COUNTS_PROCESS, before.process, profile->nr_processes - 1);
	count.where.v =
		(uint32_t)read_delta(in, COUNTS_WHERE, before.where.v, profile->nr_frames - 1);
	callee = (uint32_t)read_delta(in, COUNTS_CALLEE, (uint32_t)(before.callee.v + 1),
				      profile->nr_frames);
	count.callee.v = callee - 1;
	count.calls = read_delta(in, COUNTS_CALLS, before.calls, CALLS_TOTAL_MAX);
	count.from_ns = read_delta(in, COUNTS_FROM, before.from_ns, TIME_MAX_NS);
	count.to_ns = read_time(in, COUNTS_TO);
	return !in->failed && take_count(reader, row, &count);
}

static bool read_refusal(struct reader *reader, struct columns_in *in)
{
	struct profile *profile = reader->profile;
	struct profile_refusal row = {0};

	if (!take(reader, in, &schema_refusals, &row) ||
	    profile->probes.nr_refusals >= TABLE_ROWS_MAX)
		return false;
	profile_add_refusal(profile, &row);
	return true;
}

static bool read_end(struct reader *reader, struct columns_in *in)
{
	struct profile *profile = reader->profile;

	profile->meta.complete = columns_in_bounded(in, END_COMPLETE, 1);
	reader->ended = columns_in_uint(in, END_STRINGS) == strtab_nr(profile->strings) &&
			columns_in_uint(in, END_MODULES) == module_table_nr(profile->modules) &&
			columns_in_uint(in, END_PROCESSES) == profile->nr_processes &&
			columns_in_uint(in, END_THREADS) == profile->nr_threads &&
			columns_in_uint(in, END_FRAMES) == profile->nr_frames &&
			columns_in_uint(in, END_STACKS) == stack_trie_nr(profile->stacks) &&
			columns_in_uint(in, END_SAMPLES) == profile->nr_samples &&
			columns_in_uint(in, END_FUNCTIONS) == profile->symbols.nr_functions &&
			columns_in_uint(in, END_LOCATIONS) == profile->symbols.nr_locations &&
			columns_in_uint(in, END_COUNTS) == profile->probes.nr_counts &&
			columns_in_uint(in, END_REFUSALS) == profile->probes.nr_refusals &&
			columns_in_uint(in, END_ALLOCATIONS) == profile->heap.nr_allocations &&
			columns_in_uint(in, END_MOMENTS) == profile->heap.nr_moments;
	return reader->ended;
}

struct table {
	unsigned int nr_columns; /* 0: those of the schema */
	reader_take_row *read;
	unsigned int nr_old; /* every file has so many; 0: as the schema says, else all of them */
	uint32_t texts;	     /* a bit for each column of texts; the others hold numbers */
	const struct schema *schema; /* NULL: it has none */
};

static const struct table tables[RECORD_TYPE_COUNT] = {
	[RECORD_META] = {0, read_meta, 0, 0, &schema_meta},
	[RECORD_COMMAND] = {COMMAND_COLUMNS, read_command_word, 0, 0, NULL},
	[RECORD_STRINGS] = {STRINGS_COLUMNS, read_string, 0, 1U << STRINGS_BYTES, NULL},
	[RECORD_MODULES] = {MODULES_COLUMNS, read_module, MODULES_OLD_COLUMNS,
			    1U << MODULES_PATH | 1U << MODULES_BUILD_ID, NULL},
	[RECORD_PROCESSES] = {PROCESSES_COLUMNS, read_process, 0, 0, &schema_processes},
	[RECORD_THREADS] = {THREADS_COLUMNS, read_thread, 0, 0, &schema_threads},
	[RECORD_FRAMES] = {FRAMES_COLUMNS, read_frame, 0, 0, NULL},
	[RECORD_STACKS] = {STACKS_COLUMNS, read_stack, 0, 0, NULL},
	[RECORD_SAMPLES] = {SAMPLES_COLUMNS, read_sample, SAMPLES_OLD_COLUMNS, 0, NULL},
	[RECORD_COUNTERS] = {0, read_counter, 0, 0, &schema_counters},
	[RECORD_MARKS] = {0, read_mark, 0, 0, &schema_marks},
	[RECORD_FUNCTIONS] = {0, read_function, 0, 0, &schema_functions},
	[RECORD_LOCATIONS] = {LOCATIONS_COLUMNS, read_location, 0, 0, NULL},
	[RECORD_MODULE_SYMBOLS] = {0, read_module_symbols, 0, 0, &schema_module_symbols},
	[RECORD_END] = {END_COLUMNS, read_end, END_OLD_COLUMNS, 0, NULL},
	[RECORD_ALLOCATIONS] = {ALLOCATIONS_COLUMNS, reader_take_allocation,
				ALLOCATIONS_OLD_COLUMNS, 0, NULL},
	[RECORD_MOMENTS] = {MOMENTS_COLUMNS, reader_take_moment, MOMENTS_OLD_COLUMNS, 0, NULL},
	[RECORD_COUNTS] = {COUNTS_COLUMNS, read_count, 0, 0, NULL},
	[RECORD_REFUSALS] = {0, read_refusal, 0, 0, &schema_refusals},
	[RECORD_JIT_NAMES] = {0, read_jit_name, 0, 0, &schema_jit_names},
	[RECORD_JIT_SOURCES] = {0, read_jit_source, 0, 0, &schema_jit_sources},
	[RECORD_SOURCES] = {0, read_source, 0, 0, &schema_sources},
	[RECORD_DISCARDS] = {DISCARDS_COLUMNS, reader_take_discard, 0, 0, NULL},
	[RECORD_SEARCHES] = {0, reader_take_search, 0, 0, &schema_searches},
	[RECORD_SEARCHED] = {SEARCHED_COLUMNS, reader_take_searched, 0, 0, NULL},
	[RECORD_WAITS] = {0, reader_take_wait, 0, 0, &schema_waits},
	[RECORD_VERDICTS] = {VERDICTS_COLUMNS, reader_take_verdict, 0, 0, NULL},
	[RECORD_RUNS] = {0, read_run, 0, 0, &schema_runs},
	[RECORD_LISTINGS] = {0, read_listing, 0, 0, &schema_listings},
	[RECORD_ADVANCES] = {0, read_advance, 0, 0, &schema_advances},
};

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
	const struct table *table = &tables[type];
	const struct schema *schema = table->schema;
	struct columns_in *in = &reader->columns;
	unsigned int nr_columns, nr_old;

	if (!table->read) /* of another version */
		return true;
	nr_columns = table->nr_columns ? table->nr_columns : schema_nr_columns(schema);
	nr_old = schema ? schema->nr_old : table->nr_old;

	if (!columns_in_open(in, payload, nr_bytes, nr_columns, nr_old ? nr_old : nr_columns,
			     table->texts) ||
	    !rows_in_bounds(reader, in->nr_rows))
		return false;
	if (type == RECORD_COMMAND) /* the last one replaces earlier ones */
		reader->profile->meta.nr_command = 0;
	for (; in->row < in->nr_rows; in->row++) {
		if (!table->read(reader, in) || in->failed)
			return false;
	}
	return true;
}
