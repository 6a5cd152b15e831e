// SPDX-License-Identifier: GPL-2.0-or-later
/* Sums blocks that were not freed, by owner and stack. */
#include "calltree/leaks.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/index_set.h"
#include "base/minmax.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/flat_priv.h"
#include "calltree/observe.h"
#include "profile/block_search.h"
#include "profile/heap_survey.h"
#include "profile/timelines.h"

static const struct profile *profile_of(const struct leaks *leaks)
{
	return leaks->selection->expansion->profile;
}

/* The end of a run, or the moment taken for it. */
static uint64_t end_of(const struct leaks *leaks, uint32_t run)
{
	uint64_t run_end_ns = leaks->timelines->rows[run].end_ns;

	return leaks->at_ns == HEAP_AT_END ? run_end_ns : min_u64(leaks->at_ns, run_end_ns);
}

static uint32_t run_of(const struct leaks *leaks, const struct sample *sample)
{
	return leaks->timelines->of_process[profile_of(leaks)->threads[sample->thread.v].process];
}

/*
 * From the block's first allocation, across all calls of realloc(), to the known end of its life:
 * that of its process, or of the recording.
 */
static uint64_t age_of(const struct leaks *leaks, const struct heap_lives *lives,
		       const struct observation *observation)
{
	const struct profile *profile = lives->profile;
	struct heap_life life = heap_life_of(lives, observation->row);
	uint32_t process = profile->threads[observation->sample.thread.v].process;
	uint64_t end_ns = profile->processes[process].end_ns;

	if (!end_ns || leaks->at_ns != HEAP_AT_END)
		end_ns = end_of(leaks, leaks->timelines->of_process[process]);
	return end_ns > life.born_ns ? end_ns - life.born_ns : 0;
}

/* The growth of a block since a moment: realloc() frees the old block, and adds a new one. */
static uint64_t growth_since(const struct heap_lives *lives, const struct observation *observation,
			     uint64_t since_ns)
{
	const struct profile_allocation *rows = lives->profile->heap.allocations;
	const struct profile_allocation *row = &rows[observation->row], *then = row;
	/*
	 * Crafted files may have several ends of one block: only one is at the end of the whole
	 * chain.
	 */
	bool is_end = lives->last[lives->first[observation->row]] == observation->row;

	while (is_end && then->time_ns > since_ns && then->former && then->former != FORMER_UNKNOWN)
		then = &rows[then->former - 1];
	if (then->time_ns > since_ns)
		return observation->weight;
	if (then->size_bytes >= row->size_bytes)
		return 0;
	return (uint64_t)((double)observation->weight *
			  (1 - (double)then->size_bytes / (double)row->size_bytes));
}

static bool is_of(const void *owner, uint32_t index, const void *key)
{
	const struct leak *have = &((const struct leaks *)owner)->rows[index], *want = key;

	return have->sample.stack.v == want->sample.stack.v &&
	       have->sample.end == want->sample.end && have->owner.process == want->owner.process &&
	       have->owner.thread.v == want->owner.thread.v;
}

static struct leak_owner owner_of(const struct leaks *leaks, const struct sample *sample)
{
	const struct profile_thread *thread = &profile_of(leaks)->threads[sample->thread.v];
	uint32_t process = thread->process;

	return (struct leak_owner){.process = leaks->programs ? leaks->programs[process] : process,
				   .thread =
					   leaks->by == LEAKS_BY_THREAD ? thread->name : STR_EMPTY};
}

static struct leak *row_of(struct leaks *leaks, struct index_set *set, const struct sample *sample)
{
	const struct leak leak = {.owner = owner_of(leaks, sample), .sample = *sample};
	uint64_t hash = hash_mix(hash_mix(hash_u64(sample->stack.v), sample->end),
				 (uint64_t)leak.owner.process << 32 | leak.owner.thread.v);
	uint32_t row = index_set_find(set, hash, is_of, leaks, &leak);

	if (row == INDEX_NONE) {
		ARRAY_GROW(leaks->rows, leaks->nr, leaks->cap);
		row = (uint32_t)leaks->nr++;
		leaks->rows[row] = leak;
		index_set_add(set, hash, row);
	}
	return &leaks->rows[row];
}

static void add(struct leak *leak, const struct observation *observation,
		const struct left_block *block, uint8_t kind)
{
	tally_add_observation(&leak->tally, observation);
	leak->kind = kind;
	leak->oldest_ns = max_u64(leak->oldest_ns, block->age_ns);
	leak->late_bytes += block->late_bytes;
	if (block->search == ALLOCATION_LOST)
		tally_add_observation(&leak->lost, observation);
	else if (block->search == ALLOCATION_POINTED_TO)
		tally_add_observation(&leak->pointed_to, observation);
}

/* By row: the results of that moment's searches. The caller frees the array. */
static uint8_t *verdicts_of(const struct leaks *leaks)
{
	const struct profile_heap *heap = &profile_of(leaks)->heap;
	uint8_t *verdicts = xcalloc(heap->nr_allocations, sizeof(*verdicts));

	for (size_t i = 0; i < heap->nr_allocations && leaks->at_ns == HEAP_AT_END; i++)
		verdicts[i] = heap->allocations[i].search;
	for (size_t i = 0; i < heap->nr_verdicts && leaks->at_ns != HEAP_AT_END; i++) {
		const struct profile_verdict *row = &heap->verdicts[i];

		if (block_search_is_of(&heap->searches[row->search], leaks->at_ns))
			verdicts[row->allocation] = row->verdict;
	}
	return verdicts;
}

void leak_stack(const struct leaks *leaks, const struct leak *leak, struct level_list *list)
{
	expansion_stack(leaks->selection->expansion, &leak->sample, list);
	if (leaks->depth && leaks->depth < list->nr) {
		memmove(list->levels, list->levels + (list->nr - leaks->depth),
			leaks->depth * sizeof(*list->levels));
		list->nr = leaks->depth;
	}
}

/* A row, with its stack as shown: rows that look alike have the same. */
struct shown_leak {
	struct stack_id shown;
	struct leak leak;
};

static int by_what_is_shown(const void *left, const void *right)
{
	const struct shown_leak *a = left;
	const struct shown_leak *b = right;

	if (a->shown.v != b->shown.v)
		return a->shown.v > b->shown.v ? 1 : -1;
	if (a->leak.kind != b->leak.kind)
		return a->leak.kind > b->leak.kind ? 1 : -1;
	if (a->leak.owner.process != b->leak.owner.process)
		return a->leak.owner.process > b->leak.owner.process ? 1 : -1;
	return (a->leak.owner.thread.v > b->leak.owner.thread.v) -
	       (a->leak.owner.thread.v < b->leak.owner.thread.v);
}

static void join(struct leak *leak, const struct leak *other)
{
	tally_add(&leak->tally, &other->tally);
	tally_add(&leak->lost, &other->lost);
	tally_add(&leak->pointed_to, &other->pointed_to);
	leak->oldest_ns = max_u64(leak->oldest_ns, other->oldest_ns);
	leak->late_bytes += other->late_bytes;
}

/* Intern the shown parts of a stack; its levels take the place of frames. */
static struct stack_id intern_shown(struct stack_trie *trie, const struct level_list *list)
{
	struct stack_id stack = STACK_EMPTY;

	for (size_t i = 0; i < list->nr; i++) {
		const struct level *level = &list->levels[i];

		stack = stack_trie_intern(trie, stack,
					  (struct frame_id){level->place << 1 | level->inlined});
	}
	return stack;
}

/* Join the rows of an owner that have stacks that look alike. */
static void join_alike(struct leaks *leaks)
{
	struct shown_leak *shown = xcalloc(leaks->nr, sizeof(*shown));
	struct stack_trie *trie = stack_trie_new();
	struct level_list list = {0};
	size_t nr = 0;

	for (size_t i = 0; i < leaks->nr; i++) {
		leak_stack(leaks, &leaks->rows[i], &list);
		shown[i] = (struct shown_leak){intern_shown(trie, &list), leaks->rows[i]};
	}
	if (leaks->nr)
		qsort(shown, leaks->nr, sizeof(*shown), by_what_is_shown);
	for (size_t i = 0; i < leaks->nr; i++) {
		if (i && by_what_is_shown(&shown[i - 1], &shown[i]) == 0)
			join(&leaks->rows[nr - 1], &shown[i].leak);
		else
			leaks->rows[nr++] = shown[i].leak;
	}
	leaks->nr = nr;
	level_list_release(&list);
	stack_trie_free(trie);
	free(shown);
}

static int heavier_first(const void *left, const void *right)
{
	const struct leak *a = left;
	const struct leak *b = right;

	if (a->tally.weight != b->tally.weight)
		return a->tally.weight < b->tally.weight ? 1 : -1;
	if (a->sample.stack.v != b->sample.stack.v)
		return a->sample.stack.v > b->sample.stack.v ? 1 : -1;
	if (a->sample.end != b->sample.end)
		return a->sample.end > b->sample.end ? 1 : -1;
	if (a->owner.process != b->owner.process)
		return a->owner.process > b->owner.process ? 1 : -1;
	return (a->owner.thread.v > b->owner.thread.v) - (a->owner.thread.v < b->owner.thread.v);
}

static bool is_at_end(const struct selection *selection)
{
	return selection->heap.at_ns == HEAP_AT_END && !selection->heap.at_peak;
}

static enum metric metric_of(const struct selection *selection)
{
	return is_at_end(selection) ? METRIC_LEAKED : METRIC_LIVE;
}

static void note_second_halves(struct leaks *leaks)
{
	const struct timelines *timelines = leaks->timelines;

	leaks->late_from_ns = xcalloc(timelines->nr, sizeof(*leaks->late_from_ns));
	leaks->late_ns = xcalloc(timelines->nr, sizeof(*leaks->late_ns));
	for (uint32_t run = 0; run < timelines->nr; run++) {
		uint64_t end_ns = end_of(leaks, run);
		uint64_t begin_ns = max_u64(timelines->rows[run].begin_ns,
					    profile_of(leaks)->heap.discard.time_ns);

		begin_ns = min_u64(begin_ns, end_ns);
		leaks->late_from_ns[run] = begin_ns + (end_ns - begin_ns) / 2;
		leaks->late_ns[run] = end_ns - leaks->late_from_ns[run];
		leaks->all_late_ns += leaks->late_ns[run];
	}
}

/* The next block of the leaks; false at the end. */
static bool next_block(const struct leaks *leaks, struct observation_walk *walk,
		       const uint8_t *verdicts, struct observation *observation,
		       struct left_block *block)
{
	const struct heap_lives *lives = observation_walk_lives(walk);

	while (observation_walk_next(walk, observation)) {
		uint64_t age_ns = age_of(leaks, lives, observation);
		uint32_t run;

		/* malloc(0) has a block, too. */
		if (age_ns < leaks->min_age_ns ||
		    (!observation->weight && observation->blocks <= 0))
			continue;
		run = run_of(leaks, &observation->sample);
		*block = (struct left_block){
			.row = observation->row,
			.age_ns = age_ns,
			.late_bytes = growth_since(lives, observation, leaks->late_from_ns[run]),
			.search = verdicts[observation->row]};
		return true;
	}
	return false;
}

static void sum_up(struct leaks *leaks, struct observation_walk *walk)
{
	const struct profile_allocation *rows = profile_of(leaks)->heap.allocations;
	cleanup_free uint8_t *verdicts = verdicts_of(leaks);
	struct index_set set = {0};
	struct observation observation;
	struct left_block block;

	while (next_block(leaks, walk, verdicts, &observation, &block))
		add(row_of(leaks, &set, &observation.sample), &observation, &block,
		    rows[block.row].kind);
	index_set_release(&set);
}

struct leaks *leaks_new(const struct selection *selection, const struct leaks_request *request)
{
	struct leaks *leaks = xcalloc(1, sizeof(*leaks));
	struct observation_walk walk;

	leaks->selection = selection;
	leaks->by = request->by;
	leaks->programs = leaks->by == LEAKS_BY_PROGRAM ? flat_programs(profile_of(leaks)) : NULL;
	leaks->min_age_ns = request->min_age_ns;
	leaks->depth = request->depth;
	observation_walk_init(&walk, selection, metric_of(selection));
	leaks->at_ns = walk.at_ns;
	leaks->timelines = timelines_new(profile_of(leaks));
	note_second_halves(leaks);
	sum_up(leaks, &walk);
	leaks->total.fixed = observation_walk_fixed(&walk);
	leaks->total.lost = observation_walk_lost(&walk);
	observation_walk_release(&walk);
	join_alike(leaks);
	for (size_t i = 0; i < leaks->nr; i++) {
		tally_add(&leaks->total, &leaks->rows[i].tally);
		tally_add(&leaks->lost, &leaks->rows[i].lost);
		tally_add(&leaks->pointed_to, &leaks->rows[i].pointed_to);
	}
	if (leaks->nr)
		qsort(leaks->rows, leaks->nr, sizeof(*leaks->rows), heavier_first);
	return leaks;
}

struct left_block *leaks_blocks(const struct leaks *leaks, size_t *nr)
{
	size_t most = profile_of(leaks)->heap.nr_allocations;
	struct left_block *blocks = xcalloc(most, sizeof(*blocks));
	cleanup_free uint8_t *verdicts = verdicts_of(leaks);
	struct observation_walk walk;
	struct observation observation;

	*nr = 0;
	observation_walk_init(&walk, leaks->selection, metric_of(leaks->selection));
	while (*nr < most && next_block(leaks, &walk, verdicts, &observation, &blocks[*nr]))
		(*nr)++;
	observation_walk_release(&walk);
	return blocks;
}

static int lost_first(const void *left, const void *right)
{
	const struct leak *a = left;
	const struct leak *b = right;

	if (a->lost.weight != b->lost.weight)
		return a->lost.weight < b->lost.weight ? 1 : -1;
	return heavier_first(left, right);
}

void leaks_tell_lost(struct leaks *leaks)
{
	leaks->tells_lost = true;
	if (leaks->nr)
		qsort(leaks->rows, leaks->nr, sizeof(*leaks->rows), lost_first);
}

void leaks_free(struct leaks *leaks)
{
	if (!leaks)
		return;
	timelines_free(leaks->timelines);
	free(leaks->late_from_ns);
	free(leaks->late_ns);
	free(leaks->programs);
	free(leaks->rows);
	free(leaks);
}

/* A process exists in one run; a program in all of them. */
double leak_growth(const struct leaks *leaks, const struct leak *leak)
{
	uint32_t own = leaks->timelines->of_process[leak->owner.process];
	uint64_t late_ns = leaks->by == LEAKS_BY_PROGRAM ? leaks->all_late_ns : leaks->late_ns[own];

	if (!late_ns)
		return 0;
	return (double)leak->late_bytes * (double)NS_PER_SEC / (double)late_ns;
}

bool leaks_are_exact(const struct leaks *leaks)
{
	return tally_is_exact(&leaks->total) &&
	       !heap_survey_losses(leaks->selection->expansion->profile).nr_frees;
}
