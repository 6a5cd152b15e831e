// SPDX-License-Identifier: GPL-2.0-or-later
/* Which threads waited for which objects, and the activity of the owners meanwhile. */
#include "calltree/blame.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/minmax.h"
#include "calltree/blame_stacks.h"
#include "calltree/expand.h"
#include "calltree/pairs.h"
#include "calltree/tally.h"

/* A time in which an owner, by its number in `owners`, kept others waiting. */
struct held {
	uint32_t owner;
	uint64_t from_ns, to_ns;
};

struct blame {
	const struct expansion *expansion;
	bool of_locks;
	struct blame_stacks *stacks;
	struct blame_object *objects;
	size_t nr, cap;
	struct index_set set;
	struct pairs threads, functions;	/* by object */
	struct pairs owners, owner_functions;	/* by object; by number of the former */
	struct pairs owner_leaves, owner_waits; /* likewise: labels, and rows of profile.waits */
	struct held *held;
	size_t nr_held, cap_held;
	uint64_t *seen_ns; /* by number of the owner */
	uint32_t numbers[BLAME_WHAT_COUNT];
};

int blame_require(const struct profile *profile, struct err *err)
{
	if (profile->meta.knows_waits)
		return 0;
	err_set(err, ERR_NOT_FOUND, "the recording does not have what threads waited for");
	err_hint(err, "recordings of older versions do not: --by syscall shows in which calls");
	return ERR_NOT_FOUND;
}

struct blame *blame_new(const struct expansion *expansion, bool of_locks)
{
	struct blame *blame = xcalloc(1, sizeof(*blame));

	blame->expansion = expansion;
	blame->of_locks = of_locks;
	blame->stacks = blame_stacks_new(expansion);
	for (int what = 0; what < BLAME_WHAT_COUNT; what++)
		blame->numbers[what] = INDEX_NONE;
	return blame;
}

void blame_free(struct blame *blame)
{
	if (!blame)
		return;
	pairs_release(&blame->threads);
	pairs_release(&blame->functions);
	pairs_release(&blame->owners);
	pairs_release(&blame->owner_functions);
	pairs_release(&blame->owner_leaves);
	pairs_release(&blame->owner_waits);
	index_set_release(&blame->set);
	blame_stacks_free(blame->stacks);
	free(blame->objects);
	free(blame->seen_ns);
	free(blame->held);
	free(blame);
}

static const struct profile_wait *wait_at(const struct blame *blame, uint32_t wait)
{
	return &profile_waits(blame->expansion->profile)->rows[wait];
}

/* --- the awaited objects --- */

/*
 * A condition of the GNU C library has two adjacent words that threads wait for by turns; so has a
 * lock for readers and writers.
 */
static uint64_t identity_of(const struct profile_wait *row, enum lock_kind kind)
{
	bool has_two = kind == LOCK_CONDITION || kind == LOCK_RWLOCK || kind == LOCK_GIL;

	return has_two ? row->number & ~UINT64_C(7) : row->number;
}

struct object_key {
	const struct blame *blame;
	const struct profile_wait *row;
	enum lock_kind kind;
};

/* Descriptors without a known peer are grouped by kind. */
static const char *descriptor_text(const struct profile *profile, const struct profile_wait *row)
{
	static const struct {
		const char *prefix, *text;
	} words[] = {{"socket:[", "socket"},
		     {"pipe:[", "pipe"},
		     {"anon_inode:[eventpoll]", "epoll"},
		     {"anon_inode:[eventfd]", "eventfd"},
		     {"anon_inode:[timerfd]", "timerfd"},
		     {"anon_inode:[signalfd]", "signalfd"},
		     {"anon_inode:[io_uring]", "io_uring"},
		     {"anon_inode:[pidfd]", "pidfd"},
		     {"anon_inode:inotify", "inotify"}};
	const char *name = profile_str(profile, row->name);

	if (row->peer.v != STR_EMPTY.v)
		return profile_str(profile, row->peer);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strncmp(name, words[i].prefix, strlen(words[i].prefix)) == 0)
			return words[i].text;
	}
	return name;
}

static bool same_text(const struct blame *blame, const struct profile_wait *a,
		      const struct profile_wait *b)
{
	const struct profile *profile = blame->expansion->profile;

	return strcmp(descriptor_text(profile, a), descriptor_text(profile, b)) == 0;
}

static bool same_object(const void *owner, uint32_t index, const void *key)
{
	const struct blame *blame = owner;
	const struct object_key *wanted = key;
	const struct blame_object *object = &blame->objects[index];
	const struct profile_wait *row = wait_at(blame, object->wait);

	if (object->what != BLAME_OBJECT || row->process != wanted->row->process ||
	    identity_of(row, object->kind) != identity_of(wanted->row, wanted->kind))
		return false;
	/* The memory of an ended thread may be another's by now. */
	if ((row->kind == WAIT_THREAD || wanted->row->kind == WAIT_THREAD) &&
	    row->owner.v != wanted->row->owner.v)
		return false;
	return blame->of_locks ||
	       (row->kind == wanted->row->kind && same_text(blame, row, wanted->row));
}

static uint32_t append_object(struct blame *blame, enum blame_what what)
{
	ARRAY_GROW(blame->objects, blame->nr, blame->cap);
	blame->objects[blame->nr] = (struct blame_object){.what = what, .wait = INDEX_NONE};
	return (uint32_t)blame->nr++;
}

static bool is_gil(const struct expansion *expansion, const struct profile_wait *row)
{
	return wait_is_of_memory(row->kind) &&
	       strcmp(profile_str(expansion->profile, row->name), WAIT_NAME_GIL) == 0;
}

static uint32_t intern_object(struct blame *blame, uint32_t wait, enum lock_kind kind)
{
	const struct profile_wait *row = wait_at(blame, wait);
	const struct object_key key = {.row = row, .kind = kind};
	uint64_t hash = hash_mix(row->process, identity_of(row, kind));
	uint32_t found = index_set_find(&blame->set, hash, same_object, blame, &key);

	if (found == INDEX_NONE) {
		found = append_object(blame, BLAME_OBJECT);
		blame->objects[found].wait = wait;
		blame->objects[found].kind = kind;
		index_set_add(&blame->set, hash, found);
	} else if (is_gil(blame->expansion, row)) {
		/* It had no name when the first wait for it was seen. */
		blame->objects[found].wait = wait;
		blame->objects[found].kind = kind;
	}
	return found;
}

static enum blame_what what_of(const struct blame *blame, const struct sample *sample)
{
	if (sample->kind == SAMPLE_UNATTRIBUTED)
		return BLAME_UNATTRIBUTED;
	if (sample->kind == SAMPLE_RUNNING)
		return BLAME_RUNNING;
	if (!sample->wait ||
	    wait_is_of_memory(wait_at(blame, sample->wait - 1)->kind) != blame->of_locks)
		return BLAME_OTHER;
	return BLAME_OBJECT;
}

static void note_held(struct blame *blame, uint32_t owner, const struct sample *sample)
{
	uint64_t slept_ns = min_u64(sample->blocked_ns, sample->time_ns);

	ARRAY_GROW(blame->held, blame->nr_held, blame->cap_held);
	blame->held[blame->nr_held++] = (struct held){
		.owner = owner, .from_ns = sample->time_ns - slept_ns, .to_ns = sample->time_ns};
}

static uint32_t add_object(struct blame *blame, const struct observation *observation)
{
	const struct sample *sample = &observation->sample;
	uint32_t wait = sample->wait - 1;
	const struct profile_wait *row = wait_at(blame, wait);
	const struct blame_stack *stack = blame_stacks_get(blame->stacks, sample);
	enum lock_kind kind = row->kind == WAIT_THREAD	      ? LOCK_JOIN
			      : is_gil(blame->expansion, row) ? LOCK_GIL
							      : stack->kind;
	uint32_t number = intern_object(blame, wait, kind);
	struct blame_object *object = &blame->objects[number];

	pairs_add(&blame->threads, number, sample->thread.v, 1);
	pairs_add(&blame->functions, number, stack->label, observation->weight);
	if (row->owner.v == THREAD_NONE.v || row->kind == WAIT_THREAD)
		return number;
	object->is_guess |= row->kind == WAIT_MUTEX && kind != LOCK_MUTEX && kind != LOCK_RWLOCK;
	note_held(blame, pairs_add(&blame->owners, number, row->owner.v, observation->weight),
		  sample);
	return number;
}

uint32_t blame_add(struct blame *blame, const struct observation *observation)
{
	enum blame_what what = what_of(blame, &observation->sample);
	uint32_t number;

	if (what == BLAME_OBJECT) {
		number = add_object(blame, observation);
	} else {
		if (blame->numbers[what] == INDEX_NONE)
			blame->numbers[what] = append_object(blame, what);
		number = blame->numbers[what];
		pairs_add(&blame->threads, number, observation->sample.thread.v, 1);
	}
	blame->objects[number].weight += observation->weight;
	return number;
}

/* --- the owners' activity --- */

static int compare_held(const void *left, const void *right)
{
	const struct held *a = left, *b = right;

	if (a->owner != b->owner)
		return a->owner < b->owner ? -1 : 1;
	return (a->from_ns > b->from_ns) - (a->from_ns < b->from_ns);
}

/* Join overlapping times of one owner: several threads waited at once. */
static void join_held(struct blame *blame)
{
	size_t kept = 0;

	if (blame->nr_held)
		qsort(blame->held, blame->nr_held, sizeof(*blame->held), compare_held);
	for (size_t i = 0; i < blame->nr_held; i++) {
		struct held *last = kept ? &blame->held[kept - 1] : NULL;
		const struct held *next = &blame->held[i];

		if (last && last->owner == next->owner && next->from_ns <= last->to_ns)
			last->to_ns = max_u64(last->to_ns, next->to_ns);
		else
			blame->held[kept++] = *next;
	}
	blame->nr_held = kept;
}

/* An owner does not wait for its own lock: it did not have it yet. */
static bool waits_for_it(const struct blame *blame, const struct held *held,
			 const struct sample *sample)
{
	const struct blame_object *object = &blame->objects[blame->owners.rows[held->owner].a];
	const struct profile_wait *of_lock = wait_at(blame, object->wait), *of_sample;

	if (!sample->wait)
		return false;
	of_sample = wait_at(blame, sample->wait - 1);
	return wait_is_of_memory(of_sample->kind) && of_sample->process == of_lock->process &&
	       of_sample->number == of_lock->number;
}

static uint32_t leaf_of(const struct blame *blame, const struct sample *sample)
{
	const struct stack_trie *stacks = blame->expansion->profile->stacks;

	return expansion_innermost(blame->expansion, stack_trie_frame(stacks, sample->stack))
		->label;
}

/* Add the part of the held time that a sample of the owner covers. */
static void add_overlap(struct blame *blame, const struct held *held, const struct sample *sample,
			uint64_t before_ns)
{
	const struct blame_object *object = &blame->objects[blame->owners.rows[held->owner].a];
	uint64_t from_ns = max_u64(before_ns, held->from_ns);
	uint64_t to_ns = min_u64(sample->time_ns, held->to_ns);
	const struct blame_stack *stack;

	if (from_ns >= to_ns || sample->kind == SAMPLE_UNATTRIBUTED ||
	    waits_for_it(blame, held, sample))
		return;
	stack = blame_stacks_get(blame->stacks, sample);
	pairs_add(&blame->owner_functions, held->owner,
		  object->kind == LOCK_GIL ? stack->script : stack->label, to_ns - from_ns);
	if (sample->stack.v != STACK_EMPTY.v)
		pairs_add(&blame->owner_leaves, held->owner, leaf_of(blame, sample),
			  to_ns - from_ns);
	if (sample->wait)
		pairs_add(&blame->owner_waits, held->owner, sample->wait - 1, to_ns - from_ns);
	blame->seen_ns[held->owner] += to_ns - from_ns;
}

/* The samples of a thread, which are in the order of time, from the first that ends after `ns`. */
static size_t first_after(const struct profile *profile, const struct thread_samples_of *of,
			  uint64_t ns)
{
	size_t low = 0, high = of->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (profile->samples[of->at[middle]].time_ns <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void look_at_owner(struct blame *blame, const struct held *held,
			  const struct thread_samples_of *of)
{
	const struct profile *profile = blame->expansion->profile;

	for (size_t i = first_after(profile, of, held->from_ns); i < of->nr; i++) {
		const struct sample *sample = &profile->samples[of->at[i]];
		uint64_t before_ns = i ? profile->samples[of->at[i - 1]].time_ns : 0;

		if (before_ns >= held->to_ns)
			break;
		add_overlap(blame, held, sample, before_ns);
	}
}

void blame_finish(struct blame *blame)
{
	struct thread_index index = {0};

	blame->seen_ns = xcalloc(blame->owners.nr + 1, sizeof(*blame->seen_ns));
	join_held(blame);
	if (blame->nr_held)
		thread_index_init(&index, blame->expansion->profile);
	for (size_t i = 0; i < blame->nr_held; i++) {
		uint32_t thread = blame->owners.rows[blame->held[i].owner].b;
		struct thread_samples_of of = thread_index_get(&index, thread);

		look_at_owner(blame, &blame->held[i], &of);
	}
	thread_index_release(&index);
	pairs_sort(&blame->threads);
	pairs_sort(&blame->functions);
	pairs_sort(&blame->owners);
	pairs_sort(&blame->owner_functions);
	pairs_sort(&blame->owner_leaves);
	pairs_sort(&blame->owner_waits);
}

/* --- results --- */

const struct expansion *blame_expansion(const struct blame *blame)
{
	return blame->expansion;
}

const struct blame_object *blame_object(const struct blame *blame, uint32_t number)
{
	return &blame->objects[number];
}

static void append_thread(struct buf *out, const struct profile *profile, struct thread_id thread)
{
	const struct profile_thread *row = &profile->threads[thread.v];

	buf_printf(out, "%d %s", (int)row->tid, profile_str(profile, row->name));
}

static void append_memory(struct buf *out, const struct expansion *expansion,
			  const struct profile_wait *row)
{
	const struct profile *profile = expansion->profile;
	const char *name = profile_str(profile, row->name);

	if (row->kind == WAIT_THREAD && row->owner.v != THREAD_NONE.v) {
		buf_append_str(out, "end of thread ");
		append_thread(out, profile, row->owner);
	} else if (is_gil(expansion, row)) {
		buf_printf(out, "GIL of %s",
			   profile_str(profile, profile->processes[row->process].name));
	} else if (row->place.v != WAIT_NO_PLACE.v) {
		label_append_name(out, expansion, expansion_outermost(expansion, row->place)->label,
				  NAME_FULL);
	} else {
		buf_printf(out, "0x%llx%s%s", (unsigned long long)row->number, *name ? " " : "",
			   name);
	}
}

void blame_append_wait(struct buf *out, const struct expansion *expansion,
		       const struct profile_wait *row)
{
	const char *name = descriptor_text(expansion->profile, row);

	if (row->number == WAIT_NUMBER_ANY)
		buf_append_str(out, BLAME_OTHERS);
	else if (wait_is_of_memory(row->kind))
		append_memory(out, expansion, row);
	else if (row->kind == WAIT_FILES && *name)
		buf_printf(out, "one of %llu descriptors (fd %s)", (unsigned long long)row->number,
			   name);
	else if (row->kind == WAIT_FILES)
		buf_printf(out, "one of %llu descriptors", (unsigned long long)row->number);
	else
		buf_printf(out, *name ? "%s (fd %llu)" : "%sfd %llu", name,
			   (unsigned long long)row->number);
}

void blame_append_name(struct buf *out, const struct blame *blame, uint32_t number)
{
	const struct blame_object *object = &blame->objects[number];

	switch (object->what) {
	case BLAME_OBJECT:
		blame_append_wait(out, blame->expansion, wait_at(blame, object->wait));
		break;
	case BLAME_OTHER:
		buf_append_str(out, blame->of_locks ? "[no lock]" : "[no descriptor]");
		break;
	case BLAME_RUNNING:
		buf_append_str(out, "[running]");
		break;
	case BLAME_UNATTRIBUTED:
		buf_append_str(out, "[unattributed]");
		break;
	case BLAME_WHAT_COUNT:
		break;
	}
}

const struct profile_process *blame_process(const struct blame *blame, uint32_t number)
{
	const struct profile *profile = blame->expansion->profile;
	const struct blame_object *object = &blame->objects[number];

	if (object->what != BLAME_OBJECT)
		return NULL;
	return &profile->processes[wait_at(blame, object->wait)->process];
}

bool blame_is_lock(const struct blame *blame, uint32_t number)
{
	return blame->of_locks && blame->objects[number].what == BLAME_OBJECT;
}

bool blame_number(const struct blame *blame, uint32_t number, uint64_t *value)
{
	const struct blame_object *object = &blame->objects[number];
	const struct profile_wait *row;

	if (object->what != BLAME_OBJECT)
		return false;
	row = wait_at(blame, object->wait);
	*value = row->number;
	return row->kind != WAIT_FILES && row->number != WAIT_NUMBER_ANY;
}

const char *blame_descriptor(const struct blame *blame, uint32_t number)
{
	const struct blame_object *object = &blame->objects[number];
	const char *name;

	if (object->what != BLAME_OBJECT)
		return NULL;
	name = descriptor_text(blame->expansion->profile, wait_at(blame, object->wait));
	return *name ? name : NULL;
}

size_t blame_nr_threads(const struct blame *blame, uint32_t number)
{
	size_t nr;

	pairs_of(&blame->threads, number, &nr);
	return nr;
}

static bool part_of(const struct pairs *pairs, uint32_t a, size_t rank, struct blame_part *part)
{
	size_t nr;
	const struct pair *rows = pairs_of(pairs, a, &nr);

	if (rank >= nr)
		return false;
	*part = (struct blame_part){.label = rows[rank].b, .amount = rows[rank].amount};
	return true;
}

bool blame_waiting_in(const struct blame *blame, uint32_t number, struct blame_part *part)
{
	return part_of(&blame->functions, number, 0, part);
}

bool blame_owner(const struct blame *blame, uint32_t number, size_t rank, struct blame_owner *owner)
{
	size_t nr;
	const struct pair *rows = pairs_of(&blame->owners, number, &nr);

	if (rank >= nr)
		return false;
	*owner = (struct blame_owner){.thread = rows[rank].b,
				      .weight = rows[rank].amount,
				      .seen_ns = blame->seen_ns[rows[rank].id],
				      .id = rows[rank].id};
	return true;
}

bool blame_owner_in(const struct blame *blame, const struct blame_owner *owner, size_t rank,
		    struct blame_part *part)
{
	return part_of(&blame->owner_functions, owner->id, rank, part);
}

bool blame_owner_leaf(const struct blame *blame, const struct blame_owner *owner,
		      struct blame_part *part)
{
	return part_of(&blame->owner_leaves, owner->id, 0, part);
}

bool blame_owner_wait(const struct blame *blame, const struct blame_owner *owner, uint32_t *wait)
{
	struct blame_part part;

	/* The owner waited for that object most of the time. */
	if (!part_of(&blame->owner_waits, owner->id, 0, &part) || 2 * part.amount < owner->seen_ns)
		return false;
	*wait = part.label;
	return true;
}
