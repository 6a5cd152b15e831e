// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The objects that threads of the page wait for, with the names that reports by lock and by fd
 * have. Each sample has a number: of an object and of the thread that had it then.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/index_set.h"
#include "base/json.h"
#include "calltree/blame.h"
#include "calltree/expand.h"
#include "calltree/pairs.h"
#include "export/page_data_priv.h"
#include "view/blame_text.h"

/* A page has a frame for each object: of more than this the lightest ones share one. */
#define PAGE_OBJECTS_MAX 4096
#define NO_THREAD	 UINT32_MAX

/* An object by its number in one of the two blames. */
struct awaited {
	struct blame *blame; /* borrowed */
	uint32_t number;
};

struct page_waits {
	struct blame *of_locks, *of_files;
	struct numbering objects; /* of both: see awaited_id() */
	uint32_t *shown;	  /* by number of an object: that in the page */
	struct awaited *awaited;  /* by number in the page; the rest has no blame */
	uint32_t nr_shown;
	struct pairs pairs; /* an object of the page, and a thread of it or NO_THREAD */
};

void page_waits_free(struct page_waits *waits)
{
	if (!waits)
		return;
	blame_free(waits->of_locks);
	blame_free(waits->of_files);
	numbering_release(&waits->objects);
	free(waits->shown);
	free(waits->awaited);
	pairs_release(&waits->pairs);
	free(waits);
}

static const struct profile_wait *wait_of(const struct page_data *data, const struct sample *sample)
{
	if (sample->kind != SAMPLE_BLOCKED || !sample->wait)
		return NULL;
	return &profile_waits(page_expansion(data)->profile)->rows[sample->wait - 1];
}

/* One number for objects of both blames; `id` is one of these. */
static uint32_t awaited_id(uint32_t number, bool of_locks)
{
	return 2 * number + of_locks;
}

static struct awaited awaited_of(const struct page_waits *waits, uint32_t id)
{
	return (struct awaited){.blame = id % 2 ? waits->of_locks : waits->of_files,
				.number = id / 2};
}

/* By sample: the id of its object, or INDEX_NONE. NULL: no sample has one. */
static uint32_t *blame_samples(struct page_data *data, struct page_waits *waits)
{
	uint32_t *ids = NULL;

	for (size_t i = 0; i < data->nr_samples; i++) {
		struct observation observation = {.sample = *page_sample(data, i)};
		const struct profile_wait *row = wait_of(data, &observation.sample);
		bool of_locks = row && wait_is_of_memory(row->kind);

		if (!row)
			continue;
		if (!ids) {
			ids = xcalloc(data->nr_samples, sizeof(*ids));
			memset(ids, 0xff, data->nr_samples * sizeof(*ids));
		}
		observation.weight = sample_weight(&observation.sample, METRIC_BLOCKED);
		ids[i] = awaited_id(
			blame_add(of_locks ? waits->of_locks : waits->of_files, &observation),
			of_locks);
	}
	return ids;
}

struct heavy {
	uint64_t weight;
	uint32_t object;
};

static int heaviest_first(const void *left, const void *right)
{
	const struct heavy *a = left, *b = right;

	if (a->weight != b->weight)
		return a->weight < b->weight ? 1 : -1;
	return (a->object > b->object) - (a->object < b->object);
}

/* The heaviest objects have a number of their own in the page, the others share the last one. */
static void choose_shown(struct page_waits *waits)
{
	uint32_t nr = waits->objects.nr;
	cleanup_free struct heavy *heavy = xcalloc(nr, sizeof(*heavy));

	for (uint32_t i = 0; i < nr; i++) {
		struct awaited awaited = awaited_of(waits, waits->objects.ids[i]);

		heavy[i] = (struct heavy){blame_object(awaited.blame, awaited.number)->weight, i};
	}
	qsort(heavy, nr, sizeof(*heavy), heaviest_first);
	waits->shown = xcalloc(nr, sizeof(*waits->shown));
	waits->nr_shown = nr <= PAGE_OBJECTS_MAX ? nr : PAGE_OBJECTS_MAX + 1;
	waits->awaited = xcalloc(waits->nr_shown, sizeof(*waits->awaited));
	for (uint32_t i = 0; i < nr; i++) {
		uint32_t object = heavy[i].object;

		waits->shown[object] = i < PAGE_OBJECTS_MAX ? i : PAGE_OBJECTS_MAX;
		if (i < PAGE_OBJECTS_MAX)
			waits->awaited[i] = awaited_of(waits, waits->objects.ids[object]);
	}
}

static void number_objects(struct page_data *data, struct page_waits *waits, const uint32_t *ids)
{
	uint32_t most = 0;

	for (size_t i = 0; i < data->nr_samples; i++)
		if (ids[i] != INDEX_NONE && ids[i] > most)
			most = ids[i];
	numbering_init(&waits->objects, (size_t)most + 1);
	for (size_t i = 0; i < data->nr_samples; i++)
		if (ids[i] != INDEX_NONE)
			(void)numbering_of(&waits->objects, ids[i]);
	choose_shown(waits);
}

/* The number of the object with its owner at the time of the sample. */
static uint32_t pair_of(struct page_data *data, struct page_waits *waits,
			const struct sample *sample, uint32_t id)
{
	uint32_t object = waits->shown[numbering_of(&waits->objects, id)];
	struct thread_id owner =
		profile_waits(page_expansion(data)->profile)->rows[sample->wait - 1].owner;

	return pairs_add(
		&waits->pairs, object,
		owner.v == THREAD_NONE.v ? NO_THREAD : numbering_of(&data->threads, owner.v), 1);
}

static void write_samples(struct page_data *data, struct page_waits *waits, const uint32_t *ids)
{
	page_columns_begin(&data->columns, "sampleWait");
	for (size_t i = 0; i < data->nr_samples; i++)
		page_columns_add(&data->columns,
				 ids[i] == INDEX_NONE
					 ? 0
					 : pair_of(data, waits, page_sample(data, i), ids[i]) + 1);
}

/* The function that waits, or works, in a stack outside the C library; and that of a script. */
static void write_leaves(struct page_data *data)
{
	struct blame_stacks *stacks = blame_stacks_new(page_expansion(data));
	cleanup_free uint32_t *in = xcalloc(data->leaves.nr, sizeof(*in));
	cleanup_free uint32_t *script = xcalloc(data->leaves.nr, sizeof(*script));

	for (size_t i = 0; i < data->nr_samples; i++) {
		const struct sample *sample = page_sample(data, i);
		uint32_t leaf = page_leaf(data, sample), row = data->leaves.ids[leaf];
		const struct blame_stack *stack;

		if (in[leaf] || sample->kind == SAMPLE_UNATTRIBUTED)
			continue;
		stack = blame_stacks_get(stacks, sample);
		in[leaf] = page_levels_to(data, row, stack->label);
		script[leaf] = page_levels_to(data, row, stack->script);
	}
	page_columns_begin(&data->columns, "leafIn");
	for (uint32_t i = 0; i < data->leaves.nr; i++)
		page_columns_add(&data->columns, in[i]);
	page_columns_begin(&data->columns, "leafScript");
	for (uint32_t i = 0; i < data->leaves.nr; i++)
		page_columns_add(&data->columns, script[i]);
	blame_stacks_free(stacks);
}

void page_waits_write(struct page_data *data)
{
	struct page_waits *waits = xcalloc(1, sizeof(*waits));
	cleanup_free uint32_t *ids = NULL;

	data->waits = waits;
	waits->of_locks = blame_new(page_expansion(data), true);
	waits->of_files = blame_new(page_expansion(data), false);
	ids = blame_samples(data, waits);
	if (!ids)
		return;
	number_objects(data, waits, ids);
	write_samples(data, waits, ids);
	write_leaves(data);
}

/* [name, name of its frame, of a lock, kind, process, only its memory suggests an owner] */
static void write_object(struct page_data *data, struct json *json, struct awaited awaited)
{
	const struct profile *profile = page_expansion(data)->profile;
	const struct profile_process *process = blame_process(awaited.blame, awaited.number);
	struct buf text = {0};

	blame_append_name(&text, awaited.blame, awaited.number);
	json_str(json, buf_str(&text));
	buf_clear(&text);
	append_wait_frame(&text, awaited.blame, awaited.number);
	json_str(json, buf_str(&text));
	buf_clear(&text);
	json_u64(json, blame_is_lock(awaited.blame, awaited.number));
	append_lock_kind(&text, awaited.blame, awaited.number);
	json_str(json, buf_str(&text));
	json_u64(json, numbering_of(&data->processes, (uint32_t)(process - profile->processes)));
	json_u64(json, blame_object(awaited.blame, awaited.number)->is_guess);
	buf_release(&text);
}

void page_waits_write_members(struct page_data *data, struct json *json)
{
	struct page_waits *waits = data->waits;

	json_key_bool(json, "knowsWaits", page_expansion(data)->profile->meta.knows_waits);
	if (!waits->nr_shown)
		return;
	json_key_array_begin(json, "waitObjects");
	for (uint32_t i = 0; i < waits->nr_shown; i++) {
		json_array_begin(json);
		if (waits->awaited[i].blame)
			write_object(data, json, waits->awaited[i]);
		else
			json_str(json, BLAME_OTHERS);
		json_array_end(json);
	}
	json_array_end(json);
	json_key_array_begin(json, "waits");
	for (uint32_t i = 0; i < waits->pairs.nr; i++) {
		const struct pair *pair = &waits->pairs.rows[i];

		json_array_begin(json);
		json_u64(json, pair->a);
		json_i64(json, pair->b == NO_THREAD ? -1 : (int64_t)pair->b);
		json_array_end(json);
	}
	json_array_end(json);
}
