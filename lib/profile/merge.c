// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/merge.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "profile/profile.h"

/* One of the profiles, and what its ids are in the result. */
struct source {
	const struct profile *profile;
	uint64_t offset_ns; /* from the beginning of the result to that of this one */
	struct str_id *strings;
	struct module_id *modules;
	struct frame_id *frames;
	struct stack_id *stacks;
	uint32_t first_process, first_thread;
};

static void release_source(struct source *source)
{
	free(source->strings);
	free(source->modules);
	free(source->frames);
	free(source->stacks);
}

static void take_strings(struct profile *into, struct source *source)
{
	const struct strtab *strings = source->profile->strings;

	source->strings = xcalloc(strtab_nr(strings), sizeof(*source->strings));
	for (uint32_t i = 0; i < strtab_nr(strings); i++)
		source->strings[i] =
			strtab_intern(into->strings, strtab_get(strings, (struct str_id){i}));
}

static void take_modules(struct profile *into, struct source *source, size_t ordinal)
{
	const struct module_table *modules = source->profile->modules;

	source->modules = xcalloc(module_table_nr(modules), sizeof(*source->modules));
	for (uint32_t i = 0; i < module_table_nr(modules); i++) {
		struct module module = *module_table_get(modules, (struct module_id){i});

		module.fd = -1;
		/* Process ids mean nothing across recordings: JIT memory is each one's own. */
		if (module.kind == MODULE_KIND_JIT)
			module.dev = ordinal;
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

/* 0 says "not yet" of an end, and stays. */
static uint64_t shifted_end(const struct source *source, uint64_t end_ns)
{
	return end_ns ? end_ns + source->offset_ns : 0;
}

static void take_threads(struct profile *into, struct source *source)
{
	const struct profile *from = source->profile;

	source->first_process = (uint32_t)into->nr_processes;
	source->first_thread = (uint32_t)into->nr_threads;
	for (size_t i = 0; i < from->nr_processes; i++) {
		struct profile_process process = from->processes[i];

		if (process.parent != PROCESS_NONE)
			process.parent += source->first_process;
		process.name = source->strings[process.name.v];
		process.exe = source->strings[process.exe.v];
		process.command = source->strings[process.command.v];
		process.start_ns += source->offset_ns;
		process.end_ns = shifted_end(source, process.end_ns);
		profile_add_process(into, &process);
	}
	for (size_t i = 0; i < from->nr_threads; i++) {
		struct profile_thread thread = from->threads[i];

		thread.process += source->first_process;
		thread.name = source->strings[thread.name.v];
		thread.start_ns += source->offset_ns;
		thread.end_ns = shifted_end(source, thread.end_ns);
		profile_add_thread(into, &thread);
	}
}

static void take_samples(struct profile *into, const struct source *source)
{
	const struct profile *from = source->profile;

	for (size_t i = 0; i < from->nr_samples; i++) {
		struct sample sample = from->samples[i];

		sample.time_ns += source->offset_ns;
		sample.thread.v += source->first_thread;
		sample.stack = source->stacks[sample.stack.v];
		profile_add_sample(into, &sample);
	}
	for (size_t i = 0; i < from->nr_marks; i++)
		profile_add_mark(into, from->marks[i].time_ns + source->offset_ns,
				 profile_str(from, from->marks[i].text));
}

/* Counters of which the sum would mean nothing. */
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
}

/* The first one's facts stand where the others agree. */
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
	meta->complete = (first || meta->complete) && from->complete;
	if (from->duration_ns + source->offset_ns > meta->duration_ns)
		meta->duration_ns = from->duration_ns + source->offset_ns;
}

static struct location map_location(struct profile *into, const struct source *source,
				    const struct location *location)
{
	struct function function = source->profile->functions[location->function.v];

	function.name = source->strings[function.name.v];
	function.linkage_name = source->strings[function.linkage_name.v];
	function.file = source->strings[function.file.v];
	return (struct location){.function = profile_intern_function(into, &function),
				 .file = source->strings[location->file.v],
				 .line = location->line};
}

static void take_chain(struct profile *into, const struct source *source, size_t frame)
{
	struct frame_symbols chain = source->profile->frame_symbols[frame];
	struct frame_id to = source->frames[frame];
	struct location *locations;

	if (!chain.nr || into->frame_symbols[to.v].nr)
		return;
	locations = xcalloc(chain.nr, sizeof(*locations));
	for (uint32_t i = 0; i < chain.nr; i++)
		locations[i] =
			map_location(into, source, &source->profile->locations[chain.first + i]);
	profile_set_chain(into, to, locations, chain.nr);
	free(locations);
}

static void take_symbols(struct profile *into, const struct source *source)
{
	const struct profile *from = source->profile;

	for (size_t i = 0; i < from->nr_frame_symbols; i++)
		take_chain(into, source, i);
	for (size_t i = 0; i < from->nr_module_symbols; i++) {
		struct module_symbols row = from->module_symbols[i];
		struct module_symbols *to = &into->module_symbols[source->modules[i].v];

		if (to->source != SYMBOL_SOURCE_NONE || to->problem.v != STR_EMPTY.v)
			continue;
		row.debug_path = source->strings[row.debug_path.v];
		row.problem = source->strings[row.problem.v];
		*to = row;
	}
}

static bool any_symbols(const struct profile *const *profiles, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		if (profiles[i]->nr_frame_symbols)
			return true;
	}
	return false;
}

/* When the earliest began; recordings that do not know count from there. */
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

struct profile *profile_merge(const struct profile *const *profiles, size_t nr)
{
	struct source *sources = xcalloc(nr, sizeof(*sources));
	struct profile *into = profile_new();

	assert(nr > 0);
	into->meta.start_realtime_ns = first_start_ns(profiles, nr);
	for (size_t i = 0; i < nr; i++) {
		struct source *source = &sources[i];
		uint64_t start = profiles[i]->meta.start_realtime_ns;

		source->profile = profiles[i];
		source->offset_ns = start ? start - into->meta.start_realtime_ns : 0;
		take_strings(into, source);
		take_modules(into, source, i);
		take_stacks(into, source);
		take_threads(into, source);
		take_samples(into, source);
		take_counters(into, profiles[i]);
		merge_meta(into, source, i == 0);
	}
	if (any_symbols(profiles, nr))
		profile_reset_symbols(into);
	for (size_t i = 0; i < nr; i++) {
		if (into->nr_frame_symbols)
			take_symbols(into, &sources[i]);
		release_source(&sources[i]);
	}
	free(sources);
	return into;
}
