// SPDX-License-Identifier: GPL-2.0-or-later
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "snapshot/snapshot.h"
#include "snapshot/wanted.h"
#include "tests/unit/unit.h"
#include "tracee/tracee_priv.h"

struct fixture {
	struct tracee_host *host;
	struct tracee tracee; /* this thread */
	struct snapshot snapshot;
	uint8_t *pages; /* three; the second is not mapped */
	size_t page_bytes;
	struct wanted_memory wanted;
	struct wanted_more more;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	fixture->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	fixture->host = tracee_host_new();
	tracee_open(&fixture->tracee, fixture->host, getpid(), getpid());
	fixture->pages = mmap(NULL, 3 * fixture->page_bytes, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(fixture->pages, MAP_FAILED);
	memset(fixture->pages, 'a', fixture->page_bytes);
	memset(fixture->pages + 2 * fixture->page_bytes, 'c', fixture->page_bytes);
	munmap(fixture->pages + fixture->page_bytes, fixture->page_bytes);
	snapshot_clear(&fixture->snapshot);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	munmap(fixture->pages, fixture->page_bytes);
	munmap(fixture->pages + 2 * fixture->page_bytes, fixture->page_bytes);
	snapshot_release(&fixture->snapshot);
	tracee_close(&fixture->tracee);
	tracee_host_free(fixture->host);
	free(fixture);
	return 0;
}

static void copy(struct fixture *fixture)
{
	tracee_set_wanted(&fixture->tracee, &fixture->wanted, &fixture->more);
	tracee_copy_wanted(&fixture->tracee, &fixture->snapshot);
}

static bool has(const struct fixture *fixture, const uint8_t *at, size_t nr_bytes, char letter)
{
	char bytes[64];

	return snapshot_read_any(&fixture->snapshot, (uintptr_t)at, bytes, nr_bytes) &&
	       bytes[0] == letter && bytes[nr_bytes - 1] == letter;
}

TEST_WITH(struct fixture *fixture, tracee_wanted, is_nothing_at_first)
{
	copy(fixture);
	assert_int_equal(fixture->snapshot.nr_regions, 0);
}

TEST_WITH(struct fixture *fixture, tracee_wanted, memory_is_copied_beside_stacks)
{
	const uint8_t *third = fixture->pages + 2 * fixture->page_bytes;

	wanted_memory_add(&fixture->wanted, (uintptr_t)fixture->pages + 8, 16);
	wanted_memory_add(&fixture->wanted, (uintptr_t)third + 8, 32);
	copy(fixture);
	assert_true(has(fixture, fixture->pages + 8, 16, 'a'));
	assert_true(has(fixture, third + 8, 32, 'c'));
	assert_false(has(fixture, third + 8, 33, 'c'));
	for (unsigned int i = 0; i < fixture->snapshot.nr_regions; i++)
		assert_int_equal(fixture->snapshot.regions[i].kind, REGION_WANTED);
}

/* A range that ends in a hole, one in the hole, and one that begins in it: all others are there. */
TEST_WITH(struct fixture *fixture, tracee_wanted, holes_cost_no_other_memory)
{
	const uint8_t *second = fixture->pages + fixture->page_bytes;
	const uint8_t *third = second + fixture->page_bytes;

	wanted_memory_add(&fixture->wanted, (uintptr_t)second - 16, 64);
	wanted_memory_add(&fixture->wanted, (uintptr_t)second + 256, 16);
	wanted_memory_add(&fixture->wanted, (uintptr_t)third - 16, 24);
	wanted_memory_add(&fixture->wanted, (uintptr_t)third + 64, 16);
	copy(fixture);
	if (fixture->tracee.maps_are_slow)
		skip(); /* each copy asks for one mapping alone */
	assert_true(has(fixture, second - 16, 16, 'a'));
	assert_true(has(fixture, third + 64, 16, 'c'));
	assert_false(has(fixture, third, 8, 'c'));
}

TEST_WITH(struct fixture *fixture, tracee_wanted, a_range_may_span_mappings)
{
	const uint8_t *second = fixture->pages + fixture->page_bytes;

	assert_ptr_equal(mmap(fixture->pages + fixture->page_bytes, fixture->page_bytes, PROT_READ,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 second);
	wanted_memory_add(&fixture->wanted, (uintptr_t)second - 16, 32);
	copy(fixture);
	assert_int_equal(fixture->snapshot.nr_regions, 1);
	assert_true(has(fixture, second - 16, 16, 'a'));
	assert_true(has(fixture, second, 16, '\0'));
}

/* They are read at once, with what is between; a hole in the middle costs only what is there. */
TEST_WITH(struct fixture *fixture, tracee_wanted, ranges_near_each_other_have_their_own_bytes)
{
	uint8_t *third = fixture->pages + 2 * fixture->page_bytes;

	for (size_t i = 0; i < fixture->page_bytes; i++) {
		fixture->pages[i] = (uint8_t)(i / 64);
		third[i] = (uint8_t)(128 + i / 64);
	}
	for (size_t i = 1; i < fixture->page_bytes / 64; i += 3) {
		wanted_memory_add(&fixture->wanted, (uintptr_t)third + 64 * i, 24);
		wanted_memory_add(&fixture->wanted, (uintptr_t)fixture->pages + 64 * i, 40);
	}
	wanted_memory_add(&fixture->wanted, (uintptr_t)third - 64, 64);
	wanted_memory_sort(&fixture->wanted);
	copy(fixture);
	if (fixture->tracee.maps_are_slow)
		skip(); /* each copy asks for one mapping alone */
	for (size_t i = 1; i < 64; i += 3) {
		assert_true(has(fixture, fixture->pages + 64 * i, 40, (char)i));
		assert_false(has(fixture, fixture->pages + 64 * i, 41, (char)i));
		assert_true(has(fixture, third + 64 * i, 24, (char)(128 + i)));
	}
}

/* Each of some words holds the address of the next one; the last, 0. */
static bool find_next(const void *facts, uint64_t subject, const struct snapshot *snapshot,
		      struct wanted_memory *missing)
{
	uint64_t at = subject;

	assert_int_equal(((const uint8_t *)facts)[0], 7);
	while (at) {
		uint64_t next;

		if (!snapshot_read_any(snapshot, at, &next, sizeof(next)))
			return wanted_memory_add(missing, at, sizeof(next));
		at = next;
	}
	return false;
}

TEST_WITH(struct fixture *fixture, tracee_wanted, more_is_found_step_by_step)
{
	uint64_t *words = (uint64_t *)(void *)fixture->pages;

	words[0] = (uintptr_t)&words[40];
	words[40] = (uintptr_t)&words[20];
	words[20] = 0;
	fixture->more.find = find_next;
	fixture->more.subject = (uintptr_t)words;
	fixture->more.facts[0] = 7;
	copy(fixture);
	assert_int_equal(fixture->snapshot.nr_regions, 3);
	assert_true(snapshot_read_any(&fixture->snapshot, (uintptr_t)&words[20], words + 60, 8));
	/* A circle ends, and so does memory that is not there. */
	snapshot_clear(&fixture->snapshot);
	words[20] = (uintptr_t)fixture->pages + fixture->page_bytes;
	copy(fixture);
	assert_int_equal(fixture->snapshot.nr_regions, 3);
}

static bool find_word(const void *facts, uint64_t subject, const struct snapshot *snapshot,
		      struct wanted_memory *missing)
{
	uint64_t at, word;

	assert_int_equal(subject, 0);
	memcpy(&at, facts, sizeof(at));
	return !snapshot_read_any(snapshot, at, &word, sizeof(word)) &&
	       wanted_memory_add(missing, at, sizeof(word));
}

/* A thread that is none of the interpreter's is not looked for at each of its samples. */
TEST_WITH(struct fixture *fixture, tracee_wanted, an_unknown_subject_is_looked_for_some_times)
{
	uint64_t at = (uintptr_t)fixture->pages;
	int nr_found = 0;

	fixture->more.find = find_word;
	memcpy(fixture->more.facts, &at, sizeof(at));
	for (int i = 0; i < 100; i++) {
		snapshot_clear(&fixture->snapshot);
		copy(fixture);
		nr_found += fixture->snapshot.nr_regions == 1;
	}
	assert_in_range(nr_found, 1, 10);
}

/* One call reads both, and the next copy does so again. */
TEST_WITH(struct fixture *fixture, tracee_wanted, memory_comes_with_the_stack)
{
	const uint8_t *third = fixture->pages + 2 * fixture->page_bytes;
	struct snapshot *snapshot = &fixture->snapshot;

	wanted_memory_add(&fixture->wanted, (uintptr_t)third, 16);
	wanted_memory_add(&fixture->wanted, (uintptr_t)fixture->pages + fixture->page_bytes, 16);
	tracee_set_wanted(&fixture->tracee, &fixture->wanted, &fixture->more);
	for (int i = 0; i < 2; i++) {
		snapshot_clear(snapshot);
		regs_set(&snapshot->regs, arch_regs(snapshot->arch)->sp,
			 (uintptr_t)fixture->pages + fixture->page_bytes - 64);
		tracee_copy_stacks(&fixture->tracee, 4096, snapshot);
		assert_int_equal(snapshot->regions[0].kind, REGION_STACK);
		assert_true(has(fixture, fixture->pages + fixture->page_bytes - 64, 64, 'a'));
		assert_true(has(fixture, third, 16, 'c'));
		tracee_copy_wanted(&fixture->tracee, snapshot);
		assert_int_equal(snapshot->nr_regions, 2);
	}
	/* The stack has gone since its mapping was asked for. */
	munmap(fixture->pages, fixture->page_bytes);
	snapshot_clear(snapshot);
	regs_set(&snapshot->regs, arch_regs(snapshot->arch)->sp,
		 (uintptr_t)fixture->pages + fixture->page_bytes - 64);
	tracee_copy_stacks(&fixture->tracee, 4096, snapshot);
	assert_int_equal(snapshot->nr_regions, 0);
	tracee_copy_wanted(&fixture->tracee, snapshot);
	assert_true(has(fixture, third, 16, 'c'));
}

/* Before the stack: what was there at the stop is in the snapshot of that, and of no other. */
TEST_WITH(struct fixture *fixture, tracee_wanted, memory_is_copied_ahead_of_a_stop)
{
	const uint8_t *third = fixture->pages + 2 * fixture->page_bytes;
	struct snapshot *snapshot = &fixture->snapshot;

	wanted_memory_add(&fixture->wanted, (uintptr_t)fixture->pages, 16);
	wanted_memory_add(&fixture->wanted, (uintptr_t)third, 16);
	tracee_copy_ahead(&fixture->tracee, 1000);
	tracee_set_wanted(&fixture->tracee, &fixture->wanted, &fixture->more);
	tracee_copy_ahead(&fixture->tracee, 1001);
	memset(fixture->pages, 'b', fixture->page_bytes);
	snapshot->time_ns = 1001;
	regs_set(&snapshot->regs, arch_regs(snapshot->arch)->sp,
		 (uintptr_t)fixture->pages + fixture->page_bytes - 64);
	tracee_copy_stacks(&fixture->tracee, 4096, snapshot);
	assert_int_equal(snapshot->nr_regions, 1);
	tracee_copy_wanted(&fixture->tracee, snapshot);
	assert_int_equal(snapshot->regions[0].kind, REGION_STACK);
	assert_true(has(fixture, fixture->pages + fixture->page_bytes - 64, 64, 'b'));
	assert_true(has(fixture, fixture->pages, 16, 'a'));
	assert_true(has(fixture, third, 16, 'c'));
	assert_int_equal(snapshot->nr_regions, 3);
	snapshot_clear(snapshot);
	snapshot->time_ns = 1002;
	copy(fixture);
	assert_true(has(fixture, fixture->pages, 16, 'b'));
}

/* So is the stack; where the thread is far deeper than it was, the rest of it is read then. */
TEST_WITH(struct fixture *fixture, tracee_wanted, the_stack_is_copied_ahead_of_a_stop)
{
	uint8_t *third = fixture->pages + 2 * fixture->page_bytes;
	uint8_t *end = fixture->pages + fixture->page_bytes;
	const uint64_t depths[] = {512, 512, 256, 640, 1024, 2048};
	const char letters[] = {'b', 'a', 'a', 'a', 'a', 'b'};
	struct snapshot *snapshot = &fixture->snapshot;

	wanted_memory_add(&fixture->wanted, (uintptr_t)third, 16);
	wanted_memory_add(&fixture->wanted, (uintptr_t)third + 64, 16);
	fixture->wanted.at[1].is_late = true;
	tracee_set_wanted(&fixture->tracee, &fixture->wanted, &fixture->more);
	for (unsigned int i = 0; i < ARRAY_SIZE(depths); i++) {
		uint64_t sp = (uintptr_t)end - depths[i];

		memset(fixture->pages, 'a', fixture->page_bytes);
		tracee_copy_ahead(&fixture->tracee, 1000 + i);
		memset(fixture->pages, 'b', fixture->page_bytes);
		memset(third + 16, 'd', 64);
		snapshot_clear(snapshot);
		snapshot->time_ns = 1000 + i;
		regs_set(&snapshot->regs, arch_regs(snapshot->arch)->sp, sp);
		tracee_copy_stacks(&fixture->tracee, 4096, snapshot);
		tracee_copy_wanted(&fixture->tracee, snapshot);
		if (fixture->tracee.maps_are_slow)
			skip(); /* the mapping is not known so soon */
		assert_int_equal(snapshot->nr_regions, 3);
		assert_int_equal(snapshot->regions[0].kind, REGION_STACK);
		assert_true(snapshot->regions[0].start <= sp);
		assert_true(has(fixture, end - depths[i], 64, letters[i]));
		assert_true(has(fixture, end - 64, 64, i ? 'a' : 'b'));
		assert_true(has(fixture, third, 16, 'c'));
		tracee_copy_late(&fixture->tracee, snapshot, clock_monotonic_ns() + NS_PER_SEC);
		assert_true(snapshot_is_late(snapshot, (uintptr_t)third + 64, 16));
	}
}

/* What need not come from the stop has no bytes before, and none if it comes too late. */
TEST_WITH(struct fixture *fixture, tracee_wanted, some_is_copied_after_the_stop)
{
	const uint8_t *third = fixture->pages + 2 * fixture->page_bytes;
	uint8_t bytes[16];

	wanted_memory_add(&fixture->wanted, (uintptr_t)fixture->pages, 16);
	wanted_memory_add(&fixture->wanted, (uintptr_t)third, 16);
	fixture->wanted.at[1].is_late = true;
	copy(fixture);
	assert_true(has(fixture, fixture->pages, 16, 'a'));
	assert_true(snapshot_is_late(&fixture->snapshot, (uintptr_t)third, 16));
	assert_false(has(fixture, third, 16, 'c'));
	tracee_copy_late(&fixture->tracee, &fixture->snapshot, 1);
	assert_false(snapshot_read_late(&fixture->snapshot, (uintptr_t)third, bytes, 16));
	tracee_copy_late(&fixture->tracee, &fixture->snapshot, clock_monotonic_ns() + NS_PER_SEC);
	assert_true(snapshot_read_late(&fixture->snapshot, (uintptr_t)third, bytes, 16));
	assert_int_equal(bytes[15], 'c');
	assert_false(has(fixture, third, 16, 'c'));
}

/* Memory copied in the stop has an address in the second region, and that one in the fourth. */
TEST_WITH(struct fixture *fixture, tracee_wanted, only_what_something_leads_to_is_copied_late)
{
	uint64_t *words = (uint64_t *)(void *)(fixture->pages + 2 * fixture->page_bytes);
	const bool are_copied[] = {false, true, false, true};
	struct snapshot *snapshot = &fixture->snapshot;

	wanted_memory_add(&fixture->wanted, (uintptr_t)words, 24);
	for (uint64_t i = 0; i < ARRAY_SIZE(are_copied); i++) {
		wanted_memory_add(&fixture->wanted, (uintptr_t)&words[8 + 4 * i], 16);
		fixture->wanted.at[1 + i].is_late = true;
	}
	words[2] = (uintptr_t)&words[8 + 4];
	words[8 + 4 + 1] = (uintptr_t)&words[8 + 4 * 3 + 1];
	words[8 + 4 * 3] = (uintptr_t)&words[8 + 4];
	for (int leads = 0; leads < 2; leads++) {
		fixture->more.leads_to_late = leads;
		snapshot_clear(snapshot);
		copy(fixture);
		tracee_copy_late(&fixture->tracee, snapshot, clock_monotonic_ns() + NS_PER_SEC);
		for (uint64_t i = 0; i < ARRAY_SIZE(are_copied); i++) {
			uint64_t at = (uintptr_t)&words[8 + 4 * i];
			uint64_t word;

			assert_true(snapshot_is_late(snapshot, at, 16));
			assert_int_equal(snapshot_read_late(snapshot, at, &word, sizeof(word)),
					 are_copied[i] || !leads);
		}
	}
	/* Nothing leads to any of them. */
	words[2] = 0;
	snapshot_clear(snapshot);
	copy(fixture);
	tracee_copy_late(&fixture->tracee, snapshot, clock_monotonic_ns() + NS_PER_SEC);
	assert_false(snapshot_read_late(snapshot, (uintptr_t)&words[8 + 4], words, 8));
}

/* One that has gone since costs none of those after it, nor one that is cut short. */
TEST_WITH(struct fixture *fixture, tracee_wanted, holes_cost_no_other_late_memory)
{
	uint8_t *second = fixture->pages + fixture->page_bytes;
	uint8_t *third = second + fixture->page_bytes;
	uint8_t bytes[16];

	assert_ptr_equal(mmap(second, fixture->page_bytes, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 second);
	wanted_memory_add(&fixture->wanted, (uintptr_t)fixture->pages, 16);
	wanted_memory_add(&fixture->wanted, (uintptr_t)second - 8, 16);
	wanted_memory_add(&fixture->wanted, (uintptr_t)second + 64, 16);
	wanted_memory_add(&fixture->wanted, (uintptr_t)third, 16);
	for (size_t i = 0; i < fixture->wanted.nr; i++)
		fixture->wanted.at[i].is_late = true;
	copy(fixture);
	munmap(second, fixture->page_bytes);
	tracee_copy_late(&fixture->tracee, &fixture->snapshot, clock_monotonic_ns() + NS_PER_SEC);
	assert_true(snapshot_read_late(&fixture->snapshot, (uintptr_t)fixture->pages, bytes, 16));
	assert_true(snapshot_read_late(&fixture->snapshot, (uintptr_t)third, bytes, 16));
	assert_int_equal(bytes[15], 'c');
	assert_false(snapshot_read_late(&fixture->snapshot, (uintptr_t)second - 8, bytes, 16));
	assert_false(snapshot_read_late(&fixture->snapshot, (uintptr_t)second + 64, bytes, 16));
}

/* Memory that was there, and is gone by the second copy. */
TEST_WITH(struct fixture *fixture, tracee_wanted, memory_may_go)
{
	const uint8_t *third = fixture->pages + 2 * fixture->page_bytes;

	wanted_memory_add(&fixture->wanted, (uintptr_t)fixture->pages, 16);
	wanted_memory_add(&fixture->wanted, (uintptr_t)third, 16);
	copy(fixture);
	assert_true(has(fixture, fixture->pages, 16, 'a'));
	assert_int_equal(munmap(fixture->pages, fixture->page_bytes), 0);
	snapshot_clear(&fixture->snapshot);
	copy(fixture);
	assert_false(has(fixture, fixture->pages, 16, 'a'));
	assert_true(has(fixture, third, 16, 'c'));
}

static uint64_t rehearsed_from; /* 0: no stack was */

static bool see_stack(const void *facts, uint64_t subject, const struct snapshot *snapshot,
		      struct wanted_memory *missing)
{
	(void)facts;
	(void)subject;
	(void)missing;
	rehearsed_from = snapshot->regions[0].kind == REGION_STACK ? snapshot->regions[0].start : 0;
	return false;
}

/* A thread fetches back what it writes to, if we have read that: what is near its stack pointer. */
TEST_WITH(struct fixture *fixture, tracee_wanted, a_rehearsal_has_the_stack_where_that_is_needed)
{
	const struct {
		uint64_t depth, from; /* from the end of the stack; 0: none of it */
		bool needs_stack;
	} cases[] = {{512, 0, false}, {512, 1536, true}, {3072, 1024, false}, {3072, 4096, true}};
	uint64_t end = (uintptr_t)fixture->pages + fixture->page_bytes;
	struct snapshot *snapshot = &fixture->snapshot;

	wanted_memory_add(&fixture->wanted, (uintptr_t)fixture->pages, 16);
	fixture->more.find = see_stack;
	fixture->more.subject = 1;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		fixture->more.needs_stack = cases[i].needs_stack;
		tracee_set_wanted(&fixture->tracee, &fixture->wanted, &fixture->more);
		snapshot_clear(snapshot);
		regs_set(&snapshot->regs, arch_regs(snapshot->arch)->sp, end - cases[i].depth);
		tracee_copy_stacks(&fixture->tracee, 4096, snapshot);
		if (fixture->tracee.maps_are_slow)
			skip(); /* no stack is rehearsed */
		tracee_rehearse(&fixture->tracee, snapshot);
		assert_int_equal(rehearsed_from, cases[i].from ? end - cases[i].from : 0);
	}
}

/* Words that lead on changed since the last sample: the visit copies all that they lead to at once.
 */

TEST_WITH(struct fixture *fixture, tracee_wanted, a_rehearsal_finds_what_a_visit_copies)
{
	uint64_t *words = (uint64_t *)(void *)fixture->pages;
	struct snapshot *snapshot = &fixture->snapshot;

	words[0] = (uintptr_t)&words[400];
	words[400] = (uintptr_t)&words[20];
	words[20] = 0;
	fixture->more.find = find_next;
	fixture->more.subject = (uintptr_t)words;
	fixture->more.facts[0] = 7;
	wanted_memory_add(&fixture->wanted, (uintptr_t)words, 8);
	tracee_set_wanted(&fixture->tracee, &fixture->wanted, &fixture->more);
	tracee_rehearse(&fixture->tracee, snapshot);
	snapshot_clear(snapshot);
	assert_non_null(snapshot_add_region(snapshot, (uintptr_t)&words[1], 8));
	assert_int_equal(tracee_read_with_wanted(&fixture->tracee, snapshot), 8);
	assert_int_equal(snapshot->nr_regions, 4);
	assert_true(snapshot_has_any(snapshot, (uintptr_t)&words[400], 8));
	assert_true(snapshot_has_any(snapshot, (uintptr_t)&words[20], 8));
	/* What was rehearsed is of that visit alone. */
	assert_true(fixture->tracee.ahead->nr_regions > 0);
	tracee_set_wanted(&fixture->tracee, &fixture->wanted, &fixture->more);
	snapshot_clear(snapshot);
	assert_non_null(snapshot_add_region(snapshot, (uintptr_t)&words[1], 8));
	tracee_read_with_wanted(&fixture->tracee, snapshot);
	assert_false(snapshot_has_any(snapshot, (uintptr_t)&words[400], 8));
}
