// SPDX-License-Identifier: GPL-2.0-or-later
/* Allocations, which the collector's thread reads itself, and messages that wait for them. */
#include <malloc.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/buf.h"
#include "collector/block_source.h"
#include "profile/heap.h"
#include "tests/unit/made_collector.h"

#define MS UINT64_C(1000000)

/* A source that brings some records, in rounds of its own. */
struct told {
	const struct block_record *records;
	size_t nr;
	size_t nr_taken;	 /* so far */
	size_t nr_at_once;	 /* records in one reading; 0: all */
	atomic_bool is_held;	 /* no round is complete */
	atomic_uint nr_readings; /* while it is held */
	enum process_end last_end;
	unsigned int nr_ends;
};

static enum blocks_read read_told(void *context, struct consumer *consumer, bool begins)
{
	struct told *told = context;
	size_t nr = told->nr - told->nr_taken;

	(void)begins;
	if (!consumer_has_begun(consumer, 0))
		return BLOCKS_NONE;
	if (told->is_held) {
		told->nr_readings++;
		return BLOCKS_WAIT;
	}
	if (told->nr_at_once && nr > told->nr_at_once)
		nr = told->nr_at_once;
	consumer_add_blocks(consumer, told->records + told->nr_taken, nr);
	told->nr_taken += nr;
	return told->nr_taken < told->nr ? BLOCKS_MORE : BLOCKS_NONE;
}

static void end_told(void *context, struct consumer *consumer, uint32_t process, uint64_t time_ns,
		     enum process_end how)
{
	struct told *told = context;

	(void)consumer;
	(void)process;
	(void)time_ns;
	told->last_end = how;
	told->nr_ends++;
}

static void start(struct made_collector *made, struct told *told)
{
	made_collector_start(
		made, &(struct collector_options){
			      .blocks = {.read = read_told, .end = end_told, .context = told}});
	made_publish(made, made_process(made, MADE_PID));
	made_publish(made, made_thread(made, MADE_PID));
}

static void end(struct made_collector *made)
{
	made_publish(made, made_thread_end(0, 0, 90 * MS, NULL));
	made_publish(made, made_process_end(0, 90 * MS));
	made_collector_finish(made);
}

static struct block_record made_block(enum block_event event, uint64_t address)
{
	return (struct block_record){.time_ns = 20 * MS,
				     .address = address,
				     .size_bytes = 100,
				     .mean_bytes = 1,
				     .tid = MADE_PID,
				     .event = (uint8_t)event};
}

/* A lost stack is recorded as lost. */
TEST(collector, stack_of_a_free_is_known_only_if_recorded)
{
	struct block_record records[] = {
		made_block(BLOCK_ALLOCATED, 0x1000),
		made_block(BLOCK_ALLOCATED, 0x2000),
		made_block(BLOCK_FREED, 0x1000),
		made_block(BLOCK_FREED, 0x2000),
	};
	struct told told = {.records = records, .nr = ARRAY_SIZE(records)};
	const struct profile_allocation *rows;
	struct made_collector made;

	records[3].has_stack = true;
	start(&made, &told);
	end(&made);
	rows = made.read->heap.allocations;
	assert_true(rows[0].freed_ns && rows[1].freed_ns);
	assert_int_equal(rows[0].freed_end, 0);
	assert_int_equal(rows[1].freed_end, STACK_END_NOT_TAKEN + 1);
	made_collector_free(&made);
}

/* The first thread is found later, the second never; what names neither is the main thread's. */
TEST(collector, blocks_are_of_the_thread_that_their_record_names)
{
	struct block_record records[] = {
		made_block(BLOCK_ALLOCATED, 0x1000), made_block(BLOCK_ALLOCATED, 0x2000),
		made_block(BLOCK_ALLOCATED, 0x3000), made_block(BLOCK_ALLOCATED, 0x4000),
		made_block(BLOCK_ALLOCATED, 0x5000),
	};
	static const pid_t tids[] = {MADE_PID, MADE_PID + 1, MADE_PID + 2, 0, -(MADE_PID + 1)};
	struct told told = {.records = records, .nr = ARRAY_SIZE(records)};
	const struct profile_allocation *rows;
	const struct profile_thread *threads;
	struct made_collector made;

	for (size_t i = 0; i < ARRAY_SIZE(tids); i++)
		records[i].tid = tids[i];
	start(&made, &told);
	/* Its birth is handled in a later round than the records. */
	made_publish(&made, made_thread_end(0, 0, 80 * MS, NULL));
	made_publish(&made, made_thread(&made, MADE_PID + 1));
	made_publish(&made, made_thread_end(1, 0, 90 * MS, NULL));
	made_publish(&made, made_process_end(0, 90 * MS));
	made_collector_finish(&made);
	rows = made.read->heap.allocations;
	threads = made.read->threads;
	assert_int_equal(made.read->nr_threads, 3);
	for (size_t i = 0; i < ARRAY_SIZE(tids); i++) {
		pid_t tid = i == 1 || i == 2 ? tids[i] : MADE_PID;

		assert_int_equal(threads[rows[i].thread.v].tid, tid);
		assert_int_equal(threads[rows[i].thread.v].process, 0);
	}
	made_collector_free(&made);
}

/* The first is moved twice, of which no more is recorded the second time; then comes another. */
TEST(collector, blocks_are_followed_through_realloc)
{
	struct block_record records[] = {
		made_block(BLOCK_ALLOCATED, 0x1000), made_block(BLOCK_MOVED, 0x1000),
		made_block(BLOCK_ALLOCATED, 0x2000), made_block(BLOCK_MOVED, 0x2000),
		made_block(BLOCK_ALLOCATED, 0x3000), made_block(BLOCK_FREED, 0x3000),
		made_block(BLOCK_MOVED, 0x7000),     made_block(BLOCK_ALLOCATED, 0x4000),
	};
	struct told told = {.records = records, .nr = ARRAY_SIZE(records)};
	const struct profile_allocation *rows;
	struct made_collector made;

	records[2].former = 0x1000;
	records[7].former = 0x7000;
	records[2].replaces = records[4].replaces = records[7].replaces = true;
	start(&made, &told);
	end(&made);
	assert_int_equal(made.read->heap.nr_allocations, 4);
	rows = made.read->heap.allocations;
	assert_int_equal(rows[0].former, 0);
	assert_true(rows[0].is_moved);
	assert_int_equal(rows[1].former, 1);
	assert_true(rows[1].is_moved);
	assert_int_equal(rows[2].former, FORMER_UNKNOWN);
	assert_true(rows[2].freed_ns && !rows[2].is_moved);
	/* Its former block is not known. */
	assert_int_equal(rows[3].former, FORMER_UNKNOWN);
	assert_int_equal(rows[3].freed_ns, 0);
	made_collector_free(&made);
}

/* A process may write any id of a thread. */
TEST(collector, mappings_are_followed_through_mremap)
{
	struct block_record records[] = {
		made_block(BLOCK_ALLOCATED, 0x1000), made_block(BLOCK_MOVED, 0x1000),
		made_block(BLOCK_ALLOCATED, 0x9000), made_block(BLOCK_FREED, 0x9000),
		made_block(BLOCK_MOVED, 0x1000),     made_block(BLOCK_ALLOCATED, 0x1000),
	};
	struct told told = {.records = records, .nr = ARRAY_SIZE(records)};
	const struct profile_allocation *rows;
	struct made_collector made;

	for (size_t i = 0; i < ARRAY_SIZE(records); i++) {
		records[i].kind = ALLOCATION_MAP;
		records[i].size_bytes = 4096;
		records[i].mean_bytes = 0;
		records[i].tid = 0;
	}
	records[2].former = records[5].former = 0x1000;
	records[2].replaces = records[5].replaces = true;
	start(&made, &told);
	end(&made);
	assert_int_equal(made.read->heap.nr_allocations, 3);
	rows = made.read->heap.allocations;
	assert_true(rows[0].is_moved);
	assert_int_equal(rows[1].former, 1);
	assert_true(rows[1].freed_ns && !rows[1].is_moved);
	assert_int_equal(rows[2].former, FORMER_UNKNOWN);
	assert_int_equal(rows[2].freed_ns, 0);
	made_collector_free(&made);
}

/* Its process and thread ended before most records were read. */
TEST(collector, ends_wait_for_a_round_of_reading)
{
	struct block_record records[40];
	struct told told = {.records = records, .nr = ARRAY_SIZE(records), .nr_at_once = 3};
	struct made_collector made;

	for (size_t i = 0; i < ARRAY_SIZE(records); i++) {
		records[i] = made_block(BLOCK_ALLOCATED, 0x1000 * (i + 1));
		records[i].tid = MADE_PID + 1;
	}
	told.is_held = true;
	start(&made, &told);
	made_publish(&made, made_thread(&made, MADE_PID + 1));
	made_publish(&made, made_thread_end(1, 0, 80 * MS, NULL));
	made_publish(&made, made_thread_end(0, 0, 90 * MS, NULL));
	made_publish(&made, made_process_end(0, 90 * MS));
	while (told.nr_readings < 3)
		sched_yield();
	told.is_held = false;
	made_collector_finish(&made);
	assert_int_equal(made.read->heap.nr_allocations, ARRAY_SIZE(records));
	for (size_t i = 0; i < ARRAY_SIZE(records); i++)
		assert_int_equal(made.read->heap.allocations[i].thread.v, 1);
	assert_int_equal(told.nr_ends, 1);
	assert_int_equal(told.last_end, PROCESS_ENDED);
	made_collector_free(&made);
}

struct called {
	struct told *told;
	size_t nr_taken;
	atomic_bool is_waiting, was_waiting;
};

static void note_taken(void *context, struct consumer *consumer)
{
	struct called *called = context;

	(void)consumer;
	called->nr_taken = called->told->nr_taken;
	called->was_waiting = called->is_waiting;
}

TEST(collector, call_runs_after_all_is_read)
{
	struct block_record records[40];
	struct told told = {.records = records, .nr = ARRAY_SIZE(records), .nr_at_once = 1};
	struct called called = {.told = &told};
	struct made_collector made;

	for (size_t i = 0; i < ARRAY_SIZE(records); i++)
		records[i] = made_block(BLOCK_ALLOCATED, 0x1000 * (i + 1));
	start(&made, &told);
	collector_run(made.collector, note_taken, &called, &called.is_waiting);
	assert_true(called.was_waiting);
	assert_int_equal(called.nr_taken, ARRAY_SIZE(records));
	end(&made);
	made_collector_free(&made);
}

/* A source that looks whether the producer waits for a call that was made. */
struct looking {
	struct told told;
	atomic_bool is_waiting, was_called;
	atomic_uint nr_looks, nr_waiting; /* after the call */
};

static enum blocks_read look(void *context, struct consumer *consumer, bool begins)
{
	struct looking *looking = context;
	bool is_waiting = looking->is_waiting; /* before the other, which is reset first */

	(void)consumer;
	(void)begins;
	looking->nr_waiting += is_waiting && looking->was_called;
	looking->nr_looks += looking->was_called;
	return BLOCKS_SOME;
}

static void note_call(void *context, struct consumer *consumer)
{
	struct looking *looking = context;

	(void)consumer;
	looking->was_called = true;
}

/* Also before the producer has noticed: it may use its data again at any moment. */
TEST(collector, nothing_is_lent_once_a_call_has_been_made)
{
	struct looking looking = {.is_waiting = false};
	struct made_collector made;

	made_collector_start(
		&made, &(struct collector_options){
			       .blocks = {.read = look, .end = end_told, .context = &looking}});
	made_publish(&made, made_process(&made, MADE_PID));
	made_publish(&made, made_thread(&made, MADE_PID));
	for (int i = 0; i < 100; i++) {
		unsigned int nr_looks;

		looking.was_called = false;
		collector_run(made.collector, note_call, &looking, &looking.is_waiting);
		nr_looks = looking.nr_looks;
		while (looking.nr_looks == nr_looks)
			sched_yield();
	}
	end(&made);
	assert_int_equal(looking.nr_waiting, 0);
	made_collector_free(&made);
}

static struct message *late_child(struct made_collector *made, pid_t pid)
{
	struct message *child = made_process(made, pid);

	child->body.process.parent = 0;
	child->body.process.forked = child->body.process.is_gone = true;
	return child;
}

/* No message tells of its end: that comes with the first round without a record of it. */
TEST(collector, process_that_was_found_late_ends_after_its_last_record)
{
	struct block_record record = made_block(BLOCK_ALLOCATED, 0x1000);
	struct told told = {.records = &record, .nr = 1};
	struct made_collector made;

	record.process = 1;
	record.tid = MADE_PID + 7;
	told.is_held = true;
	start(&made, &told);
	made_publish(&made, late_child(&made, MADE_PID + 7));
	made_cut(&made);
	told.is_held = false;
	end(&made);
	assert_int_equal(told.nr_ends, 2);
	assert_int_equal(made.read->nr_processes, 2);
	assert_int_equal(made.read->processes[1].end_ns, record.time_ns + 1);
	assert_int_equal(made.read->heap.nr_allocations, 1);
	made_collector_free(&made);
}

/* A source that names processes which were found late in each round, and never stops. */
struct naming {
	pid_t first;
	unsigned int nr, nr_mappings;
	atomic_uint nr_rounds;
	size_t most_known, most_bytes; /* at once */
	struct told told;
};

static size_t allocated_bytes(void)
{
#if __GLIBC_PREREQ(2, 33)
	struct mallinfo2 info = mallinfo2();
#else
	struct mallinfo info = mallinfo();
#endif

	return (size_t)info.uordblks + (size_t)info.hblkhd;
}

static enum blocks_read name_all(void *context, struct consumer *consumer, bool begins)
{
	struct naming *naming = context;
	size_t nr_known = 0;

	for (unsigned int i = 0; i < naming->nr; i++) {
		struct block_record record = made_block(BLOCK_FREED, 0x1000);

		record.process = consumer_find_process(consumer, naming->first + (pid_t)i);
		if (record.process == SERIAL_NONE)
			continue;
		record.time_ns += i;
		consumer_add_blocks(consumer, &record, 1);
		nr_known++;
	}
	if (nr_known > naming->most_known)
		naming->most_known = nr_known;
	if (allocated_bytes() > naming->most_bytes)
		naming->most_bytes = allocated_bytes();
	naming->nr_rounds += begins;
	return BLOCKS_SOME;
}

static void end_named(void *context, struct consumer *consumer, uint32_t process, uint64_t time_ns,
		      enum process_end how)
{
	struct naming *naming = context;

	end_told(&naming->told, consumer, process, time_ns, how);
}

static struct message *mapped_process(struct made_collector *made, unsigned int nr_mappings)
{
	struct message *message = made_process(made, MADE_PID);
	struct buf maps = {0};

	for (unsigned int i = 0; i < nr_mappings; i++)
		buf_printf(&maps, "%x-%x rw-p 00000000 00:00 0 \n", 0x100000 + i * 0x2000,
			   0x101000 + i * 0x2000);
	message->body.process.nr_maps_bytes = maps.nr_bytes;
	message->body.process.maps = xstrdup(buf_str(&maps));
	buf_release(&maps);
	return message;
}

static void name_late_children(struct naming *naming)
{
	struct made_collector made;
	unsigned int nr_rounds;

	made_collector_start(
		&made, &(struct collector_options){
			       .blocks = {.read = name_all, .end = end_named, .context = naming}});
	made_publish(&made, mapped_process(&made, naming->nr_mappings));
	made_publish(&made, made_thread(&made, MADE_PID));
	for (unsigned int i = 0; i < naming->nr; i++)
		made_publish(&made, late_child(&made, naming->first + (pid_t)i));
	made_cut(&made);
	nr_rounds = naming->nr_rounds;
	while (naming->nr_rounds < nr_rounds + 3)
		sched_yield();
	end(&made);
	assert_int_equal(naming->told.nr_ends, 1 + naming->nr);
	assert_int_equal(made.read->nr_processes, 1 + naming->nr);
	for (size_t i = 1; i < made.read->nr_processes; i++)
		assert_true(made.read->processes[i].end_ns > 0);
	made_collector_free(&made);
}

/* Its parent goes on writing, in the name of a child that has ended. */
TEST(collector, process_that_was_found_late_does_not_keep_a_recording_from_its_end)
{
	struct naming naming = {.first = MADE_PID + 7, .nr = 1};

	alarm(60);
	name_late_children(&naming);
	alarm(0);
	assert_int_equal(naming.most_known, 1);
}

/* Each would have a copy of its parent's map, which may be long. */
TEST(collector, processes_that_were_found_late_share_the_map_of_their_parent)
{
	struct naming naming = {.first = MADE_PID + 7, .nr = 2000, .nr_mappings = 1000};

	alarm(60);
	name_late_children(&naming);
	alarm(0);
	assert_int_equal(naming.most_known, naming.nr);
	assert_in_range(naming.most_bytes, 0, 64 << 20);
}
