// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>

#include "base/buf.h"
#include "profile/merge.h"
#include "profile/profile.h"
#include "profile/runs.h"
#include "tests/unit/unit.h"

static char prog_path[] = "/bin/prog";
static char jit_path[] = "[jit]";

/* A process `pid` that spends cpu_ns in main() at 0x1000, and as much in JIT code. */
static struct profile *recording(const char *host, uint64_t start_s, pid_t pid, uint64_t cpu_ns)
{
	struct profile *profile = profile_new();
	struct module prog = {.kind = MODULE_KIND_FILE, .path = prog_path, .fd = -1};
	struct module jit = {.kind = MODULE_KIND_JIT, .path = jit_path, .owner_pid = 77, .fd = -1};
	struct profile_process process = {.pid = pid, .parent = PROCESS_NONE, .start_ns = 1};
	struct profile_process child = {.pid = pid + 1, .end_ns = 2000};
	struct profile_thread thread = {.tid = pid, .process = 0};
	struct sample sample = {.time_ns = 1000, .cpu_ns = cpu_ns, .nr = 1};
	struct frame_id main_;

	/* Texts in another order: ids differ between recordings. */
	profile_intern(profile, host);
	process.name = profile_intern(profile, "prog");
	profile->meta.hostname = profile_intern(profile, host);
	profile->meta.start_realtime_ns = start_s * UINT64_C(1000000000);
	profile->meta.duration_ns = 5000;
	profile->meta.frequency_hz = 500;
	profile->meta.complete = true;
	profile_add_command_word(profile, "prog");
	profile_add_process(profile, &process);
	profile_add_process(profile, &child);
	profile_add_thread(profile, &thread);
	main_ = profile_intern_frame(
		profile,
		(struct code_address){module_table_intern(profile->modules, &prog), 0x1000});
	sample.stack = stack_trie_intern(profile->stacks, STACK_EMPTY, main_);
	profile_add_sample(profile, &sample);
	sample.stack = stack_trie_intern(
		profile->stacks, sample.stack,
		profile_intern_frame(
			profile, (struct code_address){module_table_intern(profile->modules, &jit),
						       0x7000}));
	profile_add_sample(profile, &sample);
	profile_set_counter(profile, "stops", 10);
	profile_set_counter(profile, "hold_ns_p99", cpu_ns);
	profile_add_mark(profile, 500, host);
	return profile;
}

static void name_main(struct profile *profile, const char *name)
{
	struct function function = {.name = profile_intern(profile, name), .line = 3};
	struct location location = {.line = 4};

	profile_reset_symbols(profile);
	location.function = profile_intern_function(profile, &function);
	profile_set_chain(profile, (struct frame_id){0}, &location, 1);
	profile->symbols.modules[1].source = SYMBOL_SOURCE_DWARF;
}

static struct profile *merge_two(struct profile *one, struct profile *two)
{
	const struct profile *both[] = {one, two};
	struct profile *merged = profile_merge(both, 2);

	profile_free(one);
	profile_free(two);
	return merged;
}

TEST(merge, equal_code_is_one_and_processes_are_two)
{
	struct profile *merged = merge_two(recording("a", 100, 1, 30), recording("b", 100, 1, 12));

	assert_int_equal(merged->nr_processes, 4);
	assert_int_equal(merged->processes[0].parent, PROCESS_NONE);
	assert_int_equal(merged->processes[3].parent, 2);
	assert_int_equal(merged->nr_threads, 2);
	assert_int_equal(merged->threads[1].process, 2);
	assert_int_equal(merged->nr_samples, 4);
	assert_int_equal(merged->samples[2].thread.v, 1);
	assert_int_equal(merged->samples[2].stack.v, merged->samples[0].stack.v);
	assert_int_equal(profile_total(merged, METRIC_CPU), 2 * (30 + 12));
	assert_string_equal(profile_str(merged, merged->processes[2].name), "prog");
	profile_free(merged);
}

/* The JIT memories of two recordings have nothing to do with each other. */
TEST(merge, jit_code_stays_apart)
{
	struct profile *merged = merge_two(recording("a", 100, 1, 30), recording("b", 100, 1, 12));

	assert_int_equal(module_table_nr(merged->modules), 4);
	assert_int_equal(merged->nr_frames, 3);
	assert_int_not_equal(merged->samples[1].stack.v, merged->samples[3].stack.v);
	profile_free(merged);
}

/* A recording in which the thread has slept in a function of the kernel. */
static struct profile *with_kernel(struct profile *profile, uint64_t address)
{
	char path[] = "[kernel]";
	const struct module kernel = {.kind = MODULE_KIND_KERNEL, .path = path, .fd = -1};
	struct code_address where = {module_table_intern(profile->modules, &kernel), address};
	struct frame_id frame = profile_intern_frame(profile, where);
	const struct jit_name name = {.frame = frame, .name = profile_intern(profile, "ep_poll")};

	profile_add_jit_name(profile, &name);
	profile->samples[0].kernel = stack_trie_intern(profile->stacks, STACK_EMPTY, frame);
	return profile;
}

TEST(merge, kernels_functions_are_one)
{
	struct profile *merged = merge_two(with_kernel(recording("a", 100, 1, 30), 7),
					   with_kernel(recording("b", 100, 1, 12), 7));

	assert_int_not_equal(merged->samples[0].kernel.v, STACK_EMPTY.v);
	assert_int_equal(merged->samples[2].kernel.v, merged->samples[0].kernel.v);
	assert_int_equal(merged->samples[1].kernel.v, STACK_EMPTY.v);
	assert_int_equal(merged->jit.nr_names, 2);
	assert_int_equal(merged->jit.names[1].frame.v, merged->jit.names[0].frame.v);
	profile_free(merged);
}

static struct profile *with_span(struct profile *profile, uint64_t nr)
{
	const struct profile_span_sum sum = {
		.to_ns = 2000, .nr_begun = nr, .longest_ns = 7, .longest_from_ns = 1500};
	const struct profile_span_length length = {
		.to_ns = 2000, .least_ns = 6, .end_ns = 8, .nr = nr};

	profile_add_span(profile, &(struct profile_span){.from_ns = 10});
	profile_add_span_sum(profile, &sum);
	profile_add_span_length(profile, &length);
	profile_add_slow_call(profile,
			      &(struct profile_slow_call){.from_ns = 1500, .length_ns = 7});
	return profile;
}

TEST(merge, timed_calls_are_of_their_processes)
{
	struct profile *merged = merge_two(with_span(recording("a", 100, 1, 30), 5),
					   with_span(recording("b", 101, 9, 12), 6));
	const struct profile_spans *spans = &merged->spans;

	assert_int_equal(spans->nr, 2);
	assert_int_equal(merged->processes[spans->rows[1].process].pid, 9);
	assert_int_equal(spans->rows[1].from_ns, UINT64_C(1000000010));
	assert_int_equal(spans->sums[1].span, 1);
	assert_int_equal(spans->sums[1].nr_begun, 6);
	assert_int_equal(spans->sums[1].longest_from_ns, UINT64_C(1000001500));
	assert_int_equal(merged->threads[spans->sums[1].longest_thread].tid, 9);
	assert_int_equal(spans->lengths[1].span, 1);
	assert_int_equal(spans->lengths[1].nr, 6);
	assert_int_equal(spans->slow[1].span, 1);
	assert_int_equal(merged->threads[spans->slow[1].thread].tid, 9);
	assert_int_equal(spans->slow[1].from_ns, UINT64_C(1000001500));
	profile_free(merged);
}

/* A recording in which the thread has waited for a lock of its own, and a file of a name. */
static struct profile *with_waits(struct profile *profile, const char *name)
{
	const struct profile_wait lock = {.kind = WAIT_MUTEX, .number = 0x4040};
	struct profile_wait file = {
		.kind = WAIT_FILE, .number = 3, .place = WAIT_NO_PLACE, .owner = THREAD_NONE};

	file.name = profile_intern(profile, name);
	profile->meta.knows_waits = true;
	profile->samples[0].wait = profile_waits_intern(profile_waits(profile), &lock);
	profile->samples[1].wait = profile_waits_intern(profile_waits(profile), &file);
	profile_waits_set_peer(profile_waits(profile), 1, profile_intern(profile, "peer"));
	return profile;
}

TEST(merge, waits_are_of_their_processes)
{
	struct profile *merged = merge_two(with_waits(recording("a", 100, 1, 30), "/a"),
					   with_waits(recording("b", 100, 1, 12), "/b"));
	const struct profile_wait *rows = profile_waits(merged)->rows;

	assert_true(merged->meta.knows_waits);
	assert_int_equal(profile_waits(merged)->nr, 4);
	assert_true(rows[0].process == 0 && rows[0].owner.v == 0 && rows[0].place.v == 0);
	assert_true(rows[2].process == 2 && rows[2].owner.v == 1 && rows[2].place.v == 0);
	assert_string_equal(profile_str(merged, rows[1].name), "/a");
	assert_string_equal(profile_str(merged, rows[3].name), "/b");
	assert_string_equal(profile_str(merged, rows[3].peer), "peer");
	assert_int_equal(rows[3].owner.v, THREAD_NONE.v);
	assert_int_equal(merged->samples[0].wait, 1);
	assert_int_equal(merged->samples[3].wait, 4);
	profile_free(merged);
	/* With an older one not all is known any more. */
	merged = merge_two(with_waits(recording("a", 100, 1, 30), "/a"), recording("b", 1, 1, 12));
	assert_false(merged->meta.knows_waits);
	profile_free(merged);
}

/* A recording in which the code made at run time has this name. */
static struct profile *with_jit_name(struct profile *profile, const char *text)
{
	const struct jit_name name = {.frame = {(uint32_t)profile->nr_frames - 1},
				      .name = profile_intern(profile, text)};
	const struct jit_source source = {.module = profile->frames[name.frame.v].where.module,
					  .source = SYMBOL_SOURCE_PERF_MAP,
					  .path = profile_intern(profile, "/tmp/perf-77.map")};

	profile_add_jit_name(profile, &name);
	profile_add_jit_source(profile, &source);
	return profile;
}

TEST(merge, keeps_what_was_said_of_jit_code)
{
	struct profile *merged = merge_two(with_jit_name(recording("a", 100, 1, 30), "one"),
					   with_jit_name(recording("b", 100, 1, 12), "two"));

	assert_int_equal(merged->jit.nr_names, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct jit_name *name = &merged->jit.names[i];

		assert_string_equal(profile_str(merged, name->name), i ? "two" : "one");
		assert_int_equal(merged->frames[name->frame.v].where.module.v,
				 merged->jit.sources[i].module.v);
		assert_string_equal(profile_str(merged, merged->jit.sources[i].path),
				    "/tmp/perf-77.map");
	}
	assert_int_not_equal(merged->jit.names[0].frame.v, merged->jit.names[1].frame.v);
	profile_free(merged);
}

/* In which the child enters main() so often; JIT code could not be counted. */
static struct profile *with_counts(struct profile *profile, uint64_t calls)
{
	struct profile_count entry = {.process = 1,
				      .callee = COUNT_NO_CALLEE,
				      .flags = COUNT_FROM_START,
				      .calls = calls,
				      .from_ns = 300,
				      .to_ns = 4000};
	struct profile_count call = entry;
	struct profile_refusal refusal = {.process = 1,
					  .function = profile_intern(profile, "jit"),
					  .module = profile_intern(profile, jit_path),
					  .reason = profile_intern(profile, "it may move")};

	call.kind = COUNT_CALL;
	call.where.v = 1; /* JIT code calls main() */
	call.callee.v = 0;
	profile_add_count(profile, &entry);
	profile_add_count(profile, &call);
	profile_add_refusal(profile, &refusal);
	profile_set_counter(profile, "probe_stop_ns_max", calls);
	profile_set_counter(profile, "probe_install_ns", calls);
	return profile;
}

TEST(merge, counts_are_of_their_processes)
{
	const uint64_t ten_seconds = UINT64_C(10000000000);
	struct profile *merged = merge_two(with_counts(recording("a", 110, 1, 30), 7),
					   with_counts(recording("b", 100, 1, 12), 9));
	const struct profile_count *counts = merged->probes.counts;

	assert_int_equal(merged->probes.nr_counts, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(counts[i].process, i < 2 ? 1 : 3);
		assert_int_equal(counts[i].calls, i < 2 ? 7 : 9);
		assert_int_equal(counts[i].from_ns, 300 + (i < 2 ? ten_seconds : 0));
		assert_int_equal(counts[i].to_ns, 4000 + (i < 2 ? ten_seconds : 0));
		assert_int_equal(counts[i].flags, COUNT_FROM_START);
	}
	assert_int_equal(counts[2].where.v, counts[0].where.v);
	assert_int_equal(counts[2].callee.v, COUNT_NO_CALLEE.v);
	assert_int_equal(counts[3].callee.v, counts[0].where.v);
	assert_int_not_equal(counts[3].where.v, counts[1].where.v);
	assert_int_equal(merged->probes.nr_refusals, 2);
	assert_int_equal(merged->probes.refusals[1].process, 3);
	assert_string_equal(profile_str(merged, merged->probes.refusals[1].reason), "it may move");
	assert_string_equal(profile_str(merged, merged->probes.refusals[1].function), "jit");
	assert_string_equal(profile_str(merged, merged->probes.refusals[1].module), "[jit]");
	assert_int_equal(profile_counter(merged, "probe_install_ns"), 16);
	assert_int_equal(profile_counter(merged, "probe_stop_ns_max"), 9);
	profile_free(merged);
}

/* Counted in both parts of one recording, and not in between. */
TEST(merge, counts_of_a_process_that_goes_on)
{
	struct profile *former = recording("a", 100, 1, 30), *latter = recording("a", 101, 1, 12);
	struct profile *joined;

	former->processes[0].end_ns = former->processes[1].end_ns = 5000;
	with_counts(former, 7)->probes.counts[0].process = 0;
	with_counts(latter, 9)->probes.counts[0].process = 0;
	joined = profile_join(former, latter);
	assert_int_equal(joined->probes.nr_counts, 4);
	assert_int_equal(joined->probes.counts[0].process, 0);
	assert_int_equal(joined->probes.counts[2].process, 0);
	assert_int_equal(joined->probes.counts[0].calls, 7);
	assert_int_equal(joined->probes.counts[2].calls, 9);
	assert_int_equal(joined->probes.counts[2].from_ns, 1000000300);
	profile_free(former);
	profile_free(latter);
	profile_free(joined);
}

/* Its child allocates two blocks 1024 ns apart, the second by realloc() of the first. */
static struct profile *with_blocks(struct profile *profile, uint64_t size_bytes)
{
	struct profile_allocation row = {
		.time_ns = 1024, .size_bytes = size_bytes, .freed_by = THREAD_NONE, .stack = {1}};
	struct profile_heap_moment moment = {
		.time_ns = 1500, .process = 0, .allocated_bytes = size_bytes, .nr_allocations = 1};
	uint32_t search;

	profile_add_allocation(profile, &row);
	row.time_ns = 2048;
	row.stack.v = 2;
	row.former = 1;
	profile_add_allocation(profile, &row);
	profile_free_allocation(profile, 0, 3072, (struct thread_id){0});
	profile_move_allocation(profile, 0);
	profile_note_freeing(profile, 0, (struct stack_id){2}, STACK_END_ROOT);
	profile_add_heap_moment(profile, &moment);
	moment.time_ns = 2500;
	moment.allocated_bytes *= 2;
	moment.nr_allocations = 2;
	moment.nr_dropped = 1;
	profile_add_heap_moment(profile, &moment);
	profile_search_allocation(profile, 1, ALLOCATION_LOST);
	profile_add_search(
		profile, &(struct profile_search){.time_ns = 2600,
						  .nr_bytes = size_bytes,
						  .why_not = profile_intern(profile, "it ended")});
	search = profile_add_search(
		profile,
		&(struct profile_search){.time_ns = 2500, .mark = profile_intern(profile, "m")});
	profile_add_verdict(profile, &(struct profile_verdict){search, 1, ALLOCATION_POINTED_TO});
	return profile;
}

/* The second recording began ten seconds before the first. */
TEST(merge, blocks_are_in_time_order)
{
	struct profile *merged = merge_two(with_blocks(recording("a", 110, 1, 30), 7),
					   with_blocks(recording("b", 100, 1, 12), 9));
	const struct profile_allocation *rows = merged->heap.allocations;
	/* 9765625 times 1024 ns */
	const uint64_t ten_seconds = UINT64_C(10000000000);

	assert_int_equal(merged->heap.nr_allocations, 4);
	assert_int_equal(rows[0].size_bytes, 9);
	assert_int_equal(rows[0].time_ns, 1024);
	assert_int_equal(rows[0].freed_ns, 3072);
	assert_int_equal(rows[0].freed_by.v, rows[0].thread.v);
	assert_int_equal(rows[1].freed_ns, 0);
	assert_int_equal(rows[1].freed_by.v, THREAD_NONE.v);
	assert_int_equal(rows[2].size_bytes, 7);
	assert_int_equal(rows[2].time_ns, ten_seconds + 1024);
	assert_int_equal(rows[2].freed_ns, ten_seconds + 3072);
	assert_int_not_equal(rows[2].thread.v, rows[0].thread.v);
	assert_int_not_equal(rows[3].stack.v, rows[2].stack.v);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(rows[i].former, i == 1 ? 1 : i == 3 ? 3 : 0);
		assert_int_equal(rows[i].is_moved, i % 2 == 0);
		assert_int_equal(rows[i].freed_end, i % 2 ? 0 : STACK_END_ROOT + 1);
		assert_int_equal(rows[i].freed_stack.v, i % 2 ? 0 : rows[i + 1].stack.v);
	}
	assert_int_equal(merged->heap.nr_moments, 4);
	assert_int_equal(merged->heap.moments[0].allocated_bytes, 9);
	assert_int_equal(merged->heap.moments[3].allocated_bytes, 14);
	assert_int_equal(merged->heap.moments[3].time_ns, ten_seconds + 2500);
	assert_int_not_equal(merged->heap.moments[3].process, merged->heap.moments[0].process);
	profile_free(merged);
}

TEST(merge, searches_are_those_of_all)
{
	struct profile *merged = merge_two(with_blocks(recording("a", 110, 1, 30), 7),
					   with_blocks(recording("b", 100, 1, 12), 9));
	const struct profile_heap *heap = &merged->heap;

	assert_int_equal(heap->nr_searches, 4);
	assert_int_equal(heap->searches[0].nr_bytes, 7);
	assert_int_equal(heap->searches[0].time_ns, UINT64_C(10000000000) + 2600);
	assert_int_equal(heap->searches[2].time_ns, 2600);
	assert_int_not_equal(heap->searches[0].process, heap->searches[2].process);
	assert_string_equal(profile_str(merged, heap->searches[2].why_not), "it ended");
	/* The blocks of the first are behind those of the other. */
	assert_int_equal(heap->nr_verdicts, 2);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(heap->verdicts[i].search, 2 * i + 1);
		assert_string_equal(profile_str(merged, heap->searches[2 * i + 1].mark), "m");
		assert_int_equal(heap->verdicts[i].allocation, i ? 1 : 3);
	}
	assert_int_equal(heap->nr_searched, 2);
	assert_int_equal(heap->searched[0], 1);
	assert_int_equal(heap->searched[1], 3);
	assert_int_equal(heap->allocations[1].search, ALLOCATION_LOST);
	assert_int_equal(heap->allocations[2].search, ALLOCATION_NOT_SEARCHED);
	profile_free(merged);
}

/* Each part counts anew; what the process allocated is what both say. */
TEST(merge, allocations_of_a_process_that_goes_on_add_up)
{
	struct profile *former = recording("a", 100, 1, 30), *latter = recording("a", 101, 1, 12);
	struct profile *joined;

	former->processes[0].end_ns = former->processes[1].end_ns = 5000;
	with_blocks(former, 7);
	with_blocks(latter, 9);
	joined = profile_join(former, latter);
	assert_int_equal(joined->heap.nr_moments, 4);
	assert_int_equal(joined->heap.moments[3].process, 0);
	assert_int_equal(joined->heap.moments[2].allocated_bytes, 14 + 9);
	assert_int_equal(joined->heap.moments[3].allocated_bytes, 14 + 18);
	assert_int_equal(joined->heap.moments[3].nr_allocations, 4);
	assert_int_equal(joined->heap.moments[3].nr_dropped, 2);
	profile_free(former);
	profile_free(latter);
	profile_free(joined);
}

TEST(merge, keeps_places_in_time)
{
	const uint64_t ten_seconds = UINT64_C(10000000000);
	struct profile *merged = merge_two(recording("a", 110, 1, 30), recording("b", 100, 2, 12));

	assert_int_equal(merged->meta.start_realtime_ns, UINT64_C(100000000000));
	assert_int_equal(merged->meta.duration_ns, ten_seconds + 5000);
	assert_int_equal(merged->samples[0].time_ns, ten_seconds + 1000);
	assert_int_equal(merged->samples[2].time_ns, 1000);
	assert_int_equal(merged->processes[0].start_ns, ten_seconds + 1);
	assert_int_equal(merged->processes[0].end_ns, 0); /* it lived on */
	assert_int_equal(merged->processes[1].end_ns, ten_seconds + 2000);
	assert_int_equal(merged->marks[0].time_ns, ten_seconds + 500);
	assert_string_equal(profile_str(merged, merged->marks[1].text), "b");
	profile_free(merged);
}

TEST(merge, facts_and_counters)
{
	struct profile *two = recording("b", 100, 1, 12);
	struct profile *merged;

	two->meta.exit_status = 0;
	merged = merge_two(recording("a", 100, 1, 30), two);
	assert_string_equal(profile_str(merged, merged->meta.hostname), "a, b");
	assert_int_equal(merged->meta.frequency_hz, 500);
	assert_int_equal(merged->meta.exit_status, -1); /* they differ */
	assert_int_equal(merged->meta.nr_command, 1);
	assert_true(merged->meta.complete);
	assert_int_equal(profile_counter(merged, "stops"), 20);
	assert_int_equal(profile_counter(merged, "hold_ns_p99"), 30);
	profile_free(merged);
}

TEST(merge, symbols_come_from_who_has_them)
{
	struct profile *two = recording("b", 100, 1, 12);
	struct profile *merged;
	struct frame_symbols chain;

	name_main(two, "main");
	merged = merge_two(recording("a", 100, 1, 30), two);
	assert_int_equal(merged->symbols.nr_frames, merged->nr_frames);
	chain = merged->symbols.frames[0];
	assert_int_equal(chain.nr, 1);
	assert_string_equal(
		profile_str(
			merged,
			merged->symbols.functions[merged->symbols.locations[chain.first].function.v]
				.name),
		"main");
	assert_int_equal(merged->symbols.modules[1].source, SYMBOL_SOURCE_DWARF);
	profile_free(merged);
}

TEST(merge, without_any_symbols_there_are_none)
{
	struct profile *merged = merge_two(recording("a", 100, 1, 30), recording("a", 100, 1, 12));

	assert_int_equal(merged->symbols.nr_frames, 0);
	assert_null(merged->symbols.modules);
	assert_string_equal(profile_str(merged, merged->meta.hostname), "a");
	profile_free(merged);
}

/* A recording of process 1, which was let go at its end, and one of the same for 5000 ns after 1 s.
 */
static struct profile *join_two(const char *exe)
{
	struct profile *former = recording("a", 100, 1, 30), *latter = recording("a", 101, 1, 12);
	struct profile *joined;

	former->processes[0].end_ns = former->threads[0].end_ns = 5000;
	former->processes[0].exe = profile_intern(former, "/bin/prog");
	latter->processes[0].exe = profile_intern(latter, exe);
	latter->threads[0].start_ns = 3;
	former->processes[0].children_ns = 10;
	latter->processes[0].children_ns = 20;
	latter->processes[0].stands_for_unseen = true;
	joined = profile_join(former, latter);
	profile_free(former);
	profile_free(latter);
	return joined;
}

TEST(merge, joined_processes_go_on)
{
	const uint64_t second = UINT64_C(1000000000);
	struct profile *joined = join_two("/bin/prog");

	assert_int_equal(joined->nr_processes, 3); /* a child in each */
	assert_int_equal(joined->processes[2].parent, 0);
	assert_int_equal(joined->processes[0].start_ns, 1);
	assert_int_equal(joined->processes[0].end_ns, 0); /* it lives on */
	assert_int_equal(joined->processes[0].children_ns, 20);
	assert_true(joined->processes[0].stands_for_unseen);
	assert_int_equal(joined->nr_threads, 1);
	assert_int_equal(joined->threads[0].end_ns, 0);
	assert_int_equal(profile_total(joined, METRIC_CPU), 2 * (30 + 12));
	/* What was in between has no weight. */
	assert_int_equal(joined->nr_samples, 5);
	assert_int_equal(joined->samples[2].time_ns, second + 3);
	assert_int_equal(joined->samples[2].thread.v, 0);
	assert_int_equal(joined->samples[2].nr, 0);
	assert_int_equal(sample_weight(&joined->samples[2], METRIC_WALL), 0);
	assert_int_equal(joined->samples[3].time_ns, second + 1000);
	assert_int_equal(joined->samples[3].thread.v, 0);
	/* And its JIT memory is one. */
	assert_int_equal(joined->samples[1].stack.v, joined->samples[4].stack.v);
	profile_free(joined);
}

TEST(merge, program_of_another_exec_is_another)
{
	struct profile *joined = join_two("/bin/other");

	assert_int_equal(joined->nr_processes, 4);
	assert_int_equal(joined->processes[0].end_ns, 5000);
	assert_int_equal(joined->nr_threads, 2);
	assert_int_equal(joined->threads[1].process, 2);
	profile_free(joined);
}

TEST(merge, process_that_had_ended_does_not_go_on)
{
	struct profile *former = recording("a", 100, 1, 30), *latter = recording("a", 101, 1, 12);
	struct profile *joined;

	former->processes[0].end_ns = 1500; /* before its child */
	joined = profile_join(former, latter);
	assert_int_equal(joined->nr_processes, 4);
	assert_int_equal(joined->nr_threads, 2);
	profile_free(former);
	profile_free(latter);
	profile_free(joined);
}

static void assert_group(const struct profile *profile, const struct run_group *group,
			 const char *host, size_t nr_runs, uint64_t first_s, uint64_t last_s)
{
	assert_string_equal(profile_str(profile, group->command), "prog");
	assert_string_equal(profile_str(profile, group->hostname), host);
	assert_int_equal(group->nr_runs, nr_runs);
	assert_int_equal(group->first_ns, first_s * UINT64_C(1000000000));
	assert_int_equal(group->last_ns, last_s * UINT64_C(1000000000));
}

TEST(profile_merge, runs_are_listed)
{
	struct profile *one = recording("one", 200, 10, 1), *two = recording("two", 100, 20, 2);
	struct profile *again = recording("one", 300, 30, 3);
	const struct profile *pair[] = {one, two};
	struct profile *both = profile_merge(pair, 2);
	const struct profile *more[] = {both, again};
	struct profile *all = profile_merge(more, 2);
	struct buf title = {0};
	struct run_group *groups;
	size_t nr;

	assert_int_equal(one->runs.nr, 0);
	assert_int_equal(both->runs.nr, 2);
	assert_int_equal(all->runs.nr, 3);
	assert_int_equal(all->runs.rows[1].duration_ns, 5000);
	groups = profile_group_runs(all, &nr);
	assert_int_equal(nr, 2);
	assert_group(all, &groups[0], "one", 2, 200, 300);
	assert_group(all, &groups[1], "two", 1, 100, 100);
	profile_append_title(&title, all);
	assert_string_equal(buf_str(&title), "3 runs of prog");
	free(groups);
	buf_release(&title);
	profile_free(all);
	profile_free(both);
	profile_free(again);
	profile_free(two);
	profile_free(one);
}

TEST(profile_merge, parts_of_one_recording_are_no_runs)
{
	struct profile *former = recording("one", 200, 10, 1),
		       *latter = recording("one", 300, 10, 2);
	struct profile *joined = profile_join(former, latter);

	assert_int_equal(joined->runs.nr, 0);
	profile_free(joined);
	profile_free(former);
	profile_free(latter);
}

/* As where both are in memory yet: names are looked for in the files of modules later. */
TEST(profile_merge, parts_of_one_recording_keep_open_files_and_the_status_of_its_end)
{
	struct profile *former = recording("one", 200, 10, 1),
		       *latter = recording("one", 300, 10, 2);
	struct profile *joined, *merged;
	struct module module = {.kind = MODULE_KIND_FILE, .path = prog_path, .inode = 99, .fd = -1};
	struct module_id id;

	former->meta.exit_status = -1;
	latter->meta.exit_status = 3;
	module.fd = open("/", O_RDONLY | O_CLOEXEC);
	module_table_intern(latter->modules, &module);
	joined = profile_join(former, latter);
	merged = profile_merge((const struct profile *[]){former, latter}, 2);
	profile_free(former);
	profile_free(latter);
	assert_int_equal(joined->meta.exit_status, 3);
	assert_int_equal(merged->meta.exit_status, -1);
	id = (struct module_id){module_table_nr(joined->modules) - 1};
	assert_int_equal(module_table_get(joined->modules, id)->inode, 99);
	assert_true(fcntl(module_table_get(joined->modules, id)->fd, F_GETFD) >= 0);
	id = (struct module_id){module_table_nr(merged->modules) - 1};
	assert_int_equal(module_table_get(merged->modules, id)->fd, -1);
	profile_free(joined);
	profile_free(merged);
}
