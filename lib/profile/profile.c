// SPDX-License-Identifier: GPL-2.0-or-later
/* The in-memory profile: its tables, and interning of texts and frames. */
#include "profile/profile.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/index_set.h"
#include "base/minmax.h"

struct profile_private {
	struct profile_waits waits;
	struct profile_labels labels;
	struct index_set frames;
	struct index_set functions;
	size_t cap_processes, cap_threads, cap_frames, cap_samples, cap_counters, cap_marks;
	size_t cap_jit_names, cap_jit_sources, cap_sources, cap_listings;
};

struct profile *profile_new(void)
{
	struct profile *profile = xcalloc(1, sizeof(*profile));

	profile->strings = strtab_new();
	profile->modules = module_table_new();
	profile->stacks = stack_trie_new();
	profile->private = xcalloc(1, sizeof(*profile->private));
	profile->meta.owner = owner_caller();
	profile->meta.exit_status = -1;
	profile->meta.complete = true;
	return profile;
}

void profile_free(struct profile *profile)
{
	if (!profile)
		return;
	profile_waits_release(&profile->private->waits);
	profile_labels_release(&profile->private->labels);
	advances_release(&profile->advances);
	index_set_release(&profile->private->frames);
	index_set_release(&profile->private->functions);
	free(profile->private);
	free(profile->symbols.modules);
	free(profile->symbols.functions);
	free(profile->symbols.locations);
	free(profile->symbols.frames);
	free(profile->jit.sources);
	free(profile->runs.rows);
	free(profile->others.rows);
	free(profile->jit.names);
	free(profile->marks);
	free(profile->symbols.sources);
	free(profile->symbols.listings);
	free(profile->probes.counts);
	free(profile->probes.refusals);
	free(profile->spans.rows);
	free(profile->spans.sums);
	free(profile->spans.lengths);
	free(profile->spans.slow);
	free(profile->probes.wakes.rows);
	free(profile->probes.time_outs.rows);
	free(profile->heap.allocations);
	free(profile->heap.parts);
	free(profile->heap.freed);
	free(profile->heap.moments);
	free(profile->heap.searches);
	free(profile->heap.searched);
	free(profile->heap.verdicts);
	free(profile->counters);
	free(profile->samples);
	free(profile->frames);
	free(profile->threads);
	free(profile->processes);
	free(profile->meta.command);
	stack_trie_free(profile->stacks);
	module_table_free(profile->modules);
	strtab_free(profile->strings);
	free(profile);
}

const char *profile_str(const struct profile *profile, struct str_id id)
{
	return strtab_get(profile->strings, id);
}

struct profile_waits *profile_waits(const struct profile *profile)
{
	return &profile->private->waits;
}

struct profile_labels *profile_labels(const struct profile *profile)
{
	return &profile->private->labels;
}

struct str_id profile_intern(struct profile *profile, const char *text)
{
	return strtab_intern(profile->strings, text);
}

struct process_id profile_add_process(struct profile *profile, const struct profile_process *row)
{
	assert(row->parent == PROCESS_NONE || row->parent < profile->nr_processes);
	ARRAY_GROW(profile->processes, profile->nr_processes, profile->private->cap_processes);
	profile->processes[profile->nr_processes] = *row;
	return (struct process_id){(uint32_t)profile->nr_processes++};
}

struct thread_id profile_add_thread(struct profile *profile, const struct profile_thread *row)
{
	assert(row->process < profile->nr_processes);
	ARRAY_GROW(profile->threads, profile->nr_threads, profile->private->cap_threads);
	profile->threads[profile->nr_threads] = *row;
	return (struct thread_id){(uint32_t)profile->nr_threads++};
}

static bool same_frame(const void *owner, uint32_t index, const void *key)
{
	const struct profile *profile = owner;
	const struct code_address *wanted = key;
	const struct code_address *where = &profile->frames[index].where;

	return where->address == wanted->address && where->module.v == wanted->module.v;
}

struct frame_id profile_intern_frame(struct profile *profile, struct code_address where)
{
	uint64_t hash = hash_mix(where.module.v, where.address);
	struct index_set *set = &profile->private->frames;
	uint32_t found = index_set_find(set, hash, same_frame, profile, &where);

	if (found != INDEX_NONE)
		return (struct frame_id){found};
	assert(where.module.v < module_table_nr(profile->modules));
	ARRAY_GROW(profile->frames, profile->nr_frames, profile->private->cap_frames);
	profile->frames[profile->nr_frames].where = where;
	index_set_add(set, hash, (uint32_t)profile->nr_frames);
	return (struct frame_id){(uint32_t)profile->nr_frames++};
}

static bool same_function(const void *owner, uint32_t index, const void *key)
{
	const struct profile *profile = owner;
	const struct function *wanted = key;
	const struct function *row = &profile->symbols.functions[index];

	return row->name.v == wanted->name.v && row->linkage_name.v == wanted->linkage_name.v &&
	       row->file.v == wanted->file.v && row->line == wanted->line &&
	       row->shared.v == wanted->shared.v;
}

struct function_id profile_intern_function(struct profile *profile, const struct function *row)
{
	uint64_t hash = hash_mix((uint64_t)row->name.v << 32 | row->linkage_name.v,
				 (uint64_t)row->file.v << 32 | row->line);
	struct index_set *set = &profile->private->functions;
	uint32_t found = index_set_find(set, hash, same_function, profile, row);

	if (found != INDEX_NONE)
		return (struct function_id){found};
	ARRAY_GROW(profile->symbols.functions, profile->symbols.nr_functions,
		   profile->symbols.cap_functions);
	profile->symbols.functions[profile->symbols.nr_functions] = *row;
	index_set_add(set, hash, (uint32_t)profile->symbols.nr_functions);
	return (struct function_id){(uint32_t)profile->symbols.nr_functions++};
}

void profile_add_sample(struct profile *profile, const struct sample *sample)
{
	assert(sample->thread.v < profile->nr_threads);
	assert(sample->stack.v < stack_trie_nr(profile->stacks));
	assert(sample->wait <= profile->private->waits.nr);
	assert(sample->labels <= profile->private->labels.nr);
	ARRAY_GROW(profile->samples, profile->nr_samples, profile->private->cap_samples);
	profile->samples[profile->nr_samples] = *sample;
	profile->samples[profile->nr_samples++].recorded_cpu_ns = sample->cpu_ns;
}

void profile_add_source(struct profile *profile, const struct profile_source *row)
{
	ARRAY_GROW(profile->symbols.sources, profile->symbols.nr_sources,
		   profile->private->cap_sources);
	profile->symbols.sources[profile->symbols.nr_sources++] = *row;
}

void profile_add_listing(struct profile *profile, const struct profile_listing *row)
{
	assert(row->module.v < module_table_nr(profile->modules));
	ARRAY_GROW(profile->symbols.listings, profile->symbols.nr_listings,
		   profile->private->cap_listings);
	profile->symbols.listings[profile->symbols.nr_listings++] = *row;
}

const struct profile_listing *profile_find_listing(const struct profile *profile,
						   struct code_address where)
{
	for (size_t i = 0; i < profile->symbols.nr_listings; i++) {
		const struct profile_listing *row = &profile->symbols.listings[i];

		if (row->module.v == where.module.v && where.address >= row->start &&
		    where.address < row->end)
			return row;
	}
	return NULL;
}

void profile_add_other(struct profile *profile, const struct profile_other *row)
{
	struct profile_others *others = &profile->others;

	for (size_t i = 0; i < others->nr; i++) {
		if (others->rows[i].name.v == row->name.v &&
		    others->rows[i].is_of_children == row->is_of_children) {
			others->rows[i].cpu_ns += row->cpu_ns;
			return;
		}
	}
	if (others->nr == PROFILE_OTHERS_MAX)
		return;
	ARRAY_GROW(others->rows, others->nr, others->cap);
	others->rows[others->nr++] = *row;
}

void profile_add_run(struct profile *profile, const struct profile_run *row)
{
	struct profile_runs *runs = &profile->runs;

	ARRAY_GROW(runs->rows, runs->nr, runs->cap);
	runs->rows[runs->nr++] = *row;
}

void profile_take_samples(struct profile *profile, struct sample *samples, size_t nr)
{
	free(profile->samples);
	profile->samples = samples;
	profile->nr_samples = profile->private->cap_samples = nr;
}

void profile_drop_samples(struct profile *profile)
{
	profile->nr_samples = 0;
	profile->advances.nr = 0;
	profile->probes.time_outs.nr = 0;
}

void profile_add_mark(struct profile *profile, uint64_t time_ns, const char *text)
{
	ARRAY_GROW(profile->marks, profile->nr_marks, profile->private->cap_marks);
	profile->marks[profile->nr_marks++] =
		(struct profile_mark){.time_ns = time_ns, .text = profile_intern(profile, text)};
}

void profile_add_jit_name(struct profile *profile, const struct jit_name *row)
{
	assert(row->frame.v < profile->nr_frames);
	ARRAY_GROW(profile->jit.names, profile->jit.nr_names, profile->private->cap_jit_names);
	profile->jit.names[profile->jit.nr_names++] = *row;
}

void profile_add_jit_source(struct profile *profile, const struct jit_source *row)
{
	assert(row->module.v < module_table_nr(profile->modules));
	ARRAY_GROW(profile->jit.sources, profile->jit.nr_sources,
		   profile->private->cap_jit_sources);
	profile->jit.sources[profile->jit.nr_sources++] = *row;
}

uint32_t profile_add_count(struct profile *profile, const struct profile_count *row)
{
	struct profile_probes *probes = &profile->probes;

	assert(row->process < profile->nr_processes && row->where.v < profile->nr_frames);
	assert(row->kind < COUNT_KIND_COUNT);
	assert(row->callee.v == COUNT_NO_CALLEE.v || row->callee.v < profile->nr_frames);
	ARRAY_GROW(probes->counts, probes->nr_counts, probes->cap_counts);
	probes->counts[probes->nr_counts] = *row;
	return (uint32_t)probes->nr_counts++;
}

void profile_add_refusal(struct profile *profile, const struct profile_refusal *row)
{
	struct profile_probes *probes = &profile->probes;

	assert(row->process < profile->nr_processes);
	ARRAY_GROW(probes->refusals, probes->nr_refusals, probes->cap_refusals);
	probes->refusals[probes->nr_refusals++] = *row;
}

uint32_t profile_add_span(struct profile *profile, const struct profile_span *row)
{
	struct profile_spans *spans = &profile->spans;

	assert(row->process < profile->nr_processes && row->where.v < profile->nr_frames);
	ARRAY_GROW(spans->rows, spans->nr, spans->cap);
	spans->rows[spans->nr] = *row;
	return (uint32_t)spans->nr++;
}

void profile_add_span_sum(struct profile *profile, const struct profile_span_sum *row)
{
	struct profile_spans *spans = &profile->spans;

	assert(row->span < spans->nr);
	ARRAY_GROW(spans->sums, spans->nr_sums, spans->cap_sums);
	spans->sums[spans->nr_sums++] = *row;
}

void profile_add_span_length(struct profile *profile, const struct profile_span_length *row)
{
	struct profile_spans *spans = &profile->spans;

	assert(row->span < spans->nr);
	ARRAY_GROW(spans->lengths, spans->nr_lengths, spans->cap_lengths);
	spans->lengths[spans->nr_lengths++] = *row;
}

void profile_add_slow_call(struct profile *profile, const struct profile_slow_call *row)
{
	struct profile_spans *spans = &profile->spans;

	assert(row->span < spans->nr);
	ARRAY_GROW(spans->slow, spans->nr_slow, spans->cap_slow);
	spans->slow[spans->nr_slow++] = *row;
}

void profile_add_wake(struct profile *profile, const struct profile_wake *row)
{
	struct profile_wakes *wakes = &profile->probes.wakes;

	ARRAY_GROW(wakes->rows, wakes->nr, wakes->cap);
	wakes->rows[wakes->nr++] = *row;
}

void profile_add_time_out(struct profile *profile, const struct profile_time_out *row)
{
	struct profile_time_outs *time_outs = &profile->probes.time_outs;

	ARRAY_GROW(time_outs->rows, time_outs->nr, time_outs->cap);
	time_outs->rows[time_outs->nr++] = *row;
}

void profile_drop_calls(struct profile *profile)
{
	profile->spans.nr_sums = profile->spans.nr_lengths = profile->spans.nr_slow = 0;
}

bool profile_has_counts(const struct profile *profile)
{
	return profile->probes.nr_counts || profile->probes.nr_refusals;
}

/* 0 would mean alive, so a block freed at the very beginning is freed a little later. */
static uint64_t end_of(uint64_t freed_ns, uint64_t time_ns)
{
	uint64_t end_ns = max_u64(freed_ns, time_ns);

	return end_ns ? end_ns : SAMPLE_TIME_GRAIN_NS;
}

static void note_searched(struct profile_heap *heap, uint32_t index)
{
	ARRAY_GROW(heap->searched, heap->nr_searched, heap->cap_searched);
	heap->searched[heap->nr_searched++] = index;
}

uint32_t profile_add_allocation(struct profile *profile, const struct profile_allocation *row)
{
	struct profile_heap *heap = &profile->heap;
	struct profile_allocation *added;

	assert(row->thread.v < profile->nr_threads && row->kind < ALLOCATION_KIND_COUNT);
	assert(row->stack.v < stack_trie_nr(profile->stacks) && row->end < STACK_END_COUNT);
	assert(row->freed_by.v == THREAD_NONE.v || row->freed_by.v < profile->nr_threads);
	assert(row->former == FORMER_UNKNOWN || row->former <= heap->nr_allocations);
	ARRAY_GROW(heap->allocations, heap->nr_allocations, heap->cap_allocations);
	added = &heap->allocations[heap->nr_allocations];
	*added = *row;
	if (row->freed_ns)
		added->freed_ns = end_of(row->freed_ns, row->time_ns);
	assert(!heap->nr_allocations || added[-1].time_ns <= added->time_ns);
	if (row->search)
		note_searched(heap, (uint32_t)heap->nr_allocations);
	return (uint32_t)heap->nr_allocations++;
}

void profile_free_allocation(struct profile *profile, uint32_t index, uint64_t time_ns,
			     struct thread_id thread)
{
	struct profile_heap *heap = &profile->heap;
	struct profile_allocation *row = &heap->allocations[index];

	assert(index < heap->nr_allocations && !row->freed_ns);
	assert(thread.v == THREAD_NONE.v || thread.v < profile->nr_threads);
	row->freed_ns = end_of(time_ns, row->time_ns);
	row->freed_by = thread;
	ARRAY_GROW(heap->freed, heap->nr_freed, heap->cap_freed);
	heap->freed[heap->nr_freed++] = index;
}

void profile_move_allocation(struct profile *profile, uint32_t index)
{
	struct profile_heap *heap = &profile->heap;

	assert(index < heap->nr_allocations && heap->allocations[index].freed_ns);
	heap->allocations[index].is_moved = true;
}

void profile_note_freeing(struct profile *profile, uint32_t index, struct stack_id stack,
			  enum stack_end end)
{
	struct profile_allocation *row = &profile->heap.allocations[index];

	assert(index < profile->heap.nr_allocations && row->freed_ns);
	assert(row->freed_by.v < profile->nr_threads);
	assert(stack.v < stack_trie_nr(profile->stacks));
	row->freed_stack = stack;
	row->freed_end = (uint8_t)(end + 1);
}

uint32_t profile_add_search(struct profile *profile, const struct profile_search *row)
{
	struct profile_heap *heap = &profile->heap;

	assert(row->process < profile->nr_processes);
	ARRAY_GROW(heap->searches, heap->nr_searches, heap->cap_searches);
	heap->searches[heap->nr_searches] = *row;
	return (uint32_t)heap->nr_searches++;
}

void profile_add_verdict(struct profile *profile, const struct profile_verdict *row)
{
	struct profile_heap *heap = &profile->heap;

	assert(row->search < heap->nr_searches && row->allocation < heap->nr_allocations);
	assert(row->verdict != ALLOCATION_NOT_SEARCHED && row->verdict < ALLOCATION_SEARCH_COUNT);
	ARRAY_GROW(heap->verdicts, heap->nr_verdicts, heap->cap_verdicts);
	heap->verdicts[heap->nr_verdicts++] = *row;
}

void profile_search_allocation(struct profile *profile, uint32_t index,
			       enum allocation_search search)
{
	struct profile_heap *heap = &profile->heap;

	assert(index < heap->nr_allocations && !heap->allocations[index].search);
	assert(search != ALLOCATION_NOT_SEARCHED && search < ALLOCATION_SEARCH_COUNT);
	heap->allocations[index].search = (uint8_t)search;
	note_searched(heap, index);
}

void profile_add_heap_moment(struct profile *profile, const struct profile_heap_moment *row)
{
	struct profile_heap *heap = &profile->heap;

	assert(row->process < profile->nr_processes);
	assert(!heap->nr_moments || heap->moments[heap->nr_moments - 1].time_ns <= row->time_ns);
	ARRAY_GROW(heap->moments, heap->nr_moments, heap->cap_moments);
	heap->moments[heap->nr_moments++] = *row;
}

bool profile_has_heap(const struct profile *profile)
{
	return profile->heap.nr_allocations || profile->heap.nr_moments;
}

/* Limit of frames for one address: code rewritten beyond that shares the last one. */
#define SAME_PLACE_MAX 256

bool profile_add_jit_frame(struct profile *profile, struct code_address where,
			   struct frame_id *frame)
{
	for (uint32_t number = 1; number < SAME_PLACE_MAX; number++) {
		size_t nr_before = profile->nr_frames;
		struct code_address other = {
			.module = module_table_numbered(profile->modules, where.module, number),
			.address = where.address};

		*frame = profile_intern_frame(profile, other);
		if (profile->nr_frames > nr_before)
			return true;
	}
	return false;
}

/* Counters are a few dozen: a search by id needs no index. */
static struct profile_counter *find_counter(const struct profile *profile, struct str_id name)
{
	for (size_t i = 0; i < profile->nr_counters; i++) {
		if (profile->counters[i].name.v == name.v)
			return &profile->counters[i];
	}
	return NULL;
}

void profile_set_counter(struct profile *profile, const char *name, uint64_t value)
{
	struct str_id id = profile_intern(profile, name);
	struct profile_counter *counter = find_counter(profile, id);

	if (!counter) {
		ARRAY_GROW(profile->counters, profile->nr_counters, profile->private->cap_counters);
		counter = &profile->counters[profile->nr_counters++];
		counter->name = id;
	}
	counter->value = value;
}

uint64_t profile_counter(const struct profile *profile, const char *name)
{
	for (size_t i = 0; i < profile->nr_counters; i++) {
		if (strcmp(profile_str(profile, profile->counters[i].name), name) == 0)
			return profile->counters[i].value;
	}
	return 0;
}

const char *profile_trigger(const struct profile *profile)
{
	static const char prefix[] = PROFILE_TRIGGER_MARK;
	uint64_t at_ns = profile_counter(profile, "trigger_ns");

	/* If several are at the end, the last one is the file's. */
	for (size_t i = profile->nr_marks; i-- > 0;) {
		const char *text = profile_str(profile, profile->marks[i].text);

		if (profile->marks[i].time_ns == at_ns &&
		    strncmp(text, prefix, sizeof(prefix) - 1) == 0)
			return text + sizeof(prefix) - 1;
	}
	return NULL;
}

bool profile_is_resolved(const struct profile *profile)
{
	return profile->symbols.nr_modules > 0;
}

void profile_add_command_word(struct profile *profile, const char *word)
{
	struct profile_meta *meta = &profile->meta;

	ARRAY_GROW(meta->command, meta->nr_command, meta->cap_command);
	meta->command[meta->nr_command++] = profile_intern(profile, word);
}

/* The number of distinct commands of the runs, including the first. */
static size_t nr_commands(const struct profile *profile)
{
	cleanup_free bool *seen = xcalloc(strtab_nr(profile->strings), sizeof(*seen));
	size_t nr = 0;

	for (size_t i = 0; i < profile->runs.nr; i++) {
		bool *is_known = &seen[profile->runs.rows[i].command.v];

		nr += !*is_known;
		*is_known = true;
	}
	return nr;
}

/* "3 runs of ./prog", or "3 runs of ./prog and 2 other commands". */
static void append_runs(struct buf *out, const struct profile *profile)
{
	const struct profile_runs *runs = &profile->runs;
	size_t nr = nr_commands(profile);

	buf_printf(out, "%zu runs of %s", runs->nr, profile_str(profile, runs->rows[0].command));
	if (nr > 1)
		buf_printf(out, " and %zu other command%s", nr - 1, nr == 2 ? "" : "s");
}

void profile_append_title(struct buf *out, const struct profile *profile)
{
	const struct profile_meta *meta = &profile->meta;
	const char *command;

	if (profile->runs.nr > 1) {
		append_runs(out, profile);
		return;
	}
	for (size_t i = 0; i < meta->nr_command; i++) {
		buf_append_str(out, i ? " " : "");
		buf_append_str(out, profile_str(profile, meta->command[i]));
	}
	if (meta->nr_command > 0 || profile->nr_processes == 0)
		return;
	command = profile_str(profile, profile->processes[0].command);
	buf_append_str(out, *command ? command : profile_str(profile, profile->processes[0].name));
	/* setproctitle(3) pads shorter titles with spaces. */
	while (out->nr_bytes > 0 && out->bytes[out->nr_bytes - 1] == ' ')
		out->nr_bytes--;
}

void profile_reset_symbols(struct profile *profile)
{
	index_set_release(&profile->private->functions);
	profile->symbols.nr_functions = 0;
	profile->symbols.nr_locations = 0;
	free(profile->symbols.frames);
	profile->symbols.frames = xcalloc(profile->nr_frames, sizeof(*profile->symbols.frames));
	profile->symbols.nr_frames = profile->symbols.nr_asked = profile->nr_frames;
	free(profile->symbols.modules);
	profile->symbols.nr_modules = module_table_nr(profile->modules);
	profile->symbols.modules =
		xcalloc(profile->symbols.nr_modules, sizeof(*profile->symbols.modules));
}

void profile_set_chain(struct profile *profile, struct frame_id frame, const struct location *chain,
		       size_t nr)
{
	assert(frame.v < profile->symbols.nr_frames);
	profile->symbols.frames[frame.v] = (struct frame_symbols){
		.first = (uint32_t)profile->symbols.nr_locations, .nr = (uint32_t)nr};
	ARRAY_RESERVE(profile->symbols.locations, profile->symbols.nr_locations + nr,
		      profile->symbols.cap_locations);
	for (size_t i = 0; i < nr; i++) {
		assert(chain[i].function.v < profile->symbols.nr_functions);
		profile->symbols.locations[profile->symbols.nr_locations++] = chain[i];
	}
}

void cpu_split_add(struct cpu_split *a, const struct cpu_split *b)
{
	a->user_ns += b->user_ns;
	a->system_ns += b->system_ns;
	a->nr_faults += b->nr_faults;
	a->known |= b->known;
}

bool profile_cpu_split(const struct profile *profile, struct cpu_split *split)
{
	struct cpu_split rest = {.user_ns = profile_counter(profile, "rest_user_ns"),
				 .system_ns = profile_counter(profile, "rest_system_ns")};

	rest.known = rest.user_ns || rest.system_ns;
	*split = (struct cpu_split){0};
	for (size_t i = 0; i < profile->nr_processes; i++)
		cpu_split_add(split, &profile->processes[i].split);
	cpu_split_add(split, &rest);
	return split->known;
}

void profile_set_owner(struct profile *profile, struct owner owner)
{
	if (owner_is_trusted(owner))
		return;
	profile->meta.owner = owner;
	for (size_t i = 0; i < profile->symbols.nr_modules; i++)
		profile->symbols.modules[i].owner = owner;
	for (size_t i = 0; i < profile->jit.nr_sources; i++)
		profile->jit.sources[i].owner = owner;
}

/* The common case, which needs no search: every file that has named anything is trusted. */
static bool trusts_all_modules(const struct profile *profile)
{
	for (size_t i = 0; i < profile->symbols.nr_modules; i++) {
		const struct module_symbols *row = &profile->symbols.modules[i];

		if (row->source != SYMBOL_SOURCE_NONE && !owner_is_trusted(row->owner))
			return false;
	}
	return owner_is_trusted(profile->meta.owner);
}

/* STR_EMPTY: no text of the profile. */
static struct str_id find_text(const struct profile *profile, const char *text)
{
	for (uint32_t i = 0; i < strtab_nr(profile->strings); i++) {
		if (strcmp(profile_str(profile, (struct str_id){i}), text) == 0)
			return (struct str_id){i};
	}
	return STR_EMPTY;
}

static bool names_source(const struct profile *profile, struct frame_symbols chain,
			 struct str_id file)
{
	const struct location *levels = profile->symbols.locations + chain.first;

	for (uint32_t i = 0; i < chain.nr; i++) {
		if (levels[i].file.v == file.v ||
		    profile->symbols.functions[levels[i].function.v].file.v == file.v)
			return true;
	}
	return false;
}

static struct owner owner_of_frame(const struct profile *profile, size_t frame)
{
	uint32_t module = profile->frames[frame].where.module.v;

	return module < profile->symbols.nr_modules ? profile->symbols.modules[module].owner
						    : OWNER_NOT_RECORDED;
}

struct owner profile_source_owner(const struct profile *profile, const char *file)
{
	struct owner owner = profile->meta.owner;
	bool is_named = false;
	struct str_id id;

	if (trusts_all_modules(profile))
		return owner;
	id = find_text(profile, file);
	for (size_t i = 0; id.v != STR_EMPTY.v && i < profile->symbols.nr_frames; i++) {
		if (!names_source(profile, profile->symbols.frames[i], id))
			continue;
		owner = owner_join(owner, owner_of_frame(profile, i));
		is_named = true;
	}
	return is_named ? owner : owner_join(owner, OWNER_NOT_RECORDED);
}
