// SPDX-License-Identifier: GPL-2.0-or-later
#include "patch/branches.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "patch/patch.h"

/* Bytes after a start that a probe may overwrite, or leave alone in front of its window. */
#define NEAR_BYTES PATCH_REACH_MAX_BYTES

struct branch {
	uint64_t target, source;
	bool is_call;
};

/*
 * Addresses, sorted, each once, and how many there are before each of as many ranges of equal
 * length: so one is found without a search through all.
 */
struct addresses {
	uint64_t *at; /* owned */
	size_t nr;
	uint32_t *nr_before; /* owned: nr_ranges + 1 */
	size_t nr_ranges;
	unsigned int range_log2;
};

/*
 * Which addresses are near places, but not at them? Few calls lead to such, and nearly all are told
 * apart by one bit for some bytes of code: functions mostly begin with the first of these, which
 * has a bit of its own.
 */
struct insides {
	uint8_t *firsts, *others; /* owned; NULL: not known */
	uint64_t from;
	size_t nr;
};

#define INSIDE_LOG2 4

struct branches {
	struct addresses starts, places; /* without places: near the starts */
	struct insides insides;
	const uint64_t *steps; /* borrowed */
	size_t nr_steps;
	struct branch *at; /* by target, then source */
	size_t nr, cap;
	bool is_sorted;
	bool are_starts; /* each place is a start */
	uint64_t span;	 /* as branches_ask_about() has it */
	uint8_t *reach;	 /* owned: of each place; or NULL */
};

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_starts(const void *a, const void *b)
{
	return compare(*(const uint64_t *)a, *(const uint64_t *)b);
}

static int compare_branches(const void *a, const void *b)
{
	const struct branch *left = a, *right = b;
	int order = compare(left->target, right->target);

	return order ? order : compare(left->source, right->source);
}

static void index_addresses(struct addresses *addresses)
{
	uint64_t first = addresses->nr ? addresses->at[0] : 0;
	uint64_t span = addresses->nr ? addresses->at[addresses->nr - 1] - first : 0;
	size_t range = 0;

	while (span >> addresses->range_log2 > addresses->nr)
		addresses->range_log2++;
	addresses->nr_ranges = (size_t)(span >> addresses->range_log2) + 1;
	addresses->nr_before = xcalloc(addresses->nr_ranges + 1, sizeof(*addresses->nr_before));
	for (size_t i = 0; i < addresses->nr; i++) {
		size_t last = (size_t)((addresses->at[i] - first) >> addresses->range_log2);

		while (range < last)
			addresses->nr_before[++range] = (uint32_t)i;
	}
	while (range < addresses->nr_ranges)
		addresses->nr_before[++range] = (uint32_t)addresses->nr;
}

static bool is_rising(const uint64_t *addresses, size_t nr)
{
	for (size_t i = 1; i < nr; i++) {
		if (addresses[i] < addresses[i - 1])
			return false;
	}
	return true;
}

static void addresses_init(struct addresses *addresses, const uint64_t *from, size_t nr)
{
	uint64_t *sorted = xcalloc(nr + 1, sizeof(*sorted));
	size_t nr_kept = 0;

	assert(nr < UINT32_MAX);
	if (nr)
		memcpy(sorted, from, nr * sizeof(*sorted));
	if (!is_rising(sorted, nr))
		qsort(sorted, nr, sizeof(*sorted), compare_starts);
	for (size_t i = 0; i < nr; i++) {
		if (!nr_kept || sorted[i] != sorted[nr_kept - 1])
			sorted[nr_kept++] = sorted[i];
	}
	*addresses = (struct addresses){.at = sorted, .nr = nr_kept};
	index_addresses(addresses);
}

static void addresses_release(struct addresses *addresses)
{
	free(addresses->at);
	free(addresses->nr_before);
}

/* The number of addresses up to this one. */
static size_t nr_up_to(const struct addresses *addresses, uint64_t address)
{
	size_t low, high, range;

	if (!addresses->nr || address < addresses->at[0])
		return 0;
	if (address >= addresses->at[addresses->nr - 1])
		return addresses->nr;
	range = (size_t)((address - addresses->at[0]) >> addresses->range_log2);
	low = addresses->nr_before[range];
	high = addresses->nr_before[range + 1];
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (addresses->at[middle] <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct branches *branches_new(const uint64_t *starts, size_t nr_starts)
{
	struct branches *branches = xcalloc(1, sizeof(*branches));

	addresses_init(&branches->starts, starts, nr_starts);
	return branches;
}

void branches_know_steps(struct branches *branches, const uint64_t *at, size_t nr)
{
	assert(is_rising(at, nr));
	branches->steps = at;
	branches->nr_steps = nr;
}

static size_t nr_steps_up_to(const struct branches *branches, uint64_t address)
{
	size_t low = 0, high = branches->nr_steps;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (branches->steps[middle] <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint64_t branches_last_step(const struct branches *branches, uint64_t address)
{
	size_t nr = nr_steps_up_to(branches, address);

	return nr ? branches->steps[nr - 1] : 0;
}

const uint64_t *branches_steps_after(const struct branches *branches, uint64_t address, size_t *nr)
{
	size_t nr_before = nr_steps_up_to(branches, address);

	*nr = branches->nr_steps - nr_before;
	return *nr ? branches->steps + nr_before : NULL;
}

/* Is each of the first addresses among the others? */
static bool are_among(const struct addresses *some, const struct addresses *all)
{
	size_t at = 0;

	for (size_t i = 0; i < some->nr; i++) {
		while (at < all->nr && all->at[at] < some->at[i])
			at++;
		if (at == all->nr || all->at[at] != some->at[i])
			return false;
	}
	return true;
}

static bool may_be_inside(const struct insides *insides, uint64_t address)
{
	uint64_t bit = (address - insides->from) >> INSIDE_LOG2;
	bool is_first = !(address & ((1u << INSIDE_LOG2) - 1));

	if (!insides->firsts)
		return true;
	return bit < insides->nr &&
	       (is_first ? insides->firsts : insides->others)[bit / 8] & 1u << bit % 8;
}

/* The bytes from an address on, up to another one. */
static void note_inside(struct insides *insides, uint64_t address, uint64_t end)
{
	const uint64_t bytes = UINT64_C(1) << INSIDE_LOG2;

	for (uint64_t next; address < end; address = next) {
		uint64_t bit = (address - insides->from) >> INSIDE_LOG2;

		next = (address / bytes + 1) * bytes;
		if (address % bytes == 0)
			insides->firsts[bit / 8] |= (uint8_t)(1u << bit % 8);
		if (address % bytes || end - address > 1)
			insides->others[bit / 8] |= (uint8_t)(1u << bit % 8);
	}
}

/* Made files may have places that are very far from each other, or at the end of all addresses. */
#define INSIDES_MAX  ((size_t)1 << 27)
#define INSIDES_LAST (UINT64_MAX - 2 * UINT8_MAX)

static void note_insides(struct branches *branches)
{
	struct insides *insides = &branches->insides;
	const struct addresses *places = &branches->places;
	uint64_t last = places->nr ? places->at[places->nr - 1] : 0;

	if (!places->nr)
		return;
	insides->from = places->at[0] & -(UINT64_C(1) << INSIDE_LOG2);
	if (last > INSIDES_LAST || (last - insides->from) >> INSIDE_LOG2 > INSIDES_MAX)
		return;
	insides->nr = (size_t)((last + UINT8_MAX - insides->from) >> INSIDE_LOG2) + 1;
	insides->firsts = xcalloc(insides->nr / 8 + 1, 1);
	insides->others = xcalloc(insides->nr / 8 + 1, 1);
	for (size_t i = 0; i < places->nr; i++)
		note_inside(insides, places->at[i] + 1, places->at[i] + branches->reach[i]);
}

static void insides_release(struct insides *insides)
{
	free(insides->firsts);
	free(insides->others);
	*insides = (struct insides){.firsts = NULL};
}

void branches_ask_about(struct branches *branches, const struct branches_places *places)
{
	assert(!branches->places.at && !branches->nr);
	addresses_init(&branches->places, places->at, places->nr);
	branches->are_starts = are_among(&branches->places, &branches->starts);
	branches->span = places->span;
	if (!places->reach)
		return;
	assert(branches->places.nr == places->nr && is_rising(places->at, places->nr));
	branches->reach = xmemdup(places->reach, places->nr);
	if (branches->are_starts)
		note_insides(branches);
}

void branches_free(struct branches *branches)
{
	if (!branches)
		return;
	addresses_release(&branches->starts);
	addresses_release(&branches->places);
	free(branches->reach);
	insides_release(&branches->insides);
	free(branches->at);
	free(branches);
}

static uint64_t reach_of(const struct branches *branches, size_t index)
{
	return branches->reach ? branches->reach[index] : NEAR_BYTES;
}

uint64_t branches_ignored_from(const struct branches *branches, uint64_t start)
{
	size_t nr = nr_up_to(&branches->places, start);

	if (!branches->are_starts)
		return UINT64_MAX;
	if (!nr || branches->places.at[nr - 1] != start)
		return start;
	return start + reach_of(branches, nr - 1);
}

uint64_t branches_last_start(const struct branches *branches, uint64_t address)
{
	size_t nr = nr_up_to(&branches->starts, address);

	return nr ? branches->starts.at[nr - 1] : 0;
}

/* Is the source in a function that may begin at the target, a start with this index? */
static bool may_loop(const struct branches *branches, uint64_t source, uint64_t target,
		     size_t index)
{
	const struct addresses *starts = &branches->starts;

	return source >= target && (index + 1 == starts->nr || source < starts->at[index + 1] ||
				    source - target < branches->span);
}

bool branches_keep(const struct branches *branches, uint64_t source, uint64_t target, bool is_call)
{
	const struct addresses *starts = &branches->starts, *places = &branches->places;
	bool is_near_start, is_start;
	size_t nr;

	if (is_call && !may_be_inside(&branches->insides, target))
		return false;
	nr = nr_up_to(starts, target);
	is_near_start = nr && target - starts->at[nr - 1] < NEAR_BYTES;
	is_start = nr && starts->at[nr - 1] == target;

	/* Nearly all calls lead to starts, which are targets in any case. */
	if (is_call && is_start)
		return false;
	if (!places->at)
		return is_near_start;
	if (is_start ? !may_loop(branches, source, target, nr - 1)
		     : branches->are_starts && !is_near_start)
		return false;
	nr = nr_up_to(places, target);
	return nr && target - places->at[nr - 1] < reach_of(branches, nr - 1);
}

void branches_add(struct branches *branches, uint64_t source, uint64_t target, bool is_call)
{
	if (!branches_keep(branches, source, target, is_call))
		return;
	ARRAY_GROW(branches->at, branches->nr, branches->cap);
	branches->at[branches->nr++] =
		(struct branch){.target = target, .source = source, .is_call = is_call};
	branches->is_sorted = false;
}

void branches_sort(struct branches *branches)
{
	if (branches->nr)
		qsort(branches->at, branches->nr, sizeof(*branches->at), compare_branches);
	branches->is_sorted = true;
	addresses_release(&branches->places);
	free(branches->reach);
	insides_release(&branches->insides);
	branches->places = (struct addresses){.nr = 0};
	branches->reach = NULL;
	branches->steps = NULL;
	branches->nr_steps = 0;
}

/* The index of the first branch that leads to the address, or to one after it. */
static size_t first_to(const struct branches *branches, uint64_t target)
{
	size_t low = 0, high = branches->nr;

	assert(branches->is_sorted);
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (branches->at[middle].target < target)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool branches_lead_to(const struct branches *branches, uint64_t from, uint64_t to)
{
	size_t first = first_to(branches, from);

	return first < branches->nr && branches->at[first].target < to;
}

bool branches_lead_into(const struct branches *branches, uint64_t from, uint64_t to)
{
	return branches_lead_to(branches, from + 1, to) || branches_next_start(branches, from) < to;
}

bool branches_loop_to(const struct branches *branches, uint64_t target, uint64_t start,
		      uint64_t end)
{
	for (size_t i = first_to(branches, target);
	     i < branches->nr && branches->at[i].target == target; i++) {
		const struct branch *branch = &branches->at[i];

		if (!branch->is_call && branch->source >= start && branch->source < end)
			return true;
	}
	return false;
}

uint64_t branches_next_start(const struct branches *branches, uint64_t address)
{
	size_t nr = nr_up_to(&branches->starts, address);

	return nr < branches->starts.nr ? branches->starts.at[nr] : UINT64_MAX;
}

const uint64_t *branches_places_from(const struct branches *branches, uint64_t from, size_t *nr)
{
	size_t nr_before = from ? nr_up_to(&branches->places, from - 1) : 0;

	*nr = branches->places.nr - nr_before;
	return branches->places.at ? branches->places.at + nr_before : NULL;
}

const size_t branches_near_bytes = NEAR_BYTES;
