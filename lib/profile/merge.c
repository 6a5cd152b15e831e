// SPDX-License-Identifier: GPL-2.0-or-later
/* Merges profiles into one. */
#include "profile/merge.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/minmax.h"
#include "profile/merge_heap.h"
#include "profile/profile.h"
#include "profile/runs.h"

/* One of the profiles, and its ids in the result. */
struct source {
	const struct profile *profile;
	uint64_t offset_ns; /* from the start of the result to the start of this profile */
	struct str_id *strings;
	struct module_id *modules;
	struct frame_id *frames;
	struct stack_id *stacks;
	uint32_t *processes, *threads;
	uint32_t *waits; /* as samples have them */
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

static void release_source(struct source *source)
{
	free(source->strings);
	free(source->modules);
	free(source->frames);
	free(source->stacks);
	free(source->processes);
	free(source->threads);
	free(source->waits);
}

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

	source->strings = xcalloc(strtab_nr(strings), sizeof(*source->strings));
	for (uint32_t i = 0; i < strtab_nr(strings); i++)
		source->strings[i] =
			strtab_intern(into->strings, strtab_get(strings, (struct str_id){i}));
}

static void take_modules(struct profile *into, struct source *source, size_t jit_owner)
{
	const struct module_table *modules = source->profile->modules;

	source->modules = xcalloc(module_table_nr(modules), sizeof(*source->modules));
	for (uint32_t i = 0; i < module_table_nr(modules); i++) {
		struct module module = *module_table_get(modules, (struct module_id){i});

		module.fd = -1;
		module.is_copy = false;
		/* Process ids are meaningless across recordings: JIT memory is kept separate. */
		if (module.kind == MODULE_KIND_JIT)
			module.dev = jit_owner;
		source->modules[i] = module_table_intern(into->modules, &module);
	}
}

static void take_stacks(struct profile *into, struct source *source)
{
	const struct profile *from = source->profile;
	uint32_t nr_stacks = stack_trie_nr(from->stacks);

	source->frames = xcalloc(from->nr_frames, sizeof(*source->frames));
	for (size_t i = 0; i < from->nr_frames; i++) {
		struct code_address where = from->frames[i].where;

		where.module = source->modules[where.module.v];
		source->frames[i] = profile_intern_frame(into, where);
	}
	source->stacks = xcalloc(nr_stacks, sizeof(*source->stacks));
	for (uint32_t i = 1; i < nr_stacks; i++) {
		struct stack_id id = {i};
		uint32_t parent = stack_trie_parent(from->stacks, id).v;
		uint32_t frame = stack_trie_frame(from->stacks, id).v;

		source->stacks[i] = stack_trie_intern(into->stacks, source->stacks[parent],
						      source->frames[frame]);
	}
}

/* An end of 0 means that it has not ended, and is not shifted. */
static uint64_t shifted_end(const struct source *source, uint64_t end_ns)
{
	return end_ns ? end_ns + source->offset_ns : 0;
}

static struct profile_process map_process(const struct source *source, size_t i)
{
	struct profile_process process = source->profile->processes[i];

	if (process.parent != PROCESS_NONE)
		process.parent = source->processes[process.parent];
	process.name = source->strings[process.name.v];
	process.exe = source->strings[process.exe.v];
	process.command = source->strings[process.command.v];
	process.start_ns += source->offset_ns;
	process.end_ns = shifted_end(source, process.end_ns);
	return process;
}

static struct profile_thread map_thread(const struct source *source, size_t i)
{
	struct profile_thread thread = source->profile->threads[i];

	thread.process = source->processes[thread.process];
	thread.name = source->strings[thread.name.v];
	thread.start_ns += source->offset_ns;
	thread.end_ns = shifted_end(source, thread.end_ns);
	return thread;
}

static void take_threads(struct profile *into, struct source *source)
{
	const struct profile *from = source->profile;

	for (size_t i = 0; i < from->nr_processes; i++) {
		struct profile_process process = map_process(source, i);

		source->processes[i] = profile_add_process(into, &process).v;
	}
	for (size_t i = 0; i < from->nr_threads; i++) {
		struct profile_thread thread = map_thread(source, i);

		source->threads[i] = profile_add_thread(into, &thread).v;
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
	uint64_t end_ns = last_end_ns(into);

	for (size_t i = 0; i < source->profile->nr_processes; i++) {
		struct profile_process process = map_process(source, i);
		const struct known *former = last_of(&known, process.pid);

		if (!former || !goes_on(&into->processes[former->row], end_ns, &process)) {
			source->processes[i] = profile_add_process(into, &process).v;
			continue;
		}
		source->processes[i] = former->row;
		into->processes[former->row].name = process.name;
		into->processes[former->row].command = process.command;
		into->processes[former->row].end_ns = process.end_ns;
		cpu_split_add(&into->processes[former->row].split, &process.split);
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

	for (size_t i = 0; i < source->profile->nr_threads; i++) {
		struct profile_thread thread = map_thread(source, i);
		struct known *former = last_of(&known, thread.tid);

		if (!former || former->row == JOINED ||
		    into->threads[former->row].process != thread.process) {
			source->threads[i] = profile_add_thread(into, &thread).v;
			continue;
		}
		source->threads[i] = former->row;
		into->threads[former->row].name = thread.name;
		into->threads[former->row].end_ns = thread.end_ns;
		cpu_split_add(&into->threads[former->row].split, &thread.split);
		begin_anew(into, former->row, thread.start_ns);
		former->row = JOINED;
	}
	free(known.rows);
}

static void take_waits(struct profile *into, struct source *source)
{
	const struct profile_waits *from = profile_waits(source->profile);

	source->waits = xcalloc(from->nr + 1, sizeof(*source->waits));
	for (size_t i = 0; i < from->nr; i++) {
		struct profile_wait row = from->rows[i];

		row.process = source->processes[row.process];
		row.name = source->strings[row.name.v];
		row.peer = source->strings[row.peer.v];
		if (row.place.v != WAIT_NO_PLACE.v)
			row.place = source->frames[row.place.v];
		if (row.owner.v != THREAD_NONE.v)
			row.owner.v = source->threads[row.owner.v];
		source->waits[i + 1] = profile_waits_intern(profile_waits(into), &row);
	}
}

static void take_samples(struct profile *into, const struct source *source)
{
	const struct profile *from = source->profile;

	for (size_t i = 0; i < from->nr_samples; i++) {
		struct sample sample = from->samples[i];

		sample.time_ns += source->offset_ns;
		sample.thread.v = source->threads[sample.thread.v];
		sample.stack = source->stacks[sample.stack.v];
		sample.wait = source->waits[sample.wait];
		profile_add_sample(into, &sample);
	}
	for (size_t i = 0; i < from->nr_marks; i++)
		profile_add_mark(into, from->marks[i].time_ns + source->offset_ns,
				 profile_str(from, from->marks[i].text));
}

static void take_advances(struct profile *into, const struct source *source)
{
	const struct profile_advances *from = &source->profile->advances;

	for (size_t i = 0; i < from->nr; i++) {
		struct profile_advance row = from->rows[i];

		row.time_ns += source->offset_ns;
		row.thread.v = source->threads[row.thread.v];
		row.before = source->stacks[row.before.v];
		row.after = source->stacks[row.after.v];
		advances_add(&into->advances, &row);
	}
}

static void take_jit(struct profile *into, const struct source *source)
{
	const struct profile *from = source->profile;

	for (size_t i = 0; i < from->jit.nr_names; i++) {
		struct jit_name row = from->jit.names[i];

		row.frame = source->frames[row.frame.v];
		row.name = source->strings[row.name.v];
		row.file = source->strings[row.file.v];
		row.function_file = source->strings[row.function_file.v];
		profile_add_jit_name(into, &row);
	}
	for (size_t i = 0; i < from->jit.nr_sources; i++) {
		struct jit_source row = from->jit.sources[i];

		row.module = source->modules[row.module.v];
		row.path = source->strings[row.path.v];
		row.problem = source->strings[row.problem.v];
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

		row.process = source->processes[row.process];
		row.where = source->frames[row.where.v];
		if (row.callee.v != COUNT_NO_CALLEE.v)
			row.callee = source->frames[row.callee.v];
		row.from_ns += source->offset_ns;
		row.to_ns += source->offset_ns;
		profile_add_count(into, &row);
	}
	for (size_t i = 0; i < from->nr_refusals; i++) {
		struct profile_refusal row = from->refusals[i];

		row.process = source->processes[row.process];
		row.function = source->strings[row.function.v];
		row.module = source->strings[row.module.v];
		row.reason = source->strings[row.reason.v];
		profile_add_refusal(into, &row);
	}
}

static void take_heap(struct heap_merge *merge, const struct source *source)
{
	const struct heap_merge_map map = {.processes = source->processes,
					   .threads = source->threads,
					   .stacks = source->stacks,
					   .strings = source->strings,
					   .offset_ns = source->offset_ns};

	heap_merge_take(merge, source->profile, &map);
}

static void take_sources(struct profile *into, const struct source *source)
{
	const struct profile *from = source->profile;

	for (size_t i = 0; i < from->symbols.nr_sources; i++) {
		struct profile_source row = from->symbols.sources[i];

		row.file = source->strings[row.file.v];
		row.text = source->strings[row.text.v];
		profile_add_source(into, &row);
	}
	for (size_t i = 0; i < from->symbols.nr_listings; i++) {
		struct profile_listing row = from->symbols.listings[i];

		row.module = source->modules[row.module.v];
		row.text = source->strings[row.text.v];
		if (!profile_find_listing(into, (struct code_address){row.module, row.start}))
			profile_add_listing(into, &row);
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
	struct profile_meta *meta = &into->meta;

	merge_text(into, &meta->version, profile_str(from, from->meta.version));
	merge_text(into, &meta->hostname, profile_str(from, from->meta.hostname));
	merge_text(into, &meta->kernel, profile_str(from, from->meta.kernel));
	merge_text(into, &meta->cpu_model, profile_str(from, from->meta.cpu_model));
	merge_text(into, &meta->arch, profile_str(from, from->meta.arch));
	merge_text(into, &meta->unwinder, profile_str(from, from->meta.unwinder));
	merge_text(into, &meta->within, profile_str(from, from->meta.within));
}

/* The first profile's facts remain where the others agree. */
static void merge_meta(struct profile *into, const struct source *source, bool first)
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
		first || meta->exit_status == from->exit_status ? from->exit_status : -1;
	meta->attached |= from->attached;
	meta->knows_freeing |= from->knows_freeing;
	meta->knows_calls = (first || meta->knows_calls) && from->knows_calls;
	meta->knows_waits = (first || meta->knows_waits) && from->knows_waits;
	meta->complete = (first || meta->complete) && from->complete;
	if (from->duration_ns + source->offset_ns > meta->duration_ns)
		meta->duration_ns = from->duration_ns + source->offset_ns;
}

static struct location map_location(struct profile *into, const struct source *source,
				    const struct location *location)
{
	struct function function = source->profile->symbols.functions[location->function.v];

	function.name = source->strings[function.name.v];
	function.linkage_name = source->strings[function.linkage_name.v];
	function.file = source->strings[function.file.v];
	return (struct location){.function = profile_intern_function(into, &function),
				 .file = source->strings[location->file.v],
				 .line = location->line};
}

static void take_chain(struct profile *into, const struct source *source, size_t frame)
{
	struct frame_symbols chain = source->profile->symbols.frames[frame];
	struct frame_id to = source->frames[frame];
	struct location *locations;

	if (!chain.nr || into->symbols.frames[to.v].nr)
		return;
	locations = xcalloc(chain.nr, sizeof(*locations));
	for (uint32_t i = 0; i < chain.nr; i++)
		locations[i] = map_location(into, source,
					    &source->profile->symbols.locations[chain.first + i]);
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
		struct module_symbols *to = &into->symbols.modules[source->modules[i].v];

		if (to->source != SYMBOL_SOURCE_NONE || to->problem.v != STR_EMPTY.v) {
			to->owner = owner_join(to->owner, row.owner);
			continue;
		}
		row.debug_path = source->strings[row.debug_path.v];
		row.problem = source->strings[row.problem.v];
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
		source->offset_ns = start ? start - into->meta.start_realtime_ns : 0;
		take_strings(into, source);
		take_modules(into, source, join ? 0 : i);
		take_stacks(into, source);
		source->processes = xcalloc(profiles[i]->nr_processes, sizeof(uint32_t));
		source->threads = xcalloc(profiles[i]->nr_threads, sizeof(uint32_t));
		if (join && i > 0) {
			join_processes(into, source);
			join_threads(into, source);
		} else {
			take_threads(into, source);
		}
		take_waits(into, source);
		take_samples(into, source);
		take_advances(into, source);
		take_jit(into, source);
		take_probes(into, source);
		take_heap(&heap, source);
		take_sources(into, source);
		take_counters(into, profiles[i]);
		merge_meta(into, source, i == 0);
	}
	heap_merge_finish(&heap, into);
	for (size_t i = 0; i < nr && !join && nr > 1; i++)
		profile_add_runs_of(into, profiles[i]);
	if (any_symbols(profiles, nr))
		profile_reset_symbols(into);
	for (size_t i = 0; i < nr; i++) {
		if (into->symbols.nr_frames)
			take_symbols(into, &sources[i]);
		release_source(&sources[i]);
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
