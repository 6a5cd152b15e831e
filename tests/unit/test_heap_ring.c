// SPDX-License-Identifier: GPL-2.0-or-later
/* The reader of the ring, with any writer. */
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/address.h"
#include "base/clock.h"
#include "heap/heap_record.h"
#include "heap/heap_ring.h"
#include "snapshot/snapshot.h"
#include "tests/unit/unit.h"

/* The kind that most records of a sample have, and its layout. */
#define FLAGS (HEAP_HAS_SIZE | HEAP_HAS_TIME | HEAP_HAS_NAME | HEAP_HAS_CALLER)

struct written {
	_Alignas(HEAP_RECORD_ALIGNMENT) struct heap_header header;
	uint64_t pointer, size, time;
	struct heap_name name;
	struct heap_caller caller;
};

#define RECORD_BYTES sizeof(struct written)

struct bench {
	struct heap_shared *shared;
	struct heap_ring ring;
	int file; /* with --mem=all */
};

static void begin(struct bench *bench, uint64_t at)
{
	bench->shared = aligned_alloc(4096, sizeof(*bench->shared));
	assert_non_null(bench->shared);
	memset(bench->shared, 0, sizeof(*bench->shared));
	bench->shared->head = bench->shared->tail = at;
	heap_ring_init(&bench->ring, bench->shared, &(const struct heap_rules){.is_all = 0});
}

static void end(struct bench *bench)
{
	free(bench->shared);
}

static struct written *reserve(struct bench *bench, uint64_t nr_bytes, uint64_t *position)
{
	uint8_t *place = &bench->ring.bytes[bench->shared->head % bench->ring.nr_bytes];

	*position = bench->shared->head;
	bench->shared->head += nr_bytes;
	return (struct written *)(void *)place;
}

static void add(struct bench *bench, uint64_t pointer)
{
	uint64_t position;
	struct written *record = reserve(bench, RECORD_BYTES, &position);

	*record = (struct written){.header = {.commit = heap_commit_word(position),
					      .kind = HEAP_RECORD_ALLOCATION | FLAGS},
				   .pointer = pointer,
				   .size = 100,
				   .name = {33, 34},
				   .caller = {.mean = 512, .pc = 16, .kept = {0, 12}}};
}

static void assert_next(struct bench *bench, uint64_t now_ns, uint64_t pointer)
{
	struct heap_record record;

	assert_true(heap_ring_next(&bench->ring, now_ns, &record));
	assert_int_equal(record.pointer, pointer);
}

static void assert_none(struct bench *bench, uint64_t now_ns)
{
	struct heap_record record;

	assert_false(heap_ring_next(&bench->ring, now_ns, &record));
}

TEST(ring, records_come_in_order_and_free_their_room)
{
	static const uint8_t kept[] = HEAP_KEPT_COLUMNS;
	struct bench bench;
	struct heap_record record;

	begin(&bench, 0);
	add(&bench, 1);
	add(&bench, 2);
	assert_next(&bench, 1, 1);
	assert_int_equal(bench.shared->tail, 0); /* its stack may still be used */
	assert_true(heap_ring_next(&bench.ring, 1, &record));
	assert_int_equal(record.size, 100);
	assert_int_equal(record.pid, 33);
	assert_int_equal(record.tid, 34);
	assert_int_equal(record.mean, 512);
	assert_int_equal(record.regs.value[arch_regs(arch_native())->pc], 16);
	assert_int_equal(record.regs.value[kept[1]], 12);
	assert_none(&bench, 1); /* then all of it is released at once */
	assert_int_equal(bench.shared->tail, bench.shared->head);
	end(&bench);
}

TEST(ring, uncompleted_records_are_skipped_after_a_second)
{
	struct bench bench;
	uint64_t position;

	begin(&bench, 64);
	reserve(&bench, RECORD_BYTES, &position);
	add(&bench, 2);
	assert_none(&bench, NS_PER_SEC);
	assert_none(&bench, 2 * NS_PER_SEC - 1);
	assert_next(&bench, 2 * NS_PER_SEC, 2);
	assert_int_equal(bench.ring.nr_lost, 1);
	/* A record with none after it. */
	reserve(&bench, RECORD_BYTES, &position);
	assert_none(&bench, 3 * NS_PER_SEC);
	assert_none(&bench, 5 * NS_PER_SEC);
	assert_int_equal(bench.ring.nr_lost, 2);
	add(&bench, 3);
	assert_next(&bench, 5 * NS_PER_SEC, 3);
	end(&bench);
}

TEST(ring, goes_around_its_end)
{
	struct bench bench;
	uint64_t position;
	struct written *skip;

	begin(&bench, 3 * HEAP_RING_BYTES - HEAP_RECORD_ALIGNMENT);
	skip = reserve(&bench, HEAP_RECORD_ALIGNMENT, &position);
	skip->pointer = HEAP_RECORD_ALIGNMENT;
	skip->header = (struct heap_header){.commit = heap_commit_word(position),
					    .kind = HEAP_RECORD_SKIP};
	add(&bench, 7);
	assert_next(&bench, 1, 7);
	assert_none(&bench, 1);
	end(&bench);
}

/* The target may write anything: it is skipped, and nothing outside of the ring is read. */
TEST(ring, nonsense_is_skipped)
{
	static const struct written nonsense[] = {
		{.header.function = HEAP_FUNCTION_COUNT},
		{.header.kind = HEAP_RECORD_SKIP},
		{.header.kind = HEAP_RECORD_SKIP, .pointer = HEAP_RECORD_ALIGNMENT},
		{.header.kind = HEAP_RECORD_SKIP, .pointer = 4 * RECORD_BYTES}, /* reserved later */
		{.header.kind = HEAP_RECORD_SKIP, .pointer = UINT64_MAX},
		{.header.kind = FLAGS, .caller.nr_stack_bytes = 2 * RECORD_BYTES},
		{.header.kind = FLAGS, .caller.nr_stack_bytes = 4 * RECORD_BYTES},
		{.header.kind = FLAGS, .caller.nr_stack_bytes = UINT32_MAX},
		{.header.kind = FLAGS, .caller.nr_script_bytes = 2 * RECORD_BYTES},
		{.header.kind = FLAGS, .caller.nr_script_bytes = UINT32_MAX},
	};

	for (size_t i = 0; i < sizeof(nonsense) / sizeof(*nonsense); i++) {
		struct bench bench;
		uint64_t position;
		struct written *record;

		begin(&bench, HEAP_RING_BYTES - 4 * RECORD_BYTES);
		record = reserve(&bench, RECORD_BYTES, &position);
		*record = nonsense[i];
		record->header.commit = heap_commit_word(position);
		add(&bench, 5);
		assert_next(&bench, 1, 5);
		assert_int_equal(bench.ring.nr_refused, 1);
		end(&bench);
	}
}

/* Records that no program can make. */
TEST(ring, impossible_records_are_skipped)
{
	const struct written good = {
		.header.kind = FLAGS, .pointer = 0x1000, .size = 8, .caller.mean = 512};
	struct written bad[11];
	size_t nr = 0;
	struct bench bench;

	begin(&bench, 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		bad[i] = good;
	bad[nr++].pointer = 0;
	bad[nr++].size = UINT64_MAX;
	bad[nr].pointer = UINT64_MAX - 8;
	bad[nr++].size = 16;
	bad[nr++].caller.mean = 0;
	bad[nr++].caller.mean = HEAP_MEAN_MAX + 1;
	bad[nr++].header.function = HEAP_MAP; /* all of these are recorded */
	bad[nr++].time = 1;
	bad[nr++].time = clock_monotonic_ns() + 60 * NS_PER_SEC;
	bad[nr++].time = UINT64_MAX;
	bad[nr].pointer = 0;
	bad[nr++].header.kind = HEAP_RECORD_KEPT | FLAGS;
	bad[nr++].header.kind = HEAP_HAS_SIZE; /* its mean is not there */
	assert_int_equal(nr, sizeof(bad) / sizeof(*bad));
	for (size_t i = 0; i < nr; i++) {
		uint64_t position;
		struct written *record = reserve(&bench, RECORD_BYTES, &position);

		*record = bad[i];
		record->header.commit = heap_commit_word(position);
		add(&bench, 5);
		assert_next(&bench, clock_monotonic_ns(), 5);
		assert_int_equal(bench.ring.nr_refused, i + 1);
	}
	assert_int_equal(bench.ring.nr_lost, 0);
	end(&bench);
}

/* More bytes of a stack, or of an interpreter, than are ever copied, though there is room. */
TEST(ring, stacks_are_bounded)
{
	struct bench bench;

	begin(&bench, 0);
	for (unsigned int i = 0; i < 2; i++) {
		uint64_t position;
		struct written *record =
			reserve(&bench, RECORD_BYTES + 2 * HEAP_STACK_MAX, &position);

		record->header =
			(struct heap_header){.commit = heap_commit_word(position), .kind = FLAGS};
		record->pointer = record->caller.mean = 16;
		record->caller.nr_stack_bytes = i == 0 ? HEAP_STACK_MAX + 1 : 0;
		record->caller.nr_script_bytes = i == 1 ? HEAP_SCRIPT_MAX + 1 : 0;
		add(&bench, 5);
		assert_next(&bench, 1, 5);
		assert_int_equal(bench.ring.nr_refused, i + 1);
	}
	end(&bench);
}

/* Whatever sizes the pieces of an interpreter's memory have. */
TEST(ring, pieces_are_within_their_record)
{
	const struct heap_piece sizes[] = {{0x1000, 8}, {0x2000, 16}, {0x3000, 9}};
	const struct heap_piece others[] = {
		{0x3000, 17}, {0x3000, UINT64_MAX}, {UINT64_MAX - 4, 8}};
	uint8_t bytes[3 * sizeof(struct heap_piece) + 8 + 16 + 9];
	struct heap_record record = {.script = bytes, .nr_script_bytes = sizeof(bytes)};
	struct snapshot snapshot = {0};
	uint64_t word;

	memset(bytes, 7, sizeof(bytes));
	memcpy(bytes, &sizes[0], sizeof(sizes[0]));
	memcpy(bytes + 24, &sizes[1], sizeof(sizes[1]));
	memcpy(bytes + 56, &sizes[2], sizeof(sizes[2]));
	heap_record_fill_snapshot(&record, &snapshot);
	assert_int_equal(heap_record_script_state(&record), 0x1000);
	assert_true(snapshot_read_any(&snapshot, 0x1000, &word, 8));
	assert_true(snapshot_read_any(&snapshot, 0x2008, &word, 8));
	assert_true(snapshot_read_any(&snapshot, 0x3001, &word, 8));
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		memcpy(bytes + 56, &others[i], sizeof(others[i]));
		heap_record_fill_snapshot(&record, &snapshot);
		assert_true(snapshot_read_any(&snapshot, 0x2008, &word, 8));
		assert_false(snapshot_read_any(&snapshot, 0x3000, &word, 8));
	}
	for (record.nr_script_bytes = 0; record.nr_script_bytes < 24; record.nr_script_bytes++) {
		heap_record_fill_snapshot(&record, &snapshot);
		assert_false(snapshot_read_any(&snapshot, 0x1000, &word, 8));
		assert_int_equal(heap_record_script_state(&record), 0);
	}
	snapshot_release(&snapshot);
}

/* However large the head is. */
TEST(ring, reads_at_most_one_ring_at_a_time)
{
	struct bench bench;

	begin(&bench, 0);
	for (uint64_t at = 0; at < HEAP_RING_BYTES; at += HEAP_RECORD_ALIGNMENT) {
		struct heap_header header = {.commit = heap_commit_word(at), .function = 99};

		memcpy(&bench.ring.bytes[at], &header, sizeof(header));
	}
	bench.shared->head = HEAP_RING_BYTES;
	assert_none(&bench, 1);
	assert_int_equal(bench.ring.nr_refused, HEAP_RING_BYTES / HEAP_RECORD_ALIGNMENT);
	bench.shared->head = UINT64_MAX - 15;
	assert_int_equal(heap_ring_visit(&bench.ring), 2 * HEAP_RING_BYTES);
	end(&bench);
}

/* -- with --mem=all -- */

#define ALL_BYTES (sizeof(struct heap_all) + sizeof(struct heap_shared))

static void begin_all(struct bench *bench, uint64_t at)
{
	struct heap_all *all;

	bench->file = memfd_create("ring", MFD_CLOEXEC);
	assert_int_equal(ftruncate(bench->file, ALL_BYTES), 0);
	all = mmap(NULL, ALL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, bench->file, 0);
	assert_true(all != MAP_FAILED);
	bench->shared = (struct heap_shared *)(void *)(all + 1);
	bench->shared->head = bench->shared->tail = at;
	heap_ring_init(&bench->ring, bench->shared, &(const struct heap_rules){.is_all = 1});
	all->names[3] = (struct heap_name){.pid = 33, .tid = 34};
}

static void end_all(struct bench *bench)
{
	munmap(bench->ring.all, ALL_BYTES);
	close(bench->file);
}

/* The memory that it takes. */
static uint64_t bytes_of_file(const struct bench *bench)
{
	struct stat stat;

	assert_int_equal(fstat(bench->file, &stat), 0);
	return (uint64_t)stat.st_blocks * 512;
}

static void add_brief(struct bench *bench, uint32_t kind, const uint64_t *words)
{
	uint64_t position;
	uint64_t nr_bytes = heap_record_bytes(kind, 0);
	uint8_t *place = (uint8_t *)reserve(bench, nr_bytes, &position);
	struct heap_header header = {.commit = heap_commit_word(position),
				     .thread = 3,
				     .kind = (uint8_t)kind,
				     .function = HEAP_REALLOC};

	memcpy(place, &header, sizeof(header));
	memcpy(place + sizeof(header), words, nr_bytes - sizeof(header));
}

TEST(ring, brief_records_have_the_members_of_their_flags)
{
	struct bench bench;
	struct heap_record record;
	uint64_t first_ns;

	begin_all(&bench, 32);
	bench.ring.begun_ns = 0;
	add_brief(&bench,
		  HEAP_RECORD_ALLOCATION | HEAP_HAS_SIZE | HEAP_HAS_SIGNATURE | HEAP_HAS_OLD |
			  HEAP_HAS_TIME,
		  (uint64_t[]){0x1000, 100, 77, 0x2000, 5000});
	add_brief(&bench, HEAP_RECORD_FREE, (uint64_t[]){0x1000});
	add_brief(&bench, HEAP_RECORD_FREE | HEAP_HAS_SIZE, (uint64_t[]){0x3000, 9, 9});
	add_brief(&bench, HEAP_RECORD_KEPT | HEAP_HAS_TIME, (uint64_t[]){0x3000, 7000, 9});

	assert_true(heap_ring_next(&bench.ring, 1, &record));
	assert_int_equal(record.kind, HEAP_RECORD_ALLOCATION);
	assert_int_equal(record.function, HEAP_REALLOC);
	assert_int_equal(record.pid, 33);
	assert_int_equal(record.tid, 34);
	assert_int_equal(record.pointer, 0x1000);
	assert_int_equal(record.size, 100);
	assert_int_equal(record.signature, 77);
	assert_int_equal(record.old, 0x2000);
	assert_true(record.replaces);
	assert_false(record.has_stack);
	first_ns = record.time_ns;
	assert_int_equal(first_ns, 5000); /* its clock is CLOCK_MONOTONIC */

	assert_true(heap_ring_next(&bench.ring, 1, &record));
	assert_int_equal(record.kind, HEAP_RECORD_FREE);
	assert_int_equal(record.size, 0);
	assert_int_equal(record.old, 0);
	assert_false(record.replaces);
	assert_int_equal(record.time_ns, first_ns); /* it has none of its own */
	assert_true(heap_ring_next(&bench.ring, 1, &record));
	assert_int_equal(record.size, 9);
	assert_true(heap_ring_next(&bench.ring, 1, &record));
	assert_int_equal(record.kind, HEAP_RECORD_KEPT);
	assert_int_equal(record.time_ns, 7000);
	assert_none(&bench, 1);
	assert_int_equal(bench.shared->tail, bench.shared->head);
	end_all(&bench);
}

#define SHORT_BLOCK (HEAP_RECORD_ALLOCATION | HEAP_HAS_SIZE | HEAP_HAS_SIGNATURE)

TEST(ring, short_records_are_read_up_to_one_that_is_not)
{
	struct bench bench;
	struct heap_short_record found[4];
	struct heap_record record;
	struct written *other;

	begin_all(&bench, 32);
	add_brief(&bench, SHORT_BLOCK, (uint64_t[]){0x1000, 100, 77});
	add_brief(&bench, HEAP_RECORD_FREE, (uint64_t[]){0x1000});
	add_brief(&bench, SHORT_BLOCK, (uint64_t[]){0x2000, 200, 78});
	add_brief(&bench, SHORT_BLOCK, (uint64_t[]){0x3000, 300, 79});
	add_brief(&bench, HEAP_RECORD_FREE | HEAP_HAS_SIZE, (uint64_t[]){0x3000, 9, 9});
	add_brief(&bench, SHORT_BLOCK, (uint64_t[]){0x4000, 400, 80});

	/* No record was read yet, so its thread is not known. */
	assert_int_equal(heap_ring_next_short(&bench.ring, bench.shared->head, found, 4), 0);
	assert_true(heap_ring_next(&bench.ring, 1, &record));
	assert_int_equal(record.signature, 77);
	assert_int_equal(heap_ring_next_short(&bench.ring, bench.ring.next, found, 4), 0);
	assert_int_equal(heap_ring_next_short(&bench.ring, bench.shared->head, found, 2), 2);
	assert_int_equal(found[0].kind, HEAP_RECORD_FREE);
	assert_int_equal(found[0].pointer, 0x1000);
	assert_int_equal(found[0].size, 0);
	assert_int_equal(found[0].signature, 0);
	assert_int_equal(found[1].kind, HEAP_RECORD_ALLOCATION);
	assert_int_equal(found[1].function, HEAP_REALLOC);
	assert_int_equal(found[1].pointer, 0x2000);
	assert_int_equal(found[1].size, 200);
	assert_int_equal(found[1].signature, 78);
	assert_int_equal(heap_ring_next_short(&bench.ring, bench.shared->head, found, 4), 1);
	assert_int_equal(found[0].pointer, 0x3000);
	assert_int_equal(heap_ring_next_short(&bench.ring, bench.shared->head, found, 4), 0);
	assert_true(heap_ring_next(&bench.ring, 1, &record));
	assert_int_equal(record.size, 9);
	/* It would not fit into what is to be read. */
	assert_int_equal(heap_ring_next_short(&bench.ring, bench.shared->head - 16, found, 4), 0);
	assert_int_equal(heap_ring_next_short(&bench.ring, bench.shared->head, found, 4), 1);
	assert_int_equal(found[0].pointer, 0x4000);

	/* Of another thread, of a mapping, impossible, or not complete. */
	for (int i = 0; i < 4; i++) {
		add_brief(&bench, SHORT_BLOCK, (uint64_t[]){0x5000, i == 2 ? UINT64_MAX : 500, 81});
		other = (struct written *)(void *)&bench.ring
				.bytes[(bench.shared->head - 32) % bench.ring.nr_bytes];
		other->header.thread = i == 0 ? 4 : 3;
		other->header.function = i == 1 ? HEAP_MAP : HEAP_MALLOC;
		other->header.commit ^= i == 3;
		assert_int_equal(heap_ring_next_short(&bench.ring, bench.shared->head, found, 4),
				 0);
		assert_int_equal(heap_ring_next(&bench.ring, 1, &record), i < 2);
		if (i == 0) {
			add_brief(&bench, HEAP_RECORD_FREE, (uint64_t[]){1});
			assert_next(&bench, 1, 1);
		}
	}
	assert_int_equal(bench.ring.nr_refused, 1);
	end_all(&bench);
}

/* A writer may have come around to the page up to which room was released. */
TEST(ring, memory_of_what_was_read_is_given_back)
{
	struct bench bench;
	uint64_t nr = 6 * (HEAP_ALL_PART_BYTES / 16) / HEAP_RECORD_ALIGNMENT;
	uint64_t before;
	uint8_t *just_released;

	begin_all(&bench, HEAP_ALL_PART_BYTES + 3 * HEAP_RECORD_ALIGNMENT);
	before = bytes_of_file(&bench);
	for (uint64_t i = 0; i < nr; i++)
		add_brief(&bench, HEAP_RECORD_FREE, (uint64_t[]){i + 1});
	assert_true(bytes_of_file(&bench) - before >= nr * HEAP_RECORD_ALIGNMENT);
	for (uint64_t i = 0; i < nr / 2; i++)
		assert_next(&bench, 1, i + 1);
	just_released =
		&bench.ring
			 .bytes[(bench.shared->tail - HEAP_RECORD_ALIGNMENT) % bench.ring.nr_bytes];
	memset(just_released, 42, HEAP_RECORD_ALIGNMENT);
	for (uint64_t i = nr / 2; i < nr; i++)
		assert_next(&bench, 1, i + 1);
	assert_none(&bench, 1);
	assert_int_equal(just_released[0], 42);
	/* Of each release the page remains in which it ended. */
	assert_in_range(bytes_of_file(&bench), before, before + 16 * page_bytes());
	end_all(&bench);
}

TEST(ring, brief_nonsense_is_skipped)
{
	struct bench bench;
	uint64_t position;
	struct written *record;

	/* Longer than the rest of the ring. */
	begin_all(&bench, HEAP_ALL_RING_BYTES - HEAP_RECORD_ALIGNMENT);
	record = reserve(&bench, HEAP_RECORD_ALIGNMENT, &position);
	record->header = (struct heap_header){.commit = heap_commit_word(position),
					      .kind = HEAP_HAS_SIZE | HEAP_HAS_SIGNATURE};
	add_brief(&bench, HEAP_RECORD_FREE, (uint64_t[]){1});
	assert_next(&bench, 1, 1);
	add_brief(&bench, HEAP_RECORD_SKIP, (uint64_t[]){2});
	add_brief(&bench, HEAP_RECORD_FREE, (uint64_t[]){3});
	assert_next(&bench, 1, 3);
	assert_int_equal(bench.ring.nr_refused, 2);
	/* Longer than the reserved bytes. */
	add_brief(&bench, HEAP_RECORD_FREE | HEAP_HAS_SIZE, (uint64_t[]){4, 4, 4});
	bench.shared->head -= HEAP_RECORD_ALIGNMENT;
	assert_none(&bench, 1);
	assert_int_equal(bench.ring.nr_refused, 3);
	/* Its caller alone is longer than the reserved bytes. */
	add_brief(&bench, HEAP_RECORD_FREE, (uint64_t[]){5});
	record = (struct written *)(void *)&bench.ring.bytes[bench.ring.head % bench.ring.nr_bytes];
	record->header.kind |= HEAP_HAS_CALLER;
	assert_none(&bench, 1);
	assert_int_equal(bench.ring.nr_refused, 4);
	end_all(&bench);
}

TEST(ring, wild_head_is_not_followed)
{
	struct bench bench;

	begin(&bench, 0);
	bench.shared->head = UINT64_C(1) << 62;
	assert_none(&bench, 1);
	assert_int_equal(bench.ring.nr_refused, 1);
	add(&bench, 4);
	assert_next(&bench, 1, 4);
	bench.shared->head += 1; /* no record can end there */
	assert_none(&bench, 1);
	assert_int_equal(bench.ring.nr_refused, 2);
	end(&bench);
}

TEST(ring, totals_follow_from_countdowns)
{
	struct bench bench;
	struct heap_totals totals;

	begin(&bench, 0);
	/* 1000 bytes were given, of which three allocations took 100 bytes in all. */
	bench.shared->slots[0].given_bytes = 1000;
	bench.shared->slots[0].countdown = ((int64_t)900 << HEAP_COUNT_LOG2) - 3;
	/* Below zero, while a thread is inside. */
	bench.shared->slots[7].given_bytes = 50;
	bench.shared->slots[7].nr_allocations = 10;
	bench.shared->slots[7].countdown = -((int64_t)20 << HEAP_COUNT_LOG2) - 1 - HEAP_INSIDE;
	/* Pages without a used slot are not looked at. */
	bench.shared->slots[HEAP_SLOTS - 1].given_bytes = 4000;
	bench.shared->used_pages = 1;
	/* Only claimed slots are added up, and a process may claim any number. */
	bench.shared->own_slots[1].slot.given_bytes = 500;
	bench.shared->own_slots[HEAP_OWN_SLOTS - 1].slot.given_bytes = 2000;
	bench.shared->nr_claimed = 2;
	bench.shared->lost.nr_dropped = 4;
	heap_ring_totals(&bench.ring, &totals);
	assert_int_equal(totals.allocated_bytes, 100 + 70 + 500);
	assert_int_equal(totals.nr_allocations, 3 + 11);
	assert_int_equal(totals.nr_dropped, 4);
	bench.shared->nr_claimed = bench.shared->used_pages = UINT64_MAX;
	heap_ring_totals(&bench.ring, &totals);
	assert_int_equal(totals.allocated_bytes, 100 + 70 + 500 + 2000 + 4000);
	end(&bench);
}
