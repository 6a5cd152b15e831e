// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/heap_discard.h"
#include "tests/unit/store_fixture.h"
#include "tests/unit/unit.h"

TEST(store, gives_back_what_was_written)
{
	struct buf bytes = small_file();
	struct store_salvage salvage = {0};
	struct profile *profile = NULL;
	struct err err = ERR_INIT;
	const struct module *module;

	assert_int_equal(read_bytes(bytes.bytes, bytes.nr_bytes, &profile, &salvage, &err), 0);
	assert_false(salvage.salvaged);
	assert_true(profile->meta.complete);
	assert_string_equal(profile_str(profile, profile->meta.hostname), "vulcan");
	assert_int_equal(profile->meta.frequency_hz, 500);
	assert_int_equal(profile->meta.duration_ns, 42000000);
	assert_int_equal(profile->meta.exit_status, 0x300);
	assert_int_equal(profile->meta.nr_command, 2);
	assert_string_equal(profile_str(profile, profile->meta.command[1]), "--fast");
	assert_int_equal(profile->nr_processes, 1);
	assert_int_equal(profile->processes[0].pid, 4711);
	assert_int_equal(profile->processes[0].parent, PROCESS_NONE);
	assert_int_equal(profile->processes[0].end_ns, 41000000);
	assert_true(profile->meta.knows_calls);
	assert_string_equal(profile_str(profile, profile->meta.within), "serve");
	assert_true(profile->processes[0].split.known);
	assert_int_equal(profile->processes[0].split.user_ns, 0);
	assert_int_equal(profile->processes[0].split.system_ns, 30000000);
	assert_false(profile->threads[0].split.known);
	assert_string_equal(profile_str(profile, profile->processes[0].name), "renamed");
	assert_string_equal(profile_str(profile, profile->threads[0].name), "prog");
	module = module_table_get(profile->modules, (struct module_id){1});
	assert_string_equal(module->path, "/usr/lib/libc.so.6");
	assert_int_equal(module->nr_build_id_bytes, 4);
	assert_int_equal(module->build_id[3], 0xef);
	assert_true(module->deleted);
	assert_int_equal(module->modified_ns, 1700000000123456789);
	assert_int_equal(module->image_offset, 8192);
	assert_int_equal(module->fingerprint, 0x123456789abcdef0);
	assert_int_equal(profile->nr_frames, 2);
	assert_int_equal(profile->frames[1].where.address, 0x1020);
	assert_int_equal(stack_trie_nr(profile->stacks), 3);
	assert_int_equal(stack_trie_parent(profile->stacks, (struct stack_id){2}).v, 1);
	assert_int_equal(profile_counter(profile, "stops"), 21);
	assert_string_equal(profile_str(profile, profile->marks[0].text), "warm");
	profile_free(profile);
	buf_release(&bytes);
}

TEST(store, gives_back_samples)
{
	struct buf bytes = small_file();
	struct profile *profile = NULL;

	assert_int_equal(read_bytes(bytes.bytes, bytes.nr_bytes, &profile, NULL, NULL), 0);
	assert_int_equal(profile->nr_samples, 20);
	assert_int_equal(profile->samples[0].time_ns, 2000000);
	assert_int_equal(profile->samples[19].time_ns, 40000000);
	assert_int_equal(profile->samples[3].stack.v, 2);
	assert_int_equal(profile->samples[3].syscall_nr, -1);
	assert_int_equal(profile_total(profile, METRIC_CPU), 20 * 1900000);
	assert_int_equal(profile_total(profile, METRIC_RUNQ), 20 * 100000);
	assert_int_equal(profile_total(profile, METRIC_BLOCKED), 0);
	profile_free(profile);
	buf_release(&bytes);
}

TEST(store, gives_back_other_programs)
{
	struct buf bytes = small_file();
	struct profile *profile = NULL;

	assert_int_equal(read_bytes(bytes.bytes, bytes.nr_bytes, &profile, NULL, NULL), 0);
	assert_int_equal(profile->others.nr, 2);
	assert_string_equal(profile_str(profile, profile->others.rows[0].name), "cc1");
	assert_false(profile->others.rows[0].is_of_children);
	assert_true(profile->others.rows[0].cpu_ns == 123456789);
	assert_string_equal(profile_str(profile, profile->others.rows[1].name), "make");
	assert_true(profile->others.rows[1].is_of_children);
	profile_free(profile);
	buf_release(&bytes);
}

TEST(store, gives_back_advances_of_counters)
{
	struct buf bytes = small_file();
	struct profile *profile = NULL;
	const struct profile_advance *row;

	assert_int_equal(read_bytes(bytes.bytes, bytes.nr_bytes, &profile, NULL, NULL), 0);
	assert_int_equal(profile->advances.nr, 1);
	row = &profile->advances.rows[0];
	assert_int_equal(row->time_ns, 6000000);
	assert_int_equal(row->amount, 17);
	assert_int_equal(row->before.v, 1);
	assert_int_equal(row->after.v, 2);
	assert_int_equal(row->counter, KERNEL_COUNTER_READ_BYTES);
	assert_true(row->is_seen);
	profile_free(profile);
	buf_release(&bytes);
}

TEST(store, gives_back_where_threads_slept_in_the_kernel)
{
	struct buf bytes = small_file();
	struct profile *profile = NULL;

	assert_int_equal(read_bytes(bytes.bytes, bytes.nr_bytes, &profile, NULL, NULL), 0);
	assert_int_equal(profile->samples[9].kernel.v, STACK_EMPTY.v);
	assert_int_equal(profile->samples[10].kernel.v, STACK_EMPTY.v);
	assert_int_equal(profile->samples[11].kernel.v, 1);
	profile_free(profile);
	buf_release(&bytes);
}

/* A kernel's stack of 64 functions, and one of 65, which no kernel has. */
TEST(store, refuses_a_stack_of_the_kernel_that_is_too_deep)
{
	for (uint32_t depth = SAMPLE_KERNEL_DEPTH_MAX; depth <= SAMPLE_KERNEL_DEPTH_MAX + 1;
	     depth++) {
		struct profile *profile = small_profile(), *read = NULL;
		struct store_salvage salvage = {0};
		struct sample sample = sample_at(2000000, 0, 1);
		struct store_writer *writer = NULL;
		struct buf bytes;
		int fd = memory_file();

		for (uint32_t i = 0; i < depth; i++)
			sample.kernel = stack_trie_intern(profile->stacks, sample.kernel,
							  (struct frame_id){0});
		profile_add_sample(profile, &sample);
		assert_int_equal(store_writer_new(fd, &writer, NULL), 0);
		assert_int_equal(store_writer_finish(writer, profile, NULL), 0);
		store_writer_free(writer);
		bytes = file_bytes(fd);
		assert_int_equal(read_bytes(bytes.bytes, bytes.nr_bytes, &read, &salvage, NULL), 0);
		assert_int_equal(salvage.salvaged, depth > SAMPLE_KERNEL_DEPTH_MAX);
		close(fd);
		buf_release(&bytes);
		profile_free(read);
		profile_free(profile);
	}
}

TEST(store, gives_back_labels)
{
	struct buf bytes = small_file();
	struct profile *profile = NULL;
	const struct profile_label *rows;

	assert_int_equal(read_bytes(bytes.bytes, bytes.nr_bytes, &profile, NULL, NULL), 0);
	assert_string_equal(profile_str(profile, profile->processes[0].context), "tls_v1");
	assert_string_equal(profile_str(profile, profile->processes[0].context_problem),
			    "no loader");
	assert_int_equal(profile_labels(profile)->nr, 2);
	rows = profile_labels(profile)->rows;
	assert_int_equal(rows[0].outer, 0);
	assert_string_equal(profile_str(profile, rows[0].key), "http.route");
	assert_int_equal(rows[1].outer, 1);
	assert_string_equal(profile_str(profile, rows[1].value), "eve");
	assert_int_equal(profile->samples[9].labels, 0);
	assert_int_equal(profile->samples[10].labels, 1);
	assert_int_equal(profile->samples[11].labels, 2);
	profile_free(profile);
	buf_release(&bytes);
}

TEST(store, gives_back_what_threads_waited_for)
{
	struct buf bytes = small_file();
	struct profile *profile = NULL;
	const struct profile_wait *rows;

	assert_int_equal(read_bytes(bytes.bytes, bytes.nr_bytes, &profile, NULL, NULL), 0);
	assert_true(profile->meta.knows_waits);
	assert_int_equal(profile_waits(profile)->nr, 2);
	rows = profile_waits(profile)->rows;
	assert_int_equal(rows[0].kind, WAIT_MUTEX);
	assert_int_equal(rows[0].number, 0x4040);
	assert_int_equal(rows[0].place.v, 1);
	assert_int_equal(rows[0].owner.v, 0);
	assert_int_equal(rows[1].kind, WAIT_FILE);
	assert_int_equal(rows[1].place.v, WAIT_NO_PLACE.v);
	assert_int_equal(rows[1].owner.v, THREAD_NONE.v);
	assert_string_equal(profile_str(profile, rows[1].name), "socket:[5]");
	assert_string_equal(profile_str(profile, rows[1].peer), "socket 10.0.0.1:80");
	assert_int_equal(profile->samples[9].wait, 0);
	assert_int_equal(profile->samples[10].wait, 1);
	assert_int_equal(profile->samples[11].wait, 2);
	profile_free(profile);
	buf_release(&bytes);
}

TEST(store, gives_back_symbols)
{
	struct buf bytes = small_file();
	struct profile *profile = NULL;
	struct frame_symbols chain;
	const struct location *location;

	assert_int_equal(read_bytes(bytes.bytes, bytes.nr_bytes, &profile, NULL, NULL), 0);
	assert_int_equal(profile->symbols.nr_frames, 2);
	chain = profile->symbols.frames[1];
	assert_int_equal(chain.nr, 2);
	location = &profile->symbols.locations[chain.first];
	assert_int_equal(location[0].line, 4);
	assert_string_equal(
		profile_str(profile, profile->symbols.functions[location[0].function.v].name),
		"work");
	assert_string_equal(
		profile_str(profile, profile->symbols.functions[location[1].function.v].name),
		"main");
	assert_string_equal(profile_str(profile, location[1].file), "main.c");
	assert_int_equal(profile->symbols.frames[0].nr, 1);
	assert_int_equal(profile->symbols.modules[1].source, SYMBOL_SOURCE_SYMTAB);
	assert_true(owner_is_user(profile->symbols.modules[1].owner, 1234));
	assert_string_equal(profile_str(profile, profile->symbols.modules[1].problem), "stripped");
	assert_int_equal(profile->symbols.nr_sources, 1);
	assert_string_equal(profile_str(profile, profile->symbols.sources[0].file), "main.c");
	assert_int_equal(profile->symbols.sources[0].nr_bytes, 1234);
	assert_int_equal(profile->symbols.sources[0].modified_ns, 1700000000987654321);
	assert_string_equal(profile_str(profile, profile->symbols.sources[0].text), "work();\n");
	assert_int_equal(profile->symbols.nr_listings, 1);
	assert_null(profile_find_listing(profile, (struct code_address){{1}, 0xfff}));
	assert_null(profile_find_listing(profile, (struct code_address){{1}, 0x1010}));
	assert_null(profile_find_listing(profile, (struct code_address){{0}, 0x100f}));
	assert_string_equal(
		profile_str(
			profile,
			profile_find_listing(profile, (struct code_address){{1}, 0x100f})->text),
		" 1000:\tret\n");
	profile_free(profile);
	buf_release(&bytes);
}

TEST(store, gives_back_what_programs_said_of_their_code)
{
	struct buf bytes = small_file();
	struct profile *profile = NULL;
	const struct jit_name *name;
	const struct jit_source *source;

	assert_int_equal(read_bytes(bytes.bytes, bytes.nr_bytes, &profile, NULL, NULL), 0);
	assert_int_equal(profile->jit.nr_names, 1);
	name = &profile->jit.names[0];
	assert_int_equal(name->frame.v, 1);
	assert_string_equal(profile_str(profile, name->name), "js:work (a)");
	assert_string_equal(profile_str(profile, name->file), "a.js");
	assert_int_equal(name->line, 7);
	assert_string_equal(profile_str(profile, name->function_file), "a.js");
	assert_int_equal(name->function_line, 6);
	assert_int_equal(profile->jit.nr_sources, 1);
	source = &profile->jit.sources[0];
	assert_int_equal(source->module.v, 1);
	assert_int_equal(source->source, SYMBOL_SOURCE_JITDUMP);
	assert_string_equal(profile_str(profile, source->path), "/tmp/jit-1.dump");
	assert_string_equal(profile_str(profile, source->problem), "damaged");
	profile_free(profile);
	buf_release(&bytes);
}

TEST(store, gives_back_counts_and_refusals)
{
	struct buf bytes = small_file();
	struct profile *profile = NULL;
	const struct profile_count *counts;
	const struct profile_refusal *refusal;

	assert_int_equal(read_bytes(bytes.bytes, bytes.nr_bytes, &profile, NULL, NULL), 0);
	assert_int_equal(profile->probes.nr_counts, 2);
	counts = profile->probes.counts;
	assert_int_equal(counts[0].kind, COUNT_ENTRY);
	assert_int_equal(counts[0].flags, COUNT_FROM_START);
	assert_int_equal(counts[0].where.v, 0);
	assert_int_equal(counts[0].callee.v, COUNT_NO_CALLEE.v);
	assert_int_equal(counts[0].calls, 1);
	assert_int_equal(counts[0].from_ns, 5);
	assert_int_equal(counts[0].to_ns, 41000000);
	assert_int_equal(counts[1].kind, COUNT_CALL);
	assert_int_equal(counts[1].flags, 0);
	assert_int_equal(counts[1].callee.v, 1);
	assert_int_equal(counts[1].calls, 1000000);
	assert_int_equal(counts[1].from_ns, 7);
	assert_int_equal(counts[1].to_ns, 41000000);
	assert_int_equal(profile->probes.nr_refusals, 1);
	refusal = &profile->probes.refusals[0];
	assert_string_equal(profile_str(profile, refusal->function), "work");
	assert_string_equal(profile_str(profile, refusal->module), "/usr/lib/libc.so.6");
	assert_string_equal(profile_str(profile, refusal->reason), "too short");
	profile_free(profile);
	buf_release(&bytes);
}

TEST(store, gives_back_timed_calls)
{
	struct buf bytes = small_file();
	struct profile *profile = NULL;
	const struct profile_span_sum *sum;
	const struct profile_span_length *lengths;

	assert_int_equal(read_bytes(bytes.bytes, bytes.nr_bytes, &profile, NULL, NULL), 0);
	assert_int_equal(profile->spans.nr, 1);
	assert_int_equal(profile->spans.rows[0].process, 0);
	assert_int_equal(profile->spans.rows[0].where.v, 0);
	assert_int_equal(profile->spans.rows[0].from_ns, 5);
	assert_int_equal(profile->spans.nr_sums, 1);
	sum = profile->spans.sums;
	assert_int_equal(sum->span, 0);
	assert_int_equal(sum->to_ns, 900000);
	assert_int_equal(sum->nr_begun, 3);
	assert_int_equal(sum->total_ns, 73000);
	assert_int_equal(sum->longest_ns, 70000);
	assert_int_equal(sum->longest_from_ns, 40000);
	assert_int_equal(sum->longest_thread, 0);
	assert_int_equal(profile->spans.nr_lengths, 2);
	lengths = profile->spans.lengths;
	assert_int_equal(lengths[1].least_ns, 68000);
	assert_int_equal(lengths[1].end_ns, 76000);
	assert_int_equal(lengths[1].nr, 1);
	assert_int_equal(profile->spans.nr_slow, 1);
	assert_int_equal(profile->spans.slow[0].span, 0);
	assert_int_equal(profile->spans.slow[0].thread, 0);
	assert_int_equal(profile->spans.slow[0].from_ns, 40000);
	assert_int_equal(profile->spans.slow[0].length_ns, 70000);
	profile_free(profile);
	buf_release(&bytes);
}

static void check_block(const struct profile *profile, size_t i,
			const struct profile_allocation *expected)
{
	const struct profile_allocation *row = &profile->heap.allocations[i];

	uint64_t time_ns = expected->time_ns / SAMPLE_TIME_GRAIN_NS * SAMPLE_TIME_GRAIN_NS;
	uint64_t life_ns = expected->freed_ns ? expected->freed_ns - expected->time_ns : 0;

	assert_int_equal(row->time_ns, time_ns);
	assert_int_equal(row->freed_ns != 0, expected->freed_ns != 0);
	assert_int_equal(row->freed_ns ? row->freed_ns - row->time_ns : 0,
			 life_ns / SAMPLE_TIME_GRAIN_NS * SAMPLE_TIME_GRAIN_NS);
	assert_int_equal(row->former, expected->former);
	assert_int_equal(row->is_moved, expected->is_moved);
	assert_int_equal(row->is_earlier, expected->is_earlier);
	assert_int_equal(row->freed_stack.v, expected->freed_stack.v);
	assert_int_equal(row->freed_end, expected->freed_end);
	assert_int_equal(row->size_bytes, expected->size_bytes);
	assert_int_equal(row->mean_bytes, expected->mean_bytes);
	assert_int_equal(row->thread.v, expected->thread.v);
	assert_int_equal(row->freed_by.v, expected->freed_by.v);
	assert_int_equal(row->stack.v, expected->stack.v);
	assert_int_equal(row->kind, expected->kind);
	assert_int_equal(row->end, expected->end);
	assert_int_equal(row->search, expected->search);
}

TEST(store, gives_back_allocations)
{
	static const struct profile_allocation expected[] = {
		{.time_ns = 2048,
		 .freed_ns = 8192000,
		 .size_bytes = 100,
		 .mean_bytes = 524288,
		 .freed_by = {0},
		 .stack = {2},
		 .freed_end = STACK_END_NOT_TAKEN + 1,
		 .is_moved = true},
		{.time_ns = 5120000,
		 .freed_ns = 6144000,
		 .is_moved = true,
		 .freed_stack = {1},
		 .freed_end = STACK_END_ROOT + 1,
		 .size_bytes = 1048576,
		 .freed_by = {0},
		 .stack = {2},
		 .kind = ALLOCATION_MAP,
		 .end = STACK_END_DEPTH_LIMIT},
		{.time_ns = 5120000,
		 .size_bytes = 1048576,
		 .mean_bytes = 262144,
		 .freed_by = {UINT32_MAX},
		 .stack = {2},
		 .former = 2,
		 .kind = ALLOCATION_NEW,
		 .end = STACK_END_DEPTH_LIMIT,
		 .search = ALLOCATION_POINTED_TO},
		{.time_ns = 7168000,
		 .freed_by = {UINT32_MAX},
		 .former = 1,
		 .search = ALLOCATION_LOST},
	};
	struct buf bytes = small_file();
	struct profile *profile = NULL;

	assert_int_equal(read_bytes(bytes.bytes, bytes.nr_bytes, &profile, NULL, NULL), 0);
	assert_int_equal(profile->heap.nr_allocations, 4);
	for (size_t i = 0; i < 4; i++)
		check_block(profile, i, &expected[i]);
	profile_free(profile);
	buf_release(&bytes);
}

TEST(store, gives_back_searches)
{
	struct buf bytes = small_file();
	struct profile *profile = NULL;
	const struct profile_search *searches;
	const struct profile_verdict *verdicts;

	assert_int_equal(read_bytes(bytes.bytes, bytes.nr_bytes, &profile, NULL, NULL), 0);
	assert_int_equal(profile->heap.nr_searches, 3);
	searches = profile->heap.searches;
	assert_int_equal(searches[0].time_ns, 13000001);
	assert_int_equal(searches[0].process, 0);
	assert_int_equal(searches[0].stop_ns, 1700);
	assert_int_equal(searches[0].nr_bytes, 81920);
	assert_string_equal(profile_str(profile, searches[0].why_not), "");
	assert_int_equal(searches[1].time_ns, 12000000);
	assert_string_equal(profile_str(profile, searches[1].why_not), "too short");
	assert_int_equal(profile->heap.nr_searched, 2);
	assert_int_equal(searches[0].mark.v, STR_EMPTY.v);
	assert_string_equal(profile_str(profile, searches[2].mark), "warm");
	assert_int_equal(searches[2].time_ns, 9000000);
	verdicts = profile->heap.verdicts;
	assert_int_equal(profile->heap.nr_verdicts, 2);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(verdicts[i].search, 2);
		assert_int_equal(verdicts[i].allocation, i ? 1 : 3);
		assert_int_equal(verdicts[i].verdict, i ? ALLOCATION_LOST : ALLOCATION_POINTED_TO);
	}
	profile_free(profile);
	buf_release(&bytes);
}

TEST(store, gives_back_moments_of_memory)
{
	struct buf bytes = small_file();
	struct profile *profile = NULL;
	const struct profile_heap_moment *moments;

	assert_int_equal(read_bytes(bytes.bytes, bytes.nr_bytes, &profile, NULL, NULL), 0);
	assert_int_equal(profile->heap.nr_moments, 2);
	moments = profile->heap.moments;
	assert_int_equal(moments[0].time_ns, 3000000);
	assert_int_equal(moments[0].rss_anon_bytes, 40960);
	assert_int_equal(moments[0].rss_file_bytes, 8192);
	assert_int_equal(moments[0].allocated_bytes, 700000);
	assert_int_equal(moments[1].time_ns, 13000000);
	assert_int_equal(moments[1].process, 0);
	assert_int_equal(moments[1].rss_anon_bytes, 36864);
	assert_int_equal(moments[1].rss_file_bytes, 0);
	assert_int_equal(moments[1].rss_shmem_bytes, 4096);
	assert_int_equal(moments[1].swap_bytes, 12288);
	assert_int_equal(moments[1].heap_mapped_bytes, 16384);
	assert_int_equal(moments[1].allocated_bytes, 900000);
	assert_int_equal(moments[1].nr_allocations, 9000);
	assert_int_equal(moments[1].nr_dropped, 3);
	profile_free(profile);
	buf_release(&bytes);
}

/* Written amid the rest; what is read has none of it left. */
TEST(store, leaves_out_what_was_discarded)
{
	struct profile *written = small_profile(), *profile = NULL, *again = NULL;
	struct store_writer *writer = NULL;
	const struct profile_heap *heap;
	int fd = memory_file();

	assert_int_equal(store_writer_new(fd, &writer, NULL), 0);
	add_blocks(written);
	assert_int_equal(store_writer_flush(writer, written, NULL), 0);
	heap_discard_note(written, 3000000);
	assert_int_equal(store_writer_flush(writer, written, NULL), 0);
	change_blocks(written);
	assert_int_equal(store_writer_finish(writer, written, NULL), 0);
	store_writer_free(writer);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(store_read(fd, &profile, NULL, NULL), 0);
	close(fd);
	fd = memory_file();
	assert_int_equal(store_writer_new(fd, &writer, NULL), 0);
	assert_int_equal(store_writer_finish(writer, profile, NULL), 0);
	store_writer_free(writer);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(store_read(fd, &again, NULL, NULL), 0);
	close(fd);
	heap = &again->heap;
	assert_int_equal(heap->nr_allocations, 1);
	assert_int_equal(heap->allocations[0].time_ns, 7000 * SAMPLE_TIME_GRAIN_NS);
	assert_int_equal(heap->nr_freed, 0);
	assert_int_equal(heap->nr_moments, 2);
	assert_int_equal(heap->moments[0].time_ns, 3000000);
	assert_int_equal(heap->moments[0].rss_anon_bytes, 40960);
	assert_int_equal(heap->moments[0].allocated_bytes, 0);
	assert_int_equal(heap->moments[1].allocated_bytes, 900000 - 700000);
	assert_int_equal(heap->moments[1].nr_allocations, 9000 - 7000);
	assert_int_equal(heap->moments[1].nr_dropped, 3);
	assert_int_equal(heap->discard.time_ns, 3000000);
	profile_free(again);
	profile_free(profile);
	profile_free(written);
}

/* One of many threads allocates every millisecond, and each block is freed after a second. */
TEST(store, blocks_cost_little)
{
	struct profile *written = small_profile(), *profile = NULL;
	struct store_writer *writer = NULL;
	int fd = memory_file();
	uint64_t nr_bytes;

	assert_int_equal(store_writer_new(fd, &writer, NULL), 0);
	assert_int_equal(store_writer_flush(writer, written, NULL), 0);
	nr_bytes = store_writer_nr_bytes(writer);
	for (uint64_t i = 0; i < 100000; i++) {
		uint64_t random = i * UINT64_C(0x9e3779b97f4a7c15) >> 33;
		struct profile_allocation row = {.time_ns = i * 1000000 + random % 1000000,
						 .size_bytes = random % 100000,
						 .mean_bytes = 524288,
						 .freed_by = THREAD_NONE,
						 .stack = {(uint32_t)(random % 3)},
						 .former = i % 100 ? 0 : FORMER_UNKNOWN};

		profile_add_allocation(written, &row);
		if (i >= 1000)
			profile_free_allocation(written, (uint32_t)i - 1000, i * 1000000,
						(struct thread_id){0});
		if (i % 1000 == 0)
			assert_int_equal(store_writer_flush(writer, written, NULL), 0);
	}
	assert_int_equal(store_writer_finish(writer, written, NULL), 0);
	assert_true(store_writer_nr_bytes(writer) - nr_bytes < 100000 * 12);
	store_writer_free(writer);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(store_read(fd, &profile, NULL, NULL), 0);
	assert_int_equal(profile->heap.nr_allocations, 100000);
	for (size_t i = 0; i < 100000; i++)
		check_block(profile, i, &written->heap.allocations[i]);
	profile_free(profile);
	profile_free(written);
	close(fd);
}

static void check_all_blocks(const struct profile *written, int fd)
{
	struct profile *profile = NULL;

	lseek(fd, 0, SEEK_SET);
	assert_int_equal(store_read(fd, &profile, NULL, NULL), 0);
	assert_int_equal(profile->heap.nr_allocations, written->heap.nr_allocations);
	assert_int_equal(profile->heap.nr_parts, written->heap.nr_parts);
	for (size_t i = 0; i < written->heap.nr_allocations; i++) {
		check_block(profile, i, &written->heap.allocations[i]);
		assert_int_equal(profile->heap.allocations[i].nr_more,
				 written->heap.allocations[i].nr_more);
		assert_int_equal(profile->heap.allocations[i].life_ns,
				 written->heap.allocations[i].life_ns);
	}
	profile_free(profile);
}

/* Rows of many blocks, of which some are freed before the row is written, or after that. */
TEST(store, gives_back_parts_of_allocations)
{
	struct profile *written = small_profile();
	struct store_writer *writer = NULL, *again = NULL;
	int fd = memory_file(), other = memory_file();
	uint32_t rows[1000], part;

	assert_int_equal(store_writer_new(fd, &writer, NULL), 0);
	for (uint64_t i = 0; i < 1000; i++) {
		rows[i] = profile_add_allocation(
			written, &(struct profile_allocation){.time_ns = (i + 10) << 20,
							      .size_bytes = 100 * i + 100,
							      .nr_more = 99,
							      .freed_by = THREAD_NONE,
							      .is_earlier = i % 5 == 2,
							      .kind = (uint8_t)(i % 3),
							      .stack = {(uint32_t)(i % 3)}});

		for (uint32_t k = 0; k < 1 + i % 3; k++) {
			part = profile_split_allocation(written, rows[i - i % 7], 1 + k % 2, i % 5);
			profile_free_allocation(written, part, (i + 11) << 20,
						(struct thread_id){0});
			if (written->heap.allocations[part].nr_more)
				profile_set_mean_life(written, part, 1000 + i);
		}
		if (i % 7 == 3) {
			profile_free_allocation(written, rows[i], (i + 11) << 20, THREAD_NONE);
			profile_set_mean_life(written, rows[i], 77 * i);
		}
		if (i % 20 == 0)
			assert_int_equal(store_writer_flush(writer, written, NULL), 0);
	}
	assert_int_equal(store_writer_finish(writer, written, NULL), 0);
	check_all_blocks(written, fd);
	/* All in one go. */
	assert_int_equal(store_writer_new(other, &again, NULL), 0);
	assert_int_equal(store_writer_finish(again, written, NULL), 0);
	check_all_blocks(written, other);
	store_writer_free(writer);
	store_writer_free(again);
	profile_free(written);
	close(fd);
	close(other);
}

/* Here realloc() has not touched it. */
TEST(store, what_a_block_was_made_of_has_been_moved)
{
	struct profile *written = small_profile(), *profile = NULL;
	struct profile_allocation row = {.freed_by = THREAD_NONE};
	struct store_salvage salvage = {0};
	struct store_writer *writer = NULL;
	int fd = memory_file();

	profile_add_allocation(written, &row);
	row.former = 1;
	profile_add_allocation(written, &row);
	assert_int_equal(store_writer_new(fd, &writer, NULL), 0);
	assert_int_equal(store_writer_finish(writer, written, NULL), 0);
	store_writer_free(writer);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(store_read(fd, &profile, &salvage, NULL), 0);
	assert_true(salvage.salvaged);
	assert_int_equal(profile->heap.nr_allocations, 1);
	profile_free(profile);
	profile_free(written);
	close(fd);
}

/* A profile of so many counted places, all in one process. */
static struct profile *counted_profile(uint32_t nr)
{
	struct profile *profile = small_profile();

	for (uint32_t i = 0; i < nr; i++) {
		struct code_address where = {{1}, 0x2000 + 16 * (uint64_t)i};
		struct profile_count count = {.where = profile_intern_frame(profile, where),
					      .callee = COUNT_NO_CALLEE,
					      .from_ns = 1000};

		profile_add_count(profile, &count);
	}
	return profile;
}

static void check_counts(const struct profile *profile, const struct profile *written)
{
	assert_int_equal(profile->probes.nr_counts, written->probes.nr_counts);
	for (size_t i = 0; i < written->probes.nr_counts; i++) {
		const struct profile_count *a = &profile->probes.counts[i];
		const struct profile_count *b = &written->probes.counts[i];

		assert_int_equal(a->where.v, b->where.v);
		assert_int_equal(a->callee.v, b->callee.v);
		assert_int_equal(a->calls, b->calls);
		assert_int_equal(a->from_ns, b->from_ns);
		assert_int_equal(a->to_ns, b->to_ns);
	}
}

/* 20000 counts of which 300 change in each second: some hundred bytes a second, not a megabyte. */
TEST(store, counts_that_change_cost_little)
{
	struct profile *written = counted_profile(20000), *profile = NULL;
	struct store_writer *writer = NULL;
	int fd = memory_file();
	uint64_t nr_bytes;

	assert_int_equal(store_writer_new(fd, &writer, NULL), 0);
	assert_int_equal(store_writer_flush(writer, written, NULL), 0);
	nr_bytes = store_writer_nr_bytes(writer);
	for (uint64_t second = 1; second <= 100; second++) {
		for (size_t i = 0; i < 20000; i++) {
			struct profile_count *count = &written->probes.counts[i];

			count->to_ns = second * 1000000000;
			if (i % 67 == second % 67)
				count->calls += 1000 + i * second % 5000;
		}
		assert_int_equal(store_writer_flush(writer, written, NULL), 0);
	}
	assert_true(store_writer_nr_bytes(writer) - nr_bytes < 100 * 1000);
	assert_int_equal(store_writer_finish(writer, written, NULL), 0);
	store_writer_free(writer);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(store_read(fd, &profile, NULL, NULL), 0);
	check_counts(profile, written);
	profile_free(profile);
	profile_free(written);
	close(fd);
}

/* A count that does not change, in a recording that is killed after a minute. */
TEST(store, a_count_that_stands_still_is_known_to)
{
	struct profile *written = counted_profile(1), *profile = NULL;
	struct profile_count *count = &written->probes.counts[0];
	struct store_writer *writer = NULL;
	int fd = memory_file();
	uint64_t nr_bytes = 0;
	int nr_rows = 0;

	assert_int_equal(store_writer_new(fd, &writer, NULL), 0);
	count->calls = 7;
	for (uint64_t second = 1; second <= 60; second++) {
		count->to_ns = second * 1000000000;
		assert_int_equal(store_writer_flush(writer, written, NULL), 0);
		nr_rows += store_writer_nr_bytes(writer) > nr_bytes;
		nr_bytes = store_writer_nr_bytes(writer);
	}
	assert_in_range(nr_rows, 5, 20);
	store_writer_free(writer);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(store_read(fd, &profile, NULL, NULL), 0);
	assert_int_equal(profile->probes.counts[0].calls, 7);
	assert_in_range(profile->probes.counts[0].to_ns, UINT64_C(48000000000),
			UINT64_C(60000000000));
	assert_int_equal(profile->meta.duration_ns, profile->probes.counts[0].to_ns);
	profile_free(profile);
	profile_free(written);
	close(fd);
}

/* Rows of hardly a byte, more of them than a reader takes from a file of that size. */
TEST(store, counts_that_change_alike_stay_readable)
{
	struct profile *written = counted_profile(16384), *profile = NULL;
	struct store_salvage salvage = {0};
	struct store_writer *writer = NULL;
	int fd = memory_file();

	assert_int_equal(store_writer_new(fd, &writer, NULL), 0);
	for (uint64_t second = 1; second <= 1000; second++) {
		for (size_t i = 0; i < 16384; i++) {
			written->probes.counts[i].calls += 1000;
			written->probes.counts[i].to_ns = second * 1000000000;
		}
		assert_int_equal(store_writer_flush(writer, written, NULL), 0);
	}
	assert_int_equal(store_writer_finish(writer, written, NULL), 0);
	assert_true(UINT64_C(16384) * 1000 >
		    (4 << 20) + 16 * store_writer_nr_bytes(writer)); /* as the bound of readers */
	store_writer_free(writer);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(store_read(fd, &profile, &salvage, NULL), 0);
	assert_false(salvage.salvaged);
	check_counts(profile, written);
	profile_free(profile);
	profile_free(written);
	close(fd);
}

/* Weights that do not add up to the elapsed time, all kinds, times out of order, extremes. */
TEST(store, keeps_any_sample_exactly)
{
	static const struct sample samples[] = {
		{.time_ns = 7, .cpu_ns = UINT64_C(1) << 60, .nr = 1, .syscall_nr = -1},
		{.time_ns = UINT64_C(1) << 61, .thread = {1}, .nr = UINT32_MAX, .syscall_nr = 0},
		{.time_ns = 5,
		 .thread = {1},
		 .blocked_ns = 3,
		 .cpu_ns = 9,
		 .runq_ns = 1,
		 .kind = SAMPLE_BLOCKED,
		 .syscall_nr = INT16_MAX,
		 .nr = 1,
		 .end = STACK_END_NOT_TAKEN},
		{.time_ns = 6, .cpu_ns = 1, .kind = SAMPLE_UNATTRIBUTED, .syscall_nr = -1},
		{.time_ns = 6,
		 .blocked_ns = 1 << 30,
		 .kind = SAMPLE_BLOCKED,
		 .syscall_nr = 202,
		 .nr = 7,
		 .stack = {2}},
	};
	struct profile *written = small_profile();
	struct profile_thread thread = {.tid = 4712};
	struct store_writer *writer = NULL;
	struct profile *profile = NULL;
	int fd = memory_file();

	profile_add_thread(written, &thread);
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
		profile_add_sample(written, &samples[i]);
	assert_int_equal(store_writer_new(fd, &writer, NULL), 0);
	assert_int_equal(store_writer_finish(writer, written, NULL), 0);
	store_writer_free(writer);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(store_read(fd, &profile, NULL, NULL), 0);
	assert_int_equal(profile->nr_samples, 5);
	for (size_t i = 0; i < 5; i++) {
		const struct sample *sample = &profile->samples[i];

		assert_int_equal(sample->time_ns, samples[i].time_ns);
		assert_int_equal(sample->cpu_ns, samples[i].cpu_ns);
		assert_int_equal(sample->runq_ns, samples[i].runq_ns);
		assert_int_equal(sample->blocked_ns, samples[i].blocked_ns);
		assert_int_equal(sample->thread.v, samples[i].thread.v);
		assert_int_equal(sample->stack.v, samples[i].stack.v);
		assert_int_equal(sample->nr, samples[i].nr);
		assert_int_equal(sample->syscall_nr, samples[i].syscall_nr);
		assert_int_equal(sample->kind, samples[i].kind);
		assert_int_equal(sample->end, samples[i].end);
	}
	profile_free(profile);
	profile_free(written);
	close(fd);
}

/* What was made of a salvaged recording does not pass for a whole one. */
TEST(store, a_rewritten_salvage_stays_incomplete)
{
	struct profile *written = small_profile();
	struct store_salvage salvage = {0};
	struct store_writer *writer = NULL;
	struct profile *profile = NULL;
	int fd = memory_file();

	written->meta.complete = false;
	assert_int_equal(store_writer_new(fd, &writer, NULL), 0);
	assert_int_equal(store_writer_finish(writer, written, NULL), 0);
	store_writer_free(writer);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(store_read(fd, &profile, &salvage, NULL), 0);
	assert_false(salvage.salvaged);
	assert_false(profile->meta.complete);
	profile_free(profile);
	profile_free(written);
	close(fd);
}

TEST(store, an_empty_recording_is_whole)
{
	struct profile *written = profile_new();
	struct store_salvage salvage = {0};
	struct store_writer *writer = NULL;
	struct profile *profile = NULL;
	int fd = memory_file();

	assert_int_equal(store_writer_new(fd, &writer, NULL), 0);
	assert_int_equal(store_writer_finish(writer, written, NULL), 0);
	store_writer_free(writer);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(store_read(fd, &profile, &salvage, NULL), 0);
	assert_false(salvage.salvaged);
	assert_int_equal(profile->nr_samples, 0);
	profile_free(profile);
	profile_free(written);
	close(fd);
}

/* More rows than a record takes, and texts that are no ASCII. */
TEST(store, large_tables_span_records)
{
	struct profile *written = small_profile();
	struct store_writer *writer = NULL;
	struct profile *profile = NULL;
	int fd = memory_file();
	char name[32];

	for (uint32_t i = 0; i < 100000; i++) {
		struct sample sample = sample_at(UINT64_C(2000000) * i, 0, 1 + i % 2);
		struct code_address where = {{1}, 0x2000 + 16 * (uint64_t)i};

		profile_add_sample(written, &sample);
		profile_intern_frame(written, where);
		snprintf(name, sizeof(name), "\xff\x1b name %u", i);
		profile_intern(written, name);
	}
	assert_int_equal(store_writer_new(fd, &writer, NULL), 0);
	assert_int_equal(store_writer_finish(writer, written, NULL), 0);
	store_writer_free(writer);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(store_read(fd, &profile, NULL, NULL), 0);
	assert_int_equal(profile->nr_samples, 100000);
	assert_int_equal(profile->nr_frames, 100002);
	assert_int_equal(profile->frames[100001].where.address, 0x2000 + 16 * 99999);
	assert_int_equal(strtab_nr(profile->strings), strtab_nr(written->strings));
	assert_string_equal(
		strtab_get(profile->strings, (struct str_id){strtab_nr(profile->strings) - 1}),
		"\xff\x1b name 99999");
	profile_free(profile);
	profile_free(written);
	close(fd);
}

/* What is mostly short may be long: a command of a shell's "*", a program that marks each step. */
TEST(store, long_commands_and_many_marks)
{
	struct profile *written = small_profile();
	struct store_salvage salvage = {0};
	struct store_writer *writer = NULL;
	struct profile *profile = NULL;
	int fd = memory_file();

	for (uint32_t i = 0; i < 20000; i++) {
		profile_add_command_word(written, "word");
		profile_add_mark(written, i, "mark");
	}
	assert_int_equal(store_writer_new(fd, &writer, NULL), 0);
	assert_int_equal(store_writer_finish(writer, written, NULL), 0);
	store_writer_free(writer);
	lseek(fd, 0, SEEK_SET);
	assert_int_equal(store_read(fd, &profile, &salvage, NULL), 0);
	assert_false(salvage.salvaged);
	assert_int_equal(profile->meta.nr_command, 16384); /* the rows of one record */
	assert_string_equal(profile_str(profile, profile->meta.command[0]), "./prog");
	assert_string_equal(profile_str(profile, profile->meta.command[16383]), "word");
	assert_int_equal(profile->nr_marks, 20000);
	assert_int_equal(profile->marks[19999].time_ns, 19999);
	profile_free(profile);
	profile_free(written);
	close(fd);
}

#define BEYOND_ANY_TIME_NS ((UINT64_C(1) << 62) + 1)

static void late_sample(struct profile *profile)
{
	struct sample sample = sample_at(BEYOND_ANY_TIME_NS, 0, 1);

	profile_add_sample(profile, &sample);
}

static void heavy_samples(struct profile *profile)
{
	for (uint64_t i = 1; i <= 3; i++) {
		struct sample sample = sample_at(i, 0, 1);

		sample.cpu_ns = UINT64_C(1) << 60;
		profile_add_sample(profile, &sample);
	}
}

static void late_process(struct profile *profile)
{
	profile->processes[0].start_ns = BEYOND_ANY_TIME_NS;
}

static void late_thread(struct profile *profile)
{
	profile->threads[0].end_ns = BEYOND_ANY_TIME_NS;
}

static void late_mark(struct profile *profile)
{
	profile_add_mark(profile, BEYOND_ANY_TIME_NS, "late");
}

static void late_count(struct profile *profile)
{
	struct profile_count count = {.callee = COUNT_NO_CALLEE, .to_ns = BEYOND_ANY_TIME_NS};

	profile_add_count(profile, &count);
}

static void many_calls(struct profile *profile)
{
	struct profile_count count = {.callee = COUNT_NO_CALLEE, .calls = UINT64_C(1) << 61};

	profile_add_count(profile, &count);
	count.calls = 1;
	profile_add_count(profile, &count);
}

static void late_advance(struct profile *profile)
{
	struct profile_advance row = {.time_ns = BEYOND_ANY_TIME_NS};

	advances_add(&profile->advances, &row);
}

static void many_advances(struct profile *profile)
{
	struct profile_advance row = {.amount = UINT64_C(1) << 62};

	advances_add(&profile->advances, &row);
	row.amount = 1;
	advances_add(&profile->advances, &row);
}

static void late_block(struct profile *profile)
{
	struct profile_allocation row = {.freed_by = THREAD_NONE};

	profile_add_allocation(profile, &row);
	profile_free_allocation(profile, 0, BEYOND_ANY_TIME_NS + SAMPLE_TIME_GRAIN_NS, THREAD_NONE);
}

static void large_blocks(struct profile *profile)
{
	struct profile_allocation row = {.size_bytes = UINT64_C(1) << 60, .freed_by = THREAD_NONE};

	profile_add_allocation(profile, &row);
	profile_add_allocation(profile, &row);
}

static void large_moment(struct profile *profile)
{
	struct profile_heap_moment moment = {.allocated_bytes = UINT64_C(1) << 62};

	profile_add_heap_moment(profile, &moment);
}

static void long_recording(struct profile *profile)
{
	profile->meta.duration_ns = BEYOND_ANY_TIME_NS;
}

static void recorded_in_far_future(struct profile *profile)
{
	profile->meta.start_realtime_ns = BEYOND_ANY_TIME_NS;
}

static void many_counters(struct profile *profile)
{
	char name[16];

	for (int i = 0; i < 502; i++) {
		snprintf(name, sizeof(name), "counter_%d", i);
		profile_set_counter(profile, name, 1);
	}
}

/* A merge of extremes, for one, would end in a file that nobody can read. */
TEST(store, writes_nothing_that_readers_refuse)
{
	static const struct {
		void (*spoil)(struct profile *profile);
		const char *what;
	} cases[] = {
		{late_sample, "the samples add up to more than 73 years"},
		{heavy_samples, "the samples add up to more than 73 years"},
		{late_process, "the profile has times of over 146 years"},
		{late_thread, "the profile has times of over 146 years"},
		{late_mark, "the profile has times of over 146 years"},
		{late_count, "the profile has times of over 146 years"},
		{many_calls, "the profile has more than 2305843009213693952 counted calls"},
		{late_advance, "the profile has times of over 146 years"},
		{many_advances, "the profile has counters that advance by more than "
				"4611686018427387904"},
		{late_block, "the profile has more memory than 2305843009213693952 bytes, or times "
			     "of over 146 years"},
		{large_blocks, "the profile has more memory than 2305843009213693952 bytes, or "
			       "times of over 146 years"},
		{large_moment, "the profile has more memory than 2305843009213693952 bytes, or "
			       "times of over 146 years"},
		{long_recording, "the profile has times of over 146 years"},
		{recorded_in_far_future, "the profile has times of over 146 years"},
		{many_counters, "the profile has more than 501 counters"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct profile *profile = small_profile();
		struct store_writer *writer = NULL;
		struct err err = ERR_INIT;
		int fd = memory_file();

		cases[i].spoil(profile);
		assert_int_equal(store_writer_new(fd, &writer, NULL), 0);
		assert_int_equal(store_writer_finish(writer, profile, &err), ERR_LIMIT);
		assert_memory_equal(err.what, cases[i].what, strlen(cases[i].what));
		store_writer_free(writer);
		profile_free(profile);
		close(fd);
	}
}

TEST(store, write_failure_says_why)
{
	struct profile *profile = small_profile();
	struct store_writer *writer = NULL;
	struct err err = ERR_INIT;
	FILE *full = fopen("/dev/full", "we");

	assert_non_null(full);
	assert_int_equal(store_writer_new(fileno(full), &writer, &err), ERR_SYS);
	assert_string_equal(err.what, "cannot write the profile: No space left on device");
	assert_null(writer);
	fclose(full);
	profile_free(profile);
}

TEST(store, start_of_a_file_that_grows)
{
	struct profile *written = small_profile(), *profile = NULL;
	struct store_writer *writer = NULL;
	int fd = memory_file();
	size_t nr_samples = written->nr_samples;
	uint64_t nr_bytes;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(store_writer_new(fd, &writer, NULL), 0);
	assert_int_equal(store_writer_flush(writer, written, NULL), 0);
	nr_bytes = store_writer_nr_bytes(writer);
	profile_add_mark(written, 1, "later");
	assert_int_equal(store_writer_finish(writer, written, NULL), 0);
	assert_int_equal(store_read_path_start(path, nr_bytes, &profile, NULL), 0);
	assert_int_equal(profile->nr_samples, nr_samples);
	assert_int_equal(profile->nr_marks, 0);
	assert_int_equal(profile->symbols.nr_frames, 0);
	assert_false(profile->meta.complete);
	profile_free(profile);
	profile_free(written);
	store_writer_free(writer);
	close(fd);
}
