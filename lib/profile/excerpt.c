// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/excerpt.h"

#include <fcntl.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/minmax.h"
#include "profile/excerpt_priv.h"
#include "profile/profile.h"
#include "profile/renumber.h"

static const enum record_type kept_tables[] = {
	RECORD_MODULES, RECORD_PROCESSES, RECORD_THREADS, RECORD_FRAMES,
	RECORD_STACKS,	RECORD_WAITS,	  RECORD_LABELS,
};

/* Without one of processes that no sample found: it covers all of the recording. */
static bool is_kept(const struct making *making, uint64_t time_ns, struct thread_id thread)
{
	const struct profile *from = making->from;
	const struct profile_process *process = &from->processes[from->threads[thread.v].process];

	if (making->what->keeps_all)
		return true;
	return time_ns >= making->what->from_ns &&
	       !(process->nr_unseen && process->start_ns < making->what->from_ns);
}

static void use_labels(struct making *making, uint32_t number)
{
	const struct profile_labels *labels = profile_labels(making->from);

	for (; number && !excerpt_has(making, RECORD_LABELS, number - 1);
	     number = labels->rows[number - 1].outer)
		excerpt_use(making, RECORD_LABELS, number - 1);
}

static void use_samples(struct making *making)
{
	for (size_t i = 0; i < making->what->nr_parts; i++) {
		const struct excerpt_rows *part = &making->what->parts[i];

		for (size_t j = 0; j < part->nr_samples; j++) {
			const struct sample *sample = &part->samples[j];

			if (!is_kept(making, sample->time_ns, sample->thread))
				continue;
			excerpt_use(making, RECORD_THREADS, sample->thread.v);
			excerpt_use(making, RECORD_STACKS, sample->stack.v);
			excerpt_use(making, RECORD_STACKS, sample->kernel.v);
			if (sample->wait)
				excerpt_use(making, RECORD_WAITS, sample->wait - 1);
			use_labels(making, sample->labels);
		}
		for (size_t j = 0; j < part->nr_advances; j++) {
			const struct profile_advance *row = &part->advances[j];

			if (!is_kept(making, row->time_ns, row->thread))
				continue;
			excerpt_use(making, RECORD_THREADS, row->thread.v);
			excerpt_use(making, RECORD_STACKS, row->before.v);
			excerpt_use(making, RECORD_STACKS, row->after.v);
		}
	}
}

static void use_waits(struct making *making)
{
	const struct profile_waits *waits = profile_waits(making->from);

	for (uint32_t i = 0; i < waits->nr; i++) {
		const struct profile_wait *row = &waits->rows[i];

		if (!excerpt_has(making, RECORD_WAITS, i))
			continue;
		excerpt_use(making, RECORD_PROCESSES, row->process);
		if (row->place.v != WAIT_NO_PLACE.v)
			excerpt_use(making, RECORD_FRAMES, row->place.v);
		if (row->owner.v != THREAD_NONE.v)
			excerpt_use(making, RECORD_THREADS, row->owner.v);
	}
}

static bool is_alive(const struct making *making, uint64_t end_ns)
{
	return !end_ns || end_ns > making->what->from_ns;
}

/* Parents come before their children. */
static void use_lives(struct making *making)
{
	const struct profile *from = making->from;

	for (uint32_t i = 0; i < from->nr_threads; i++) {
		if (is_alive(making, from->threads[i].end_ns) &&
		    !from->processes[from->threads[i].process].nr_unseen)
			excerpt_use(making, RECORD_THREADS, i);
		if (excerpt_has(making, RECORD_THREADS, i))
			excerpt_use(making, RECORD_PROCESSES, from->threads[i].process);
	}
	for (uint32_t i = (uint32_t)from->nr_processes; i-- > 0;) {
		const struct profile_process *row = &from->processes[i];

		if (is_alive(making, row->end_ns) && !row->nr_unseen)
			excerpt_use(making, RECORD_PROCESSES, i);
		if (excerpt_has(making, RECORD_PROCESSES, i) && row->parent != PROCESS_NONE)
			excerpt_use(making, RECORD_PROCESSES, row->parent);
	}
}

/* Calls of its place are known, of some of the time. */
static bool is_counted(const struct making *making, const struct profile_count *row)
{
	return making->what->calls && excerpt_has(making, RECORD_PROCESSES, row->process) &&
	       row->to_ns > making->what->counted_from_ns;
}

static void use_counts(struct making *making)
{
	const struct profile_probes *probes = &making->from->probes;

	for (size_t i = 0; i < probes->nr_counts; i++) {
		const struct profile_count *row = &probes->counts[i];

		if (!is_counted(making, row))
			continue;
		excerpt_use(making, RECORD_FRAMES, row->where.v);
		if (row->callee.v != COUNT_NO_CALLEE.v)
			excerpt_use(making, RECORD_FRAMES, row->callee.v);
	}
}

static void use_code(struct making *making)
{
	const struct profile *from = making->from;

	for (uint32_t i = stack_trie_nr(from->stacks); i-- > 1;) {
		struct stack_id stack = {i};

		if (!excerpt_has(making, RECORD_STACKS, i))
			continue;
		excerpt_use(making, RECORD_STACKS, stack_trie_parent(from->stacks, stack).v);
		excerpt_use(making, RECORD_FRAMES, stack_trie_frame(from->stacks, stack).v);
	}
	for (uint32_t i = 0; i < from->nr_frames; i++) {
		struct module_id module = from->frames[i].where.module;

		if (!excerpt_has(making, RECORD_FRAMES, i))
			continue;
		excerpt_use(making, RECORD_MODULES, module.v);
		excerpt_use(making, RECORD_MODULES, module_table_first(from->modules, module).v);
	}
}

static void renumber_row(struct making *making, enum record_type type, void *row)
{
	renumber(&making->map, type, row);
	renumber_texts(making->into, making->from, type, row);
}

static void take_modules(struct making *making)
{
	const struct module_table *modules = making->from->modules;
	uint32_t *rows = making->map.rows[RECORD_MODULES];

	for (uint32_t i = 0; i < module_table_nr(modules); i++) {
		struct module module = *module_table_get(modules, (struct module_id){i});

		if (rows[i] == EXCERPT_UNUSED)
			continue;
		if (module.fd >= 0)
			module.fd = fcntl(module.fd, F_DUPFD_CLOEXEC, 0);
		rows[i] = module_table_intern(making->into->modules, &module).v;
	}
}

static void take_stacks(struct making *making)
{
	const struct profile *from = making->from;
	uint32_t *frames = making->map.rows[RECORD_FRAMES];
	uint32_t *stacks = making->map.rows[RECORD_STACKS];

	for (uint32_t i = 0; i < from->nr_frames; i++) {
		struct frame frame = from->frames[i];

		if (frames[i] == EXCERPT_UNUSED)
			continue;
		renumber(&making->map, RECORD_FRAMES, &frame);
		frames[i] = profile_intern_frame(making->into, frame.where).v;
	}
	stacks[STACK_EMPTY.v] = STACK_EMPTY.v;
	for (uint32_t i = 1; i < stack_trie_nr(from->stacks); i++) {
		struct stack_id id = {i};

		if (stacks[i] == EXCERPT_UNUSED)
			continue;
		stacks[i] =
			stack_trie_append(
				making->into->stacks,
				(struct stack_id){stacks[stack_trie_parent(from->stacks, id).v]},
				(struct frame_id){frames[stack_trie_frame(from->stacks, id).v]})
				.v;
	}
}

/* A parent, or the holder of a lock, that had ended before: at its beginning, as 0 means alive. */
static uint64_t end_within(const struct making *making, uint64_t end_ns)
{
	return end_ns ? max_u64(end_ns, making->what->from_ns + 1) : 0;
}

static void take_processes(struct making *making)
{
	uint32_t *rows = making->map.rows[RECORD_PROCESSES];

	for (uint32_t i = 0; i < making->from->nr_processes; i++) {
		struct profile_process row = making->from->processes[i];

		if (rows[i] == EXCERPT_UNUSED)
			continue;
		if (row.start_ns < making->what->from_ns) {
			row.start_ns = making->what->from_ns;
			row.split = (struct cpu_split){0};
			row.children_ns = 0;
		}
		row.end_ns = end_within(making, row.end_ns);
		renumber_row(making, RECORD_PROCESSES, &row);
		rows[i] = profile_add_process(making->into, &row).v;
	}
}

static void take_threads(struct making *making)
{
	uint32_t *rows = making->map.rows[RECORD_THREADS];

	for (uint32_t i = 0; i < making->from->nr_threads; i++) {
		struct profile_thread row = making->from->threads[i];

		if (rows[i] == EXCERPT_UNUSED)
			continue;
		if (row.start_ns < making->what->from_ns) {
			row.start_ns = making->what->from_ns;
			row.split = (struct cpu_split){0};
			row.nr_switches = 0;
		}
		row.end_ns = end_within(making, row.end_ns);
		renumber_row(making, RECORD_THREADS, &row);
		rows[i] = profile_add_thread(making->into, &row).v;
	}
}

static void take_waits(struct making *making)
{
	const struct profile_waits *waits = profile_waits(making->from);
	uint32_t *rows = making->map.rows[RECORD_WAITS];

	for (uint32_t i = 0; i < waits->nr; i++) {
		struct profile_wait row = waits->rows[i];

		if (rows[i] == EXCERPT_UNUSED)
			continue;
		renumber_row(making, RECORD_WAITS, &row);
		rows[i] = profile_waits_intern(profile_waits(making->into), &row) - 1;
	}
}

static void take_labels(struct making *making)
{
	const struct profile_labels *labels = profile_labels(making->from);
	uint32_t *rows = making->map.rows[RECORD_LABELS];

	for (uint32_t i = 0; i < labels->nr; i++) {
		struct profile_label row = labels->rows[i];

		if (rows[i] == EXCERPT_UNUSED)
			continue;
		renumber_row(making, RECORD_LABELS, &row);
		rows[i] = profile_labels_intern(profile_labels(making->into), &row) - 1;
	}
}

/*
 * The first sample of a thread also covers time before the excerpt, which is cut off. A sleep that
 * began there was observed there: its rest stands for that.
 */
static void begin_thread(const struct making *making, struct sample *row, uint64_t *first_ns)
{
	uint64_t span_ns = row->time_ns - making->what->from_ns;
	uint64_t *first = &first_ns[row->thread.v];

	if (making->what->keeps_all ||
	    making->from->threads[row->thread.v].start_ns >= making->what->from_ns ||
	    (*first && *first != row->time_ns))
		return;
	if (!*first && row->kind == SAMPLE_BLOCKED && !row->nr)
		row->nr = 1;
	*first = row->time_ns;
	row->cpu_ns = min_u64(row->cpu_ns, span_ns);
	row->runq_ns = min_u64(row->runq_ns, span_ns);
	row->blocked_ns = min_u64(row->blocked_ns, span_ns);
}

static void take_samples(struct making *making, const struct excerpt_rows *part, uint64_t *first_ns)
{
	for (size_t i = 0; i < part->nr_samples; i++) {
		struct sample row = part->samples[i];

		if (!is_kept(making, row.time_ns, row.thread))
			continue;
		begin_thread(making, &row, first_ns);
		row.time_ns = max_u64(row.time_ns, making->what->from_ns);
		renumber(&making->map, RECORD_SAMPLES, &row);
		profile_add_sample(making->into, &row);
	}
	for (size_t i = 0; i < part->nr_advances; i++) {
		struct profile_advance row = part->advances[i];

		if (!is_kept(making, row.time_ns, row.thread))
			continue;
		row.time_ns = max_u64(row.time_ns, making->what->from_ns);
		renumber(&making->map, RECORD_ADVANCES, &row);
		advances_add(&making->into->advances, &row);
	}
}

static void take_probes(struct making *making)
{
	const struct profile_probes *probes = &making->from->probes;
	const struct excerpt *what = making->what;

	for (size_t i = 0; i < probes->nr_counts; i++) {
		struct profile_count row = probes->counts[i];

		if (!is_counted(making, &row))
			continue;
		row.calls = what->calls[i];
		if (row.from_ns < what->counted_from_ns) {
			row.from_ns = what->counted_from_ns;
			row.flags &= (uint8_t)~COUNT_FROM_START;
		}
		row.to_ns = max_u64(min_u64(row.to_ns, what->to_ns), row.from_ns);
		renumber(&making->map, RECORD_COUNTS, &row);
		profile_add_count(making->into, &row);
	}
	for (size_t i = 0; i < probes->nr_refusals; i++) {
		struct profile_refusal row = probes->refusals[i];

		if (!excerpt_has(making, RECORD_PROCESSES, row.process))
			continue;
		renumber_row(making, RECORD_REFUSALS, &row);
		profile_add_refusal(making->into, &row);
	}
}

static void take_jit(struct making *making)
{
	const struct profile_jit *jit = &making->from->jit;

	for (size_t i = 0; i < jit->nr_names; i++) {
		struct jit_name row = jit->names[i];

		if (!excerpt_has(making, RECORD_FRAMES, row.frame.v))
			continue;
		renumber_row(making, RECORD_JIT_NAMES, &row);
		profile_add_jit_name(making->into, &row);
	}
	for (size_t i = 0; i < jit->nr_sources; i++) {
		struct jit_source row = jit->sources[i];

		if (!excerpt_has(making, RECORD_MODULES, row.module.v))
			continue;
		renumber_row(making, RECORD_JIT_SOURCES, &row);
		profile_add_jit_source(making->into, &row);
	}
}

static void take_marks(struct making *making)
{
	const struct profile *from = making->from;

	for (size_t i = 0; i < from->nr_marks; i++) {
		struct profile_mark row = from->marks[i];

		if (row.time_ns >= making->what->from_ns)
			profile_add_mark(making->into, row.time_ns - making->what->from_ns,
					 profile_str(from, row.text));
	}
}

static void take_facts(struct making *making)
{
	const struct profile *from = making->from;
	struct profile_meta *meta = &making->into->meta;

	*meta = from->meta;
	meta->command = NULL;
	meta->nr_command = 0;
	meta->cap_command = 0;
	renumber_texts(making->into, from, RECORD_META, meta);
	for (size_t i = 0; i < from->meta.nr_command; i++)
		profile_add_command_word(making->into, profile_str(from, from->meta.command[i]));
	meta->start_realtime_ns = making->what->start_realtime_ns;
	meta->duration_ns = making->what->to_ns - making->what->from_ns;
	meta->complete = true;
	for (size_t i = 0; i < from->nr_counters; i++)
		profile_set_counter(making->into, profile_str(from, from->counters[i].name),
				    from->counters[i].value);
	for (size_t i = 0; i < from->others.nr; i++) {
		struct profile_other row = from->others.rows[i];

		renumber_texts(making->into, from, RECORD_OTHERS, &row);
		profile_add_other(making->into, &row);
	}
}

static void find_used(struct making *making)
{
	for (size_t i = 0; i < ARRAY_SIZE(kept_tables); i++) {
		size_t nr = schema_nr_rows(making->from, kept_tables[i]);
		uint32_t *rows = renumbering_begin(&making->map, making->from, kept_tables[i]);

		for (size_t j = 0; j < nr; j++)
			rows[j] = EXCERPT_UNUSED;
	}
	excerpt_use(making, RECORD_MODULES, MODULE_UNKNOWN.v);
	use_samples(making);
	use_waits(making);
	excerpt_use_heap(making);
	excerpt_use_calls(making);
	use_lives(making);
	use_counts(making);
	excerpt_use_timed_code(making);
	use_code(making);
}

struct profile *profile_excerpt(const struct profile *from, const struct excerpt *what)
{
	struct making making = {.from = from, .what = what, .into = profile_new()};
	/* The time of the first sample, by thread; 0: there was none yet. */
	uint64_t *first_ns = xcalloc(from->nr_threads + 1, sizeof(*first_ns));

	find_used(&making);
	making.map.offset_ns = 0 - what->from_ns; /* times are moved back by it */
	take_modules(&making);
	take_stacks(&making);
	take_processes(&making);
	take_threads(&making);
	take_waits(&making);
	take_labels(&making);
	for (size_t i = 0; i < what->nr_parts; i++)
		take_samples(&making, &what->parts[i], first_ns);
	take_probes(&making);
	excerpt_take_heap(&making);
	excerpt_take_spans(&making);
	take_jit(&making);
	take_marks(&making);
	take_facts(&making);
	renumbering_release(&making.map);
	free(first_ns);
	return making.into;
}
