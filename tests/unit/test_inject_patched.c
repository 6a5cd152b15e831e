// SPDX-License-Identifier: GPL-2.0-or-later
/* The patches of a process, in pages of this one that represent its code. */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "inject/patched.h"
#include "inject/patched_look.h"
#include "inject/stopped.h"
#include "proc/target_memory.h"
#include "tests/unit/unit.h"

#define PAGES_BYTES 12288
#define OLD	    0x90
#define NEW	    0xcc

/* Three pages, and patches in the first, across two, and near the end of the last. */
struct fixture {
	uint8_t *pages;
	struct target_memory *memory;
	struct patch patches[3];
	struct patch_table_maker maker;
	struct patched patched;
	struct stopped stopped; /* without threads */
};

static void init(struct patched *patched, struct patch_table_maker *maker,
		 const struct patch *patches, size_t nr)
{
	struct patch_table table;

	*maker = (struct patch_table_maker){.nr = 0};
	for (size_t i = 0; i < nr; i++)
		assert_true(patch_table_add(maker, &patches[i]));
	table = patch_table_made(maker);
	patched_init(patched, &table);
}

static int set_up(void **state)
{
	static const size_t offsets[] = {64, 4094, 12280};
	static struct fixture fixture;

	fixture = (struct fixture){.memory = target_memory_open(getpid(), NULL)};
	fixture.pages =
		mmap(NULL, PAGES_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(fixture.pages, MAP_FAILED);
	memset(fixture.pages, OLD, PAGES_BYTES);
	for (size_t i = 0; i < 3; i++) {
		struct patch *patch = &fixture.patches[i];

		patch->address = (uint64_t)(uintptr_t)fixture.pages + offsets[i];
		patch->nr_bytes = 5;
		memset(patch->old, OLD, sizeof(patch->old));
		memset(patch->new, NEW, sizeof(patch->new));
		patch->thunk = 4096 + 64 * i;
		patch->nr_thunk_bytes = 32;
	}
	init(&fixture.patched, &fixture.maker, fixture.patches, 3);
	*state = &fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	patched_release(&fixture->patched);
	patch_table_maker_release(&fixture->maker);
	munmap(fixture->pages, PAGES_BYTES);
	target_memory_close(fixture->memory);
	return 0;
}

static const uint8_t ours[3] = {PATCHED_OURS, PATCHED_OURS, PATCHED_OURS};

static size_t nr_new(const struct fixture *fixture)
{
	size_t nr = 0;

	for (size_t i = 0; i < PAGES_BYTES; i++)
		nr += fixture->pages[i] == NEW;
	return nr;
}

/* A pointer between the patches of code, in data that the program may change. */
TEST_WITH(struct fixture *fixture, patched, a_pointer_is_taken_back_only_if_it_is_ours)
{
	const uint64_t old = 0x90909090, new = 0xcccccccc, other = 0x1234;
	uint64_t *word = (uint64_t *)(void *)(fixture->pages + 128);
	struct patch patches[] = {fixture->patches[0], {.nr_bytes = 0}, fixture->patches[1]};
	uint8_t states[3];
	struct patch_table_maker maker;
	struct patched patched;
	bool is_writable;

	patch_word(&patches[1], (uint64_t)(uintptr_t)word, old, new);
	init(&patched, &maker, patches, 3);
	assert_int_equal(patched.thunk_start, patches[0].thunk);
	assert_int_equal(patched.start, patches[0].address);
	/* Not the pointer that is to be replaced: nothing is done. */
	*word = other;
	assert_false(patched_prepare(&patched, fixture->memory));
	assert_false(patched_apply(&patched, &fixture->stopped, fixture->memory));
	assert_int_equal(nr_new(fixture), 0);
	*word = old;
	assert_true(patched_prepare(&patched, fixture->memory));
	assert_true(patched_apply(&patched, &fixture->stopped, fixture->memory));
	assert_int_equal(*word, new);
	/* The program sets its own: that is no change of code. */
	*word = other;
	assert_true(patched_look(&patched, getpid(), fixture->memory, states, &is_writable));
	assert_int_equal(states[1], PATCHED_REPLACED);
	assert_true(is_writable); /* of the code beside it, here */
	assert_true(patched_undo(&patched, &fixture->stopped, fixture->memory, ours));
	assert_int_equal(*word, other);
	*word = old;
	assert_int_equal(nr_new(fixture), 0);
	patched_release(&patched);
	patch_table_maker_release(&maker);
	/* Data alone is always writable, and is not asked about. */
	init(&patched, &maker, &patches[1], 1);
	assert_true(patched_look(&patched, getpid(), fixture->memory, states, &is_writable));
	assert_false(is_writable);
	patched_release(&patched);
	patch_table_maker_release(&maker);
}

#if defined(__x86_64__)

/* A uprobe between patches: the kernel sets and removes it at any moment. */
struct breakpoint {
	volatile uint8_t *at;
	volatile bool is_ended;
	unsigned int nr_came_back;
};

static void *set_and_remove(void *context)
{
	struct breakpoint *breakpoint = context;

	while (!breakpoint->is_ended) {
		*breakpoint->at = 0xcc;
		for (volatile int i = 0; i < 100; i++)
			;
		*breakpoint->at = OLD;
		for (volatile int i = 0; i < 2000; i++)
			;
		breakpoint->nr_came_back += *breakpoint->at != OLD;
	}
	return NULL;
}

/* The file has breakpoints there, too, if `nr_own` is not 0. */
static void assert_none_comes_back(struct fixture *fixture, size_t nr_own)
{
	struct patch patches[] = {fixture->patches[0], fixture->patches[0]};
	struct breakpoint breakpoint = {.at = fixture->pages + 1000};
	struct patch_table table;
	struct patch_table_maker maker;
	struct patched patched;
	pthread_t other;

	patches[1].address += 2000;
	patches[1].thunk += 64;
	init(&patched, &maker, patches, 2);
	patched_release(&patched);
	memset(fixture->pages + 1200, 0xcc, nr_own);
	patch_table_note(&maker, 0, patch_breakpoints_of(fixture->pages + 64 + 5, 2000 - 5));
	table = patch_table_made(&maker);
	patched_init(&patched, &table);
	assert_int_equal(pthread_create(&other, NULL, set_and_remove, &breakpoint), 0);
	for (int i = 0; i < 10000; i++) {
		assert_true(patched_apply(&patched, &fixture->stopped, fixture->memory));
		assert_true(patched_undo(&patched, &fixture->stopped, fixture->memory, ours));
	}
	breakpoint.is_ended = true;
	pthread_join(other, NULL);
	assert_int_equal(breakpoint.nr_came_back, 0);
	assert_int_equal(nr_new(fixture), nr_own);
	patched_release(&patched);
	patch_table_maker_release(&maker);
}

TEST_WITH(struct fixture *fixture, patched, writes_no_breakpoint_of_others_back)
{
	assert_none_comes_back(fixture, 0);
}

TEST_WITH(struct fixture *fixture, patched, tells_breakpoints_of_others_from_those_of_the_file)
{
	assert_none_comes_back(fixture, 7);
}

TEST(patched, sum_of_breakpoints_tells_their_places)
{
	uint8_t bytes[64] = {0};
	uint16_t sums[64];

	assert_int_equal(patch_breakpoints_of(bytes, sizeof(bytes)), 0);
	for (size_t i = 0; i < sizeof(bytes); i++) {
		bytes[i] = 0xcc;
		sums[i] = patch_breakpoints_of(bytes, sizeof(bytes));
		assert_int_not_equal(sums[i], 0);
		for (size_t k = 0; k < i; k++)
			assert_int_not_equal(sums[i], sums[k]);
	}
	memset(bytes, 0, sizeof(bytes));
	for (size_t i = 0; i < sizeof(bytes); i++) {
		bytes[i] = 0xcc;
		sums[i] = patch_breakpoints_of(bytes, sizeof(bytes));
		bytes[i] = 0;
		for (size_t k = 0; k < i; k++)
			assert_int_not_equal(sums[i], sums[k]);
	}
}

#endif

TEST_WITH(struct fixture *fixture, patched, applies_all_and_takes_them_back)
{
	assert_true(patched_apply(&fixture->patched, &fixture->stopped, fixture->memory));
	assert_int_equal(nr_new(fixture), 15);
	assert_int_equal(fixture->pages[4093], OLD);
	assert_int_equal(fixture->pages[4098], NEW);
	assert_int_equal(fixture->pages[4099], OLD);
	assert_true(patched_undo(&fixture->patched, &fixture->stopped, fixture->memory, ours));
	assert_int_equal(nr_new(fixture), 0);
}

/* Words in the pages of the patches, which are read and written beside them. */
TEST_WITH(struct fixture *fixture, patched, counts_itself_among_those_that_want_a_place)
{
	uint16_t *words = (uint16_t *)(void *)(fixture->pages + 2000);
	struct patch_table_maker maker;
	struct patch patches[3];
	struct patched patched;

	memcpy(patches, fixture->patches, sizeof(patches));
	for (int i = 0; i < 3; i++) {
		patches[i].kind = PATCH_SITE;
		patches[i].callee = (uint64_t)(uintptr_t)&words[i / 2];
	}
	words[0] = 3;
	words[1] = 0;
	init(&patched, &maker, patches, 3);
	for (int i = 0; i < 3; i++) {
		assert_true(patched_prepare(&patched, fixture->memory));
		assert_true(patched_apply(&patched, &fixture->stopped, fixture->memory));
		assert_int_equal(words[0], 5);
		assert_int_equal(words[1], 1);
		assert_true(patched_undo(&patched, &fixture->stopped, fixture->memory, ours));
		assert_int_equal(words[0], 5);
		patched_uncount(&patched, fixture->memory, ours);
		assert_int_equal(words[0], 3);
		assert_int_equal(words[1], 0);
	}
	/* Other code may have come there: not its word. */
	words[1] = 1;
	patched_uncount(&patched, fixture->memory,
			(const uint8_t[]){0, PATCHED_OTHER, PATCHED_REPLACED});
	assert_int_equal(words[0], 2);
	assert_int_equal(words[1], 0);
	words[0] = 3;
	/* One that cannot be counted, or written. */
	words[1] = UINT16_MAX;
	assert_false(patched_apply(&patched, &fixture->stopped, fixture->memory));
	assert_int_equal(words[0], 3);
	assert_int_equal(words[1], UINT16_MAX);
	words[1] = 7;
	munmap(fixture->pages + 8192, 4096);
	assert_false(patched_apply(&patched, &fixture->stopped, fixture->memory));
	assert_int_equal(words[0], 3);
	assert_int_equal(words[1], 7);
	patched_release(&patched);
	patch_table_maker_release(&maker);
}

/* One byte changes; the four after it are the program's, which other tools may have changed. */
TEST_WITH(struct fixture *fixture, patched, a_static_probe_is_taken_back_where_all_of_it_is_there)
{
	struct patch patch = fixture->patches[0];
	uint8_t *at = fixture->pages + 64;
	struct patch_table_maker maker;
	struct patched patched;

	patch.kind = PATCH_SITE;
	patch.nr_bytes = 1;
	patch.pads = 1;
	memset(patch.new, OLD, sizeof(patch.new));
	patch.new[0] = 0xe9;
	init(&patched, &maker, &patch, 1);
	assert_true(patched_apply(&patched, &fixture->stopped, fixture->memory));
	assert_memory_equal(at, "\xe9\x90\x90\x90\x90", 5);
	at[2] = 0xcc;
	assert_true(patched_undo(&patched, &fixture->stopped, fixture->memory, ours));
	assert_memory_equal(at, "\x90\x90\xcc\x90\x90", 5);
	assert_false(patched_apply(&patched, &fixture->stopped, fixture->memory));
	memcpy(at, "\xe9\x01\x02\x03\x04", 5);
	assert_true(patched_undo(&patched, &fixture->stopped, fixture->memory, ours));
	assert_memory_equal(at, "\xe9\x01\x02\x03\x04", 5);
	patched_release(&patched);
	patch_table_maker_release(&maker);
}

TEST_WITH(struct fixture *fixture, patched, applies_none_where_one_has_other_bytes)
{
	fixture->pages[12282] = 0x55;
	assert_false(patched_apply(&fixture->patched, &fixture->stopped, fixture->memory));
	assert_int_equal(nr_new(fixture), 0);
	assert_int_equal(fixture->pages[12282], 0x55);
}

TEST_WITH(struct fixture *fixture, patched, prepare_changes_nothing)
{
	assert_true(patched_prepare(&fixture->patched, fixture->memory));
	for (size_t i = 0; i < PAGES_BYTES; i++)
		assert_int_equal(fixture->pages[i], OLD);
	fixture->pages[4095] = 0x55;
	assert_false(patched_prepare(&fixture->patched, fixture->memory));
	assert_int_equal(fixture->pages[4095], 0x55);
}

/* Pages of a file are shared by all mappings; prepared pages of patches are not. */
TEST_WITH(struct fixture *fixture, patched, prepare_gives_the_process_its_own_pages)
{
	int fd = memfd_create("code", MFD_CLOEXEC);
	uint8_t changed = 0x11;

	assert_int_equal(write(fd, fixture->pages, PAGES_BYTES), PAGES_BYTES);
	assert_ptr_equal(mmap(fixture->pages, PAGES_BYTES, PROT_READ | PROT_EXEC,
			      MAP_PRIVATE | MAP_FIXED, fd, 0),
			 fixture->pages);
	assert_true(patched_prepare(&fixture->patched, fixture->memory));
	for (off_t at = 0; at < PAGES_BYTES; at += 4096)
		assert_int_equal(pwrite(fd, &changed, 1, at), 1);
	assert_int_equal(fixture->pages[0], OLD);
	assert_int_equal(fixture->pages[4096], OLD);
	assert_int_equal(fixture->pages[8192], OLD);
	close(fd);
}
