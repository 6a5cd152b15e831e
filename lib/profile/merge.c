// SPDX-License-Identifier: GPL-2.0-or-later
/* Merges profiles into one. */
#include "profile/merge.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/minmax.h"
#include "profile/merge_heap.h"
#include "profile/profile.h"
#include "profile/renumber.h"
#include "profile/runs.h"

/* One of the profiles, and its rows in the result. */
struct source {
	const struct profile *profile;
	struct renumbering map;
};

/* A process or thread of the result that may continue in the next part: its last row by its id. */
struct known {
	pid_t id;
	uint32_t row;
};

#define JOINED UINT32_MAX /* an already matched row: a later thread with that id is another one */

struct known_list {
	struct known *rows; /* by id, then row */
	size_t nr;
};

static int by_id(const void *left, const void *right)
{
	const struct known *a = left;
	const struct known *b = right;

	if (a->id != b->id)
		return a->id > b->id ? 1 : -1;
	return (a->row > b->row) - (a->row < b->row);
}

/* NULL if there is none. */
static struct known *last_of(const struct known_list *list, pid_t id)
{
	size_t low = 0, high = list->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list->rows[middle].id <= id)
			low = middle + 1;
		else
			high = middle;
	}
	return low && list->rows[low - 1].id == id ? &list->rows[low - 1] : NULL;
}

static struct known_list known_processes(const struct profile *profile)
{
	struct known_list list = {xcalloc(profile->nr_processes, sizeof(*list.rows)),
				  profile->nr_processes};

	for (uint32_t i = 0; i < list.nr; i++)
		list.rows[i] = (struct known){profile->processes[i].pid, i};
	if (list.nr)
		qsort(list.rows, list.nr, sizeof(*list.rows), by_id);
	return list;
}

static struct known_list known_threads(const struct profile *profile)
{
	struct known_list list = {xcalloc(profile->nr_threads, sizeof(*list.rows)),
				  profile->nr_threads};

	for (uint32_t i = 0; i < list.nr; i++)
		list.rows[i] = (struct known){profile->threads[i].tid, i};
	if (list.nr)
		qsort(list.rows, list.nr, sizeof(*list.rows), by_id);
	return list;
}

static void take_strings(struct profile *into, struct source *source)
{
	const struct strtab *strings = source->profile->strings;
	uint32_t *rows = renumbering_begin(&source->map, source->profile, RECORD_STRINGS);

	for (uint32_t i = 0; i < strtab_nr(strings); i++)
		rows[i] = strtab_intern(into->strings, strtab_get(strings, (struct str_id){i})).v;
}

/* For the parts of one recording, in which files are still open: the same in the result. */
static void take_file(struct module *module, bool join)
{
	if (join && module->fd >= 0) {
		module->fd = fcntl(module->fd, F_DUPFD_CLOEXEC, 0);
		return;
	}
	module->fd = -1;
	module->is_copy = false;
}

static void take_modules(struct profile *into, struct source *source, size_t jit_owner, bool join)
{
	const struct module_table *modules = source->profile->modules;
	uint32_t *rows = renumbering_begin(&source->map, source->profile, RECORD_MODULES);

	for (uint32_t i = 0; i < module_table_nr(modules); i++) {
		struct module module = *module_table_get(modules, (struct module_id){i});

		take_file(&module, join);
		/* Process ids are meaningless across recordings: JIT memory is kept separate. */
		if (module.kind == MODULE_KIND_JIT)
			module.dev = jit_owner;
		rows[i] = module_table_intern(into->modules, &module).v;
	}
}

static void take_stacks(struct profile *into, struct source *source)
{
	const struct profile *from = source->profile;
	uint32_t *frames = renumbering_begin(&source->map, from, RECORD_FRAMES);
	uint32_t *stacks = renumbering_begin(&source->map, from, RECORD_STACKS);

	for (size_t i = 0; i < from->nr_frames; i++) {
		struct frame frame = from->frames[i];

		renumber(&source->map, RECORD_FRAMES, &frame);
		frames[i] = profile_intern_frame(into, frame.where).v;
	}
	for (uint32_t i = 1; i < stack_trie_nr(from->stacks); i++) {
		struct stack_id id = {i};
		struct stack_id parent = {stacks[stack_trie_parent(from->stacks, id).v]};
		struct frame_id frame = {frames[stack_trie_frame(from->stacks, id).v]};

		stacks[i] = stack_trie_intern(into->stacks, parent, frame).v;
	}
}

static struct profile_process map_process(const struct source *source, size_t i)
{
	struct profile_process process = source->profile->processes[i];

	renumber(&source->map, RECORD_PROCESSES, &process);
	return process;
}

static struct profile_thread map_thread(const struct source *source, size_t i)
{
	struct profile_thread thread = source->profile->threads[i];

	renumber(&source->map, RECORD_THREADS, &thread);
	return thread;
}

static void take_threads(struct profile *into, struct source *source)
{
	const struct profile *from = source->profile;
	uint32_t *processes = renumbering_begin(&source->map, from, RECORD_PROCESSES);
	uint32_t *threads = renumbering_begin(&source->map, from, RECORD_THREADS);

	for (size_t i = 0; i < from->nr_processes; i++) {
		struct profile_process process = map_process(source, i);

		processes[i] = profile_add_process(into, &process).v;
	}
	for (size_t i = 0; i < from->nr_threads; i++) {
		struct profile_thread thread = map_thread(source, i);

		threads[i] = profile_add_thread(into, &thread).v;
	}
}

/* Processes that were detached have the end of the recording for their end. */
static uint64_t last_end_ns(const struct profile *profile)
{
	uint64_t last_ns = 0;

	for (size_t i = 0; i < profile->nr_processes; i++)
		last_ns = max_u64(last_ns, profile->processes[i].end_ns);
	return last_ns;
}

/* Was the process attached, and detached in the former part? After an exec it is another one. */
static bool goes_on(const struct profile_process *former, uint64_t end_ns,
		    const struct profile_process *process)
{
	return process->parent == PROCESS_NONE && former->end_ns == end_ns &&
	       former->exe.v == process->exe.v;
}

static void join_processes(struct profile *into, struct source *source)
{
	struct known_list known = known_processes(into);
	uint32_t *rows = renumbering_begin(&source->map, source->profile, RECORD_PROCESSES);
	uint64_t end_ns = last_end_ns(into);

	for (size_t i = 0; i < source->profile->nr_processes; i++) {
		struct profile_process process = map_process(source, i);
		const struct known *former = last_of(&known, process.pid);

		if (!former || !goes_on(&into->processes[former->row], end_ns, &process)) {
			rows[i] = profile_add_process(into, &process).v;
			continue;
		}
		rows[i] = former->row;
		into->processes[former->row].name = process.name;
		into->processes[former->row].command = process.command;
		into->processes[former->row].end_ns = process.end_ns;
		cpu_split_add(&into->processes[former->row].split, &process.split);
		into->processes[former->row].nr_unseen += process.nr_unseen;
		into->processes[former->row].stands_for_unseen = process.stands_for_unseen;
		into->processes[former->row].children_ns = process.children_ns;
		into->processes[former->row].context = process.context;
		into->processes[former->row].context_problem = process.context_problem;
	}
	free(known.rows);
}

/* An empty sample ends the time between the parts, which the next sample would else cover. */
static void begin_anew(struct profile *into, uint32_t row, uint64_t time_ns)
{
	struct sample nothing = {.time_ns = time_ns,
				 .thread = {row},
				 .stack = STACK_EMPTY,
				 .syscall_nr = -1,
				 .kind = SAMPLE_UNATTRIBUTED,
				 .end = STACK_END_ROOT};

	profile_add_sample(into, &nothing);
}

static void join_threads(struct profile *into, struct source *source)
{
	struct known_list known = known_threads(into);
	uint32_t *rows = renumbering_begin(&source->map, source->profile, RECORD_THREADS);

	for (size_t i = 0; i < source->profile->nr_threads; i++) {
		struct profile_thread thread = map_thread(source, i);
		struct known *former = last_of(&known, thread.tid);

		if (!former || former->row == JOINED ||
		    into->threads[former->row].process != thread.process) {
			rows[i] = profile_add_thread(into, &thread).v;
			continue;
		}
		rows[i] = former->row;
		into->threads[former->row].name = thread.name;
		into->threads[former->row].end_ns = thread.end_ns;
		cpu_split_add(&into->threads[former->row].split, &thread.split);
		into->threads[former->row].nr_switches += thread.nr_switches;
		into->threads[former->row].stands_for_unseen = thread.stands_for_unseen;
		into->threads[former->row].was_missed = thread.was_missed;
		begin_anew(into, former->row, thread.start_ns);
		former->row = JOINED;
	}
	free(known.rows);
}

static void take_waits(struct profile *into, struct source *source)
{
	const struct profile_waits *from = profile_waits(source->profile);
	uint32_t *rows = renumbering_begin(&source->map, source->profile, RECORD_WAITS);

	for (size_t i = 0; i < from->nr; i++) {
		struct profile_wait row = from->rows[i];

		renumber(&source->map, RECORD_WAITS, &row);
		rows[i] = profile_waits_intern(profile_waits(into), &row) - 1;
	}
}

static void take_labels(struct profile *into, struct source *source)
{
	const struct profile_labels *from = profile_labels(source->profile);
	uint32_t *rows = renumbering_begin(&source->map, source->profile, RECORD_LABELS);

	for (size_t i = 0; i < from->nr; i++) {
		struct profile_label row = from->rows[i];

		renumber(&source->map, RECORD_LABELS, &row);
		rows[i] = profile_labels_intern(profile_labels(into), &row) - 1;
	}
}

static void take_samples(struct profile *into, const struct source *source)
{
	const struct profile *from = source->profile;

	for (size_t i = 0; i < from->nr_samples; i++) {
		struct sample sample = from->samples[i];

		renumber(&source->map, RECORD_SAMPLES, &sample);
		profile_add_sample(into, &sample);
	}
	for (size_t i = 0; i < from->nr_marks; i++) {
		struct profile_mark row = from->marks[i];

		renumber(&source->map, RECORD_MARKS, &row);
		profile_add_mark(into, row.time_ns, profile_str(into, row.text));
	}
	for (size_t i = 0; i < from->advances.nr; i++) {
		struct profile_advance row = from->advances.rows[i];

		renumber(&source->map, RECORD_ADVANCES, &row);
		advances_add(&into->advances, &row);
	}
}

static void take_jit(struct profile *into, const struct source *source)
{
	const struct profile *from = source->profile;

	for (size_t i = 0; i < from->jit.nr_names; i++) {
		struct jit_name row = from->jit.names[i];

		renumber(&source->map, RECORD_JIT_NAMES, &row);
		profile_add_jit_name(into, &row);
	}
	for (size_t i = 0; i < from->jit.nr_sources; i++) {
		struct jit_source row = from->jit.sources[i];

		renumber(&source->map, RECORD_JIT_SOURCES, &row);
		profile_add_jit_source(into, &row);
	}
}

/*
 * Rows for the same place stay apart even for a process in both parts: each has a time of its own.
 */
static void take_probes(struct profile *into, const struct source *source)
{
	const struct profile_probes *from = &source->profile->probes;

	for (size_t i = 0; i < from->nr_counts; i++) {
		struct profile_count row = from->counts[i];

		renumber(&source->map, RECORD_COUNTS, &row);
		profile_add_count(into, &row);
	}
	for (size_t i = 0; i < from->nr_refusals; i++) {
		struct profile_refusal row = from->refusals[i];

		renumber(&source->map, RECORD_REFUSALS, &row);
		profile_add_refusal(into, &row);
	}
}

static void take_spans(struct profile *into, struct source *source)
{
	const struct profile_spans *from = &source->profile->spans;
	uint32_t *rows = renumbering_begin(&source->map, source->profile, RECORD_SPANS);

	for (size_t i = 0; i < from->nr; i++) {
		struct profile_span row = from->rows[i];

		renumber(&source->map, RECORD_SPANS, &row);
		rows[i] = profile_add_span(into, &row);
	}
	for (size_t i = 0; i < from->nr_sums; i++) {
		struct profile_span_sum row = from->sums[i];

		renumber(&source->map, RECORD_SPAN_SUMS, &row);
		profile_add_span_sum(into, &row);
	}
	for (size_t i = 0; i < from->nr_lengths; i++) {
		struct profile_span_length row = from->lengths[i];

		renumber(&source->map, RECORD_SPAN_LENGTHS, &row);
		profile_add_span_length(into, &row);
	}
	for (size_t i = 0; i < from->nr_slow; i++) {
		struct profile_slow_call row = from->slow[i];

		renumber(&source->map, RECORD_SLOW_CALLS, &row);
		profile_add_slow_call(into, &row);
	}
}

static void take_wakes(struct profile *into, const struct source *source)
{
	const struct profile_wakes *from = &source->profile->probes.wakes;

	for (size_t i = 0; i < from->nr; i++) {
		struct profile_wake row = from->rows[i];

		renumber(&source->map, RECORD_WAKES, &row);
		profile_add_wake(into, &row);
	}
}

static void take_sources(struct profile *into, const struct source *source)
{
	const struct profile *from = source->profile;

	for (size_t i = 0; i < from->symbols.nr_sources; i++) {
		struct profile_source row = from->symbols.sources[i];

		renumber(&source->map, RECORD_SOURCES, &row);
		profile_add_source(into, &row);
	}
	for (size_t i = 0; i < from->symbols.nr_listings; i++) {
		struct profile_listing row = from->symbols.listings[i];

		renumber(&source->map, RECORD_LISTINGS, &row);
		if (!profile_find_listing(into, (struct code_address){row.module, row.start}))
			profile_add_listing(into, &row);
	}
}

static void take_others(struct profile *into, const struct source *source)
{
	const struct profile_others *from = &source->profile->others;

	for (size_t i = 0; i < from->nr; i++) {
		struct profile_other row = from->rows[i];

		renumber(&source->map, RECORD_OTHERS, &row);
		profile_add_other(into, &row);
	}
}

/* Counters without a meaningful sum. */
static bool keeps_largest(const char *name)
{
	static const char *const parts[] = {"_median", "_p99", "_max", "_ppm", "_hz", "realtime"};

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		if (strstr(name, parts[i]))
			return true;
	}
	return strncmp(name, "frequency_hz", strlen("frequency_hz")) == 0;
}

static void take_counters(struct profile *into, const struct profile *from)
{
	for (size_t i = 0; i < from->nr_counters; i++) {
		const char *name = profile_str(from, from->counters[i].name);
		uint64_t before = profile_counter(into, name);
		uint64_t value = from->counters[i].value;

		if (!keeps_largest(name))
			value += before;
		else if (before > value)
			value = before;
		profile_set_counter(into, name, value);
	}
}

static bool is_listed(const char *list, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = strstr(list, word); at; at = strstr(at + 1, word)) {
		bool begins = at == list || at[-1] == ' ';

		if (begins && (at[length] == '\0' || at[length] == ','))
			return true;
	}
	return false;
}

/* "vulcan", or "vulcan, wodan" */
static void merge_text(struct profile *into, struct str_id *known, const char *text)
{
	const char *list = profile_str(into, *known);
	struct buf joined = {0};

	if (!*text || is_listed(list, text))
		return;
	if (*list)
		buf_printf(&joined, "%s, ", list);
	buf_append_str(&joined, text);
	*known = profile_intern(into, buf_str(&joined));
	buf_release(&joined);
}

static void merge_texts(struct profile *into, const struct profile *from)
{
	const struct schema *schema = &schemas[RECORD_META];

	for (unsigned int i = 0; i < schema->nr; i++) {
		const struct schema_column *column = &schema->columns[i];
		struct str_id known, text;

		if (!schema_is_text(column))
			continue;
		known.v = (uint32_t)schema_load(column, &into->meta);
		text.v = (uint32_t)schema_load(column, &from->meta);
		merge_text(into, &known, profile_str(from, text));
		schema_save(column, &into->meta, known.v);
	}
}

/* The first profile's facts remain where the others agree. */
static void merge_meta(struct profile *into, const struct source *source, bool first, bool join)
{
	const struct profile_meta *from = &source->profile->meta;
	struct profile_meta *meta = &into->meta;

	merge_texts(into, source->profile);
	for (size_t i = 0; first && i < from->nr_command; i++)
		profile_add_command_word(into, profile_str(source->profile, from->command[i]));
	meta->frequency_hz =
		first || meta->frequency_hz == from->frequency_hz ? from->frequency_hz : 0;
	meta->nr_cpus = first || meta->nr_cpus == from->nr_cpus ? from->nr_cpus : 0;
	meta->max_overhead_ppm = from->max_overhead_ppm > meta->max_overhead_ppm
					 ? from->max_overhead_ppm
					 : meta->max_overhead_ppm;
	meta->exit_status =
		first || join || meta->exit_status == from->exit_status ? from->exit_status : -1;
	meta->attached |= from->attached;
	meta->knows_freeing |= from->knows_freeing;
	meta->knows_calls = (first || meta->knows_calls) && from->knows_calls;
	meta->knows_faults = (first || meta->knows_faults) && from->knows_faults;
	meta->knows_waits = (first || meta->knows_waits) && from->knows_waits;
	meta->complete = (first || meta->complete) && from->complete;
	meta->duration_ns = max_u64(meta->duration_ns, from->duration_ns + source->map.offset_ns);
}

static struct location map_location(struct profile *into, const struct source *source,
				    struct location location)
{
	struct function function = source->profile->symbols.functions[location.function.v];

	renumber(&source->map, RECORD_FUNCTIONS, &function);
	renumber(&source->map, RECORD_LOCATIONS, &location);
	location.function = profile_intern_function(into, &function);
	return location;
}

static void take_chain(struct profile *into, const struct source *source, size_t frame)
{
	struct frame_symbols chain = source->profile->symbols.frames[frame];
	struct frame_id to = {source->map.rows[RECORD_FRAMES][frame]};
	struct location *locations;

	if (!chain.nr || into->symbols.frames[to.v].nr)
		return;
	locations = xcalloc(chain.nr, sizeof(*locations));
	for (uint32_t i = 0; i < chain.nr; i++)
		locations[i] = map_location(into, source,
					    source->profile->symbols.locations[chain.first + i]);
	profile_set_chain(into, to, locations, chain.nr);
	free(locations);
}

static void take_symbols(struct profile *into, const struct source *source)
{
	const struct profile *from = source->profile;

	for (size_t i = 0; i < from->symbols.nr_frames; i++)
		take_chain(into, source, i);
	for (size_t i = 0; i < from->symbols.nr_modules; i++) {
		struct module_symbols row = from->symbols.modules[i];
		struct module_symbols *to =
			&into->symbols.modules[source->map.rows[RECORD_MODULES][i]];

		if (to->source != SYMBOL_SOURCE_NONE || to->problem.v != STR_EMPTY.v) {
			to->owner = owner_join(to->owner, row.owner);
			continue;
		}
		renumber(&source->map, RECORD_MODULE_SYMBOLS, &row);
		*to = row;
	}
}

static bool any_symbols(const struct profile *const *profiles, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (profiles[i]->symbols.nr_frames)
			return true;
	}
	return false;
}

/* The start of the earliest recording; those without a start are taken to begin then. */
static uint64_t first_start_ns(const struct profile *const *profiles, size_t nr)
{
	uint64_t first = 0;

	for (size_t i = 0; i < nr; i++) {
		uint64_t start = profiles[i]->meta.start_realtime_ns;

		if (start && (!first || start < first))
			first = start;
	}
	return first;
}

static struct profile *merge(const struct profile *const *profiles, size_t nr, bool join)
{
	struct source *sources = xcalloc(nr, sizeof(*sources));
	struct profile *into = profile_new();
	struct heap_merge heap = {0};

	assert(nr > 0);
	into->meta.start_realtime_ns = first_start_ns(profiles, nr);
	for (size_t i = 0; i < nr; i++) {
		struct source *source = &sources[i];
		uint64_t start = profiles[i]->meta.start_realtime_ns;

		source->profile = profiles[i];
		source->map.offset_ns = start ? start - into->meta.start_realtime_ns : 0;
		take_strings(into, source);
		take_modules(into, source, join ? 0 : i, join);
		take_stacks(into, source);
		if (join && i > 0) {
			join_processes(into, source);
			join_threads(into, source);
		} else {
			take_threads(into, source);
		}
		take_waits(into, source);
		take_labels(into, source);
		take_samples(into, source);
		take_jit(into, source);
		take_probes(into, source);
		take_spans(into, source);
		take_wakes(into, source);
		heap_merge_take(&heap, profiles[i], &source->map);
		take_sources(into, source);
		take_others(into, source);
		take_counters(into, profiles[i]);
		merge_meta(into, source, i == 0, join);
	}
	heap_merge_finish(&heap, into);
	for (size_t i = 0; i < nr && !join && nr > 1; i++)
		profile_add_runs_of(into, profiles[i]);
	if (any_symbols(profiles, nr))
		profile_reset_symbols(into);
	for (size_t i = 0; i < nr; i++) {
		if (into->symbols.nr_frames)
			take_symbols(into, &sources[i]);
		renumbering_release(&sources[i].map);
	}
	free(sources);
	return into;
}

struct profile *profile_merge(const struct profile *const *profiles, size_t nr)
{
	return merge(profiles, nr, false);
}

struct profile *profile_join(const struct profile *former, const struct profile *latter)
{
	const struct profile *const parts[] = {former, latter};

	return merge(parts, ARRAY_SIZE(parts), true);
}
