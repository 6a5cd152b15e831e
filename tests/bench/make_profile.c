// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes a made-up recording through the library, for timing report and export
 * and for measuring bytes per sample:
 *
 *	make_profile FILE [SAMPLES [STACKS [THREADS [COUNTS [BLOCKS [PERIOD_MS [MARKS [CALLS
 *		[PROCESSES]]]]]]]]]
 *
 * The shape is that of a server, by default at 500 Hz: some threads run on jittered ticks,
 * one sample in ten finds its thread asleep, and stacks come from a call graph
 * of 4000 functions in 24 modules, few of them hot and new ones turning up until
 * the end. So many functions are counted where they begin and at one of their calls, but one
 * in seven, which is refused. So many blocks are allocated, of which two in three are freed at
 * some later time. So many marks part the time evenly. So many calls of two functions are timed, of
 * which one in a hundred is slow. Of several processes the first and the last have one thread, and
 *the others have a name in common and share the rest; one begins after the other. The same
 *arguments give the same file.
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/index_set.h"
#include "profile/profile.h"
#include "store/store.h"

#define NR_MODULES	 24
#define NR_FUNCTIONS	 4000
#define SITES_PER_CALLER 6
#define PERIOD_MS	 2
#define FLUSH_PERIODS	 500

struct maker {
	struct profile *profile;
	struct store_writer *writer;
	uint64_t random;
	struct stack_id *leaves; /* the distinct stacks so far */
	uint32_t nr_leaves;
	uint64_t *last_ns; /* of each thread */
	uint64_t nr_samples;
	uint64_t period_ns;
	uint64_t nr_blocks;			/* that are to be allocated in all */
	uint64_t allocated_bytes, nr_allocated; /* what those so far stand for */
	uint64_t nr_calls, nr_timed;		/* that are to be timed in all; those so far */
	uint64_t timed_ns;			/* the end of those */
	uint32_t nr_threads, nr_processes;
};

/* xorshift64*: good enough, and the same everywhere. */
static uint64_t next_random(struct maker *maker)
{
	maker->random ^= maker->random >> 12;
	maker->random ^= maker->random << 25;
	maker->random ^= maker->random >> 27;
	return maker->random * UINT64_C(0x2545f4914f6cdd1d);
}

static uint32_t below(struct maker *maker, uint32_t limit)
{
	return (uint32_t)((next_random(maker) >> 32) * limit >> 32);
}

static double unit(struct maker *maker)
{
	return (double)(next_random(maker) >> 11) / 9007199254740992.0;
}

static void fail(const struct err *err)
{
	fprintf(stderr, "make_profile: %s\n", err->what);
	exit(1);
}

static void add_modules(struct maker *maker)
{
	char path[64];

	for (uint32_t i = 1; i <= NR_MODULES; i++) {
		struct module module = {.kind = MODULE_KIND_FILE,
					.path = path,
					.dev = 0xfe01,
					.inode = 100000 + i,
					.file_bytes = 4096 * (1 + next_random(maker) % 5000),
					.nr_build_id_bytes = 20,
					.fd = -1};

		snprintf(path, sizeof(path), "/usr/lib/x86_64-linux-gnu/libmadeup%u.so.1", i);
		for (size_t at = 0; at < module.nr_build_id_bytes; at++)
			module.build_id[at] = (uint8_t)next_random(maker);
		module_table_intern(maker->profile->modules, &module);
	}
}

/* The first process and the last one have a thread each, the others share the rest. */
static uint32_t process_of(const struct maker *maker, uint32_t thread)
{
	uint32_t inner = maker->nr_processes - 2;

	if (maker->nr_processes < 3 || !thread)
		return 0;
	if (thread + 1 == maker->nr_threads)
		return inner + 1;
	return 1 + (thread - 1) * inner / (maker->nr_threads - 2);
}

static void add_process(struct maker *maker, uint32_t number)
{
	struct profile *profile = maker->profile;
	struct profile_process process = {.pid = 1000 + 100 * (pid_t)number,
					  .parent = PROCESS_NONE};
	const char *name = !number ? "madeup" : number + 1 < maker->nr_processes ? "pool" : "late";

	process.name = profile_intern(profile, name);
	process.exe = profile_intern(profile, "/usr/bin/madeup");
	process.command = profile_intern(profile, "madeup --serve");
	profile_add_process(profile, &process);
}

static void add_threads(struct maker *maker)
{
	struct profile *profile = maker->profile;
	char name[32];

	for (uint32_t i = 0; i < maker->nr_processes; i++)
		add_process(maker, i);
	for (uint32_t i = 0, first = 0; i < maker->nr_threads; i++) {
		struct profile_thread thread = {.process = process_of(maker, i)};

		if (i && process_of(maker, i - 1) != thread.process)
			first = i;
		thread.tid = profile->processes[thread.process].pid + (pid_t)(i - first);
		snprintf(name, sizeof(name), "worker-%u", i);
		thread.name = profile_intern(profile, name);
		profile_add_thread(profile, &thread);
	}
	profile_add_command_word(profile, "madeup");
	profile_add_command_word(profile, "--serve");
	profile->meta.frequency_hz = 500;
	profile->meta.nr_cpus = 4;
	profile->meta.knows_freeing = true;
	profile->meta.start_realtime_ns = UINT64_C(1700000000) * NS_PER_SEC;
	profile->meta.exit_status = 0;
	maker->last_ns = xcalloc(maker->nr_threads, sizeof(*maker->last_ns));
}

/* A place where `function` calls somebody, or stands itself. */
static struct frame_id call_site(struct maker *maker, uint32_t function, uint32_t site)
{
	struct code_address where = {
		.module = {1 + function * NR_MODULES / NR_FUNCTIONS},
		.address = 0x1000 + (uint64_t)function * 0x180 + site * 0x2b + 5,
	};

	return profile_intern_frame(maker->profile, where);
}

/* Whom a call site calls is fixed, as in a program: a few callees each, mostly nearby. */
static uint32_t callee(uint32_t function, uint32_t site)
{
	uint64_t mixed = scramble_u64((uint64_t)function * 64 + site);

	return (uint32_t)((function + 1 + mixed % 400) % NR_FUNCTIONS);
}

/* Walk down from main to a depth of 8 to 40. */
static struct stack_id make_stack(struct maker *maker)
{
	uint32_t depth = 8 + below(maker, 17) + below(maker, 17);
	struct stack_id stack = STACK_EMPTY;
	uint32_t function = 0;

	for (uint32_t i = 0; i < depth; i++) {
		/* Programs branch near their leaves: the upper levels have few ways. */
		uint32_t ways = i + 6 < depth ? 2 : SITES_PER_CALLER;
		uint32_t site = i % 3 && i + 6 < depth ? 0 : below(maker, ways);

		stack = stack_trie_intern(maker->profile->stacks, stack,
					  call_site(maker, function, site));
		function = callee(function, site);
	}
	return stack;
}

/* A new stack now and then, until all are there; else an old one, the early ones hot (Zipf). */
static struct stack_id choose_stack(struct maker *maker, uint64_t sample, uint64_t nr_samples,
				    uint32_t nr_stacks)
{
	uint64_t due = (sample + 1) * nr_stacks / nr_samples;

	if (maker->nr_leaves < nr_stacks && maker->nr_leaves <= due) {
		uint32_t before = stack_trie_nr(maker->profile->stacks);
		struct stack_id stack = make_stack(maker);

		while (stack.v < before)
			stack = make_stack(maker);
		maker->leaves[maker->nr_leaves++] = stack;
		return stack;
	}
	return maker->leaves[(uint32_t)(pow(maker->nr_leaves, unit(maker)) - 1)];
}

static void add_sample(struct maker *maker, uint32_t thread, uint64_t time_ns,
		       struct stack_id stack)
{
	uint64_t wall_ns = time_ns - maker->last_ns[thread];
	struct sample sample = {
		.time_ns = time_ns, .thread = {thread}, .stack = stack, .nr = 1, .syscall_nr = -1};

	if (below(maker, 20) == 0)
		sample.runq_ns = below(maker, 100000);
	if (below(maker, 10) == 0) {
		sample.kind = SAMPLE_BLOCKED;
		sample.syscall_nr = (int16_t)(below(maker, 2) ? 202 : 232);
		sample.cpu_ns = below(maker, 3) ? 0 : below(maker, 200000);
		sample.blocked_ns = wall_ns - sample.runq_ns - sample.cpu_ns;
	} else {
		/* The kernel's clock and ours are read some hundred nanoseconds apart. */
		sample.blocked_ns = below(maker, 4) ? 0 : below(maker, 600);
		sample.cpu_ns =
			wall_ns - sample.runq_ns - sample.blocked_ns + below(maker, 300) - 150;
	}
	sample.end = below(maker, 200) == 0 ? STACK_END_NO_CFI : STACK_END_ROOT;
	profile_add_sample(maker->profile, &sample);
	maker->last_ns[thread] = time_ns;
	maker->nr_samples++;
}

static struct frame_id entry(struct maker *maker, uint32_t function)
{
	struct code_address where = {
		.module = {1 + function * NR_MODULES / NR_FUNCTIONS},
		.address = 0x1000 + (uint64_t)function * 0x180,
	};

	return profile_intern_frame(maker->profile, where);
}

static void refuse(struct profile *profile, uint32_t function)
{
	struct module_id module = {1 + function * NR_MODULES / NR_FUNCTIONS};
	struct profile_refusal refusal = {
		.module = profile_intern(profile, module_table_get(profile->modules, module)->path),
		.reason = profile_intern(profile, function % 2 ? "a jump leads into its beginning"
							       : "it is too short"),
	};
	char name[32];

	snprintf(name, sizeof(name), "function_%u", function);
	refusal.function = profile_intern(profile, name);
	profile_add_refusal(profile, &refusal);
}

static void add_counts(struct maker *maker, uint32_t nr)
{
	for (uint32_t i = 0; i < nr; i++) {
		struct profile_count count = {.where = entry(maker, i),
					      .callee = COUNT_NO_CALLEE,
					      .flags = COUNT_FROM_START,
					      .from_ns = 1000,
					      .to_ns = 1000};

		if (i % 7 == 6) {
			refuse(maker->profile, i);
			continue;
		}
		profile_add_count(maker->profile, &count);
		count.kind = COUNT_CALL;
		count.where = call_site(maker, i, 0);
		count.callee = entry(maker, callee(i, 0));
		profile_add_count(maker->profile, &count);
	}
}

/* As many at each moment as if each place were executed at its own, even pace. */
static void advance_counts(struct profile *profile, uint64_t now_ns)
{
	for (size_t i = 0; i < profile->probes.nr_counts; i++) {
		struct profile_count *count = &profile->probes.counts[i];

		count->calls = i % 5 * i * (now_ns / NS_PER_MS);
		count->to_ns = now_ns;
	}
}

#define MEAN_BYTES 524288

/* Sizes of which a sample by bytes consists: large blocks are met more often than small ones. */
static uint64_t block_size(struct maker *maker)
{
	return (UINT64_C(16) << next_random(maker) % 16) + 8 * (next_random(maker) % 4);
}

static void free_some_block(struct maker *maker, uint64_t now_ns)
{
	const struct profile_heap *heap = &maker->profile->heap;
	uint32_t row = (uint32_t)(next_random(maker) % heap->nr_allocations);

	if (heap->allocations[row].freed_ns)
		return;
	profile_free_allocation(maker->profile, row, now_ns, (struct thread_id){0});
	if (row % 4) /* of the others it is as if it had not been recorded */
		profile_note_freeing(maker->profile, row,
				     maker->leaves[below(maker, maker->nr_leaves)], STACK_END_ROOT);
}

static void add_block(struct maker *maker, uint64_t now_ns)
{
	struct profile_allocation row = {
		.time_ns = now_ns,
		.size_bytes = block_size(maker),
		.mean_bytes = MEAN_BYTES,
		.freed_by = THREAD_NONE,
		.kind = (uint8_t)(next_random(maker) % 3),
		.stack = maker->leaves[below(maker, maker->nr_leaves)],
	};

	maker->allocated_bytes += (uint64_t)allocation_bytes(&row);
	maker->nr_allocated += (uint64_t)allocation_blocks(&row);
	profile_add_allocation(maker->profile, &row);
	for (int i = 0; i < 2; i++)
		free_some_block(maker, now_ns);
}

/* Twice as many as samples can say: views scale to what is known exactly. */
static void add_moment(struct maker *maker, uint64_t now_ns)
{
	struct profile_heap_moment row = {
		.time_ns = now_ns,
		.rss_anon_bytes = maker->allocated_bytes / 8 / 4096 * 4096,
		.rss_file_bytes = 5 << 20,
		.heap_mapped_bytes = maker->allocated_bytes / 16 / 4096 * 4096,
		.allocated_bytes = 2 * maker->allocated_bytes,
		.nr_allocations = 2 * maker->nr_allocated,
	};

	profile_add_heap_moment(maker->profile, &row);
}

static void allocate(struct maker *maker, uint64_t nr_samples, uint64_t now_ns)
{
	while (maker->profile->heap.nr_allocations <
	       maker->nr_blocks * maker->nr_samples / nr_samples)
		add_block(maker, now_ns);
}

/* At a mark; of those that were alive then every second is lost. */
static void search_before(struct maker *maker, uint64_t at_ns)
{
	const struct profile_heap *heap = &maker->profile->heap;
	const struct profile_search row = {.time_ns = at_ns,
					   .stop_ns = 500000,
					   .nr_bytes = 3 << 20,
					   .mark = profile_intern(maker->profile, "half")};
	uint32_t search = profile_add_search(maker->profile, &row);

	for (uint32_t i = 0; i < heap->nr_allocations; i++) {
		const struct profile_allocation *block = &heap->allocations[i];

		if (block->time_ns <= at_ns && (!block->freed_ns || block->freed_ns > at_ns))
			profile_add_verdict(maker->profile,
					    &(struct profile_verdict){search, i,
								      i % 2 ? ALLOCATION_POINTED_TO
									    : ALLOCATION_LOST});
	}
}

/* Of those that are left every third is lost, every third pointed to. */
static void search(struct maker *maker, uint64_t now_ns)
{
	const struct profile_heap *heap = &maker->profile->heap;
	const struct profile_search row = {
		.time_ns = now_ns, .stop_ns = 1500000, .nr_bytes = 5 << 20};

	for (uint32_t i = 0; i < heap->nr_allocations; i++) {
		if (!heap->allocations[i].freed_ns && i % 3)
			profile_search_allocation(maker->profile, i,
						  i % 3 == 1 ? ALLOCATION_POINTED_TO
							     : ALLOCATION_LOST);
	}
	profile_add_search(maker->profile, &row);
	search_before(maker, now_ns / 2);
}

#define NR_TIMED   2 /* functions */
#define SLOW_NS	   (5 * NS_PER_MS)
#define NR_LENGTHS 34

/* The calls of one function since the last time, by the doubling of their length. */
struct timed {
	struct profile_span_sum sum;
	uint64_t nr[NR_LENGTHS];
};

static void add_timed_functions(struct maker *maker)
{
	for (uint32_t i = 0; i < NR_TIMED; i++) {
		struct profile_span span = {.where = entry(maker, 10 * i), .from_ns = 1000};

		profile_add_span(maker->profile, &span);
	}
}

static void add_call(struct maker *maker, uint32_t span, uint64_t from_ns, struct timed *timed)
{
	bool is_slow = below(maker, 100) == 0;
	double doublings = is_slow ? 23 + 3 * unit(maker) : 12 + 2 * span + 4 * unit(maker);
	struct profile_slow_call call = {.span = span,
					 .thread = below(maker, maker->nr_threads),
					 .from_ns = from_ns,
					 .length_ns = (uint64_t)exp2(doublings)};
	struct profile_span_sum *sum = &timed->sum;

	sum->nr_begun++;
	sum->total_ns += call.length_ns;
	timed->nr[(unsigned int)doublings]++;
	if (call.length_ns > sum->longest_ns) {
		sum->longest_ns = call.length_ns;
		sum->longest_from_ns = from_ns;
		sum->longest_thread = call.thread;
	}
	if (call.length_ns >= SLOW_NS)
		profile_add_slow_call(maker->profile, &call);
}

/* Those of the time since the last call of this. */
static void add_calls(struct maker *maker, uint64_t nr_samples, uint64_t now_ns)
{
	uint64_t due = maker->nr_calls * maker->nr_samples / nr_samples;
	struct timed timed[NR_TIMED] = {0};

	for (; maker->nr_timed < due; maker->nr_timed++) {
		uint32_t span = below(maker, NR_TIMED);

		add_call(maker, span,
			 maker->timed_ns +
				 (uint64_t)(unit(maker) * 0.9 * (double)(now_ns - maker->timed_ns)),
			 &timed[span]);
	}
	for (uint32_t span = 0; span < NR_TIMED; span++) {
		timed[span].sum.span = span;
		timed[span].sum.to_ns = now_ns;
		profile_add_span_sum(maker->profile, &timed[span].sum);
		for (unsigned int i = 0; i < NR_LENGTHS; i++) {
			struct profile_span_length row = {.span = span,
							  .to_ns = now_ns,
							  .least_ns = UINT64_C(1) << i,
							  .end_ns = UINT64_C(2) << i,
							  .nr = timed[span].nr[i]};

			if (row.nr)
				profile_add_span_length(maker->profile, &row);
		}
	}
	maker->timed_ns = now_ns;
}

static void add_marks(struct maker *maker, uint64_t nr, uint64_t end_ns)
{
	char text[32];

	for (uint64_t i = 0; i < nr; i++) {
		snprintf(text, sizeof(text), "mark %llu", (unsigned long long)i);
		profile_add_mark(maker->profile, end_ns * (i + 1) / (nr + 1), text);
	}
}

static void flush(struct maker *maker)
{
	struct err err = ERR_INIT;

	profile_set_counter(maker->profile, "stops", maker->nr_samples);
	if (store_writer_flush(maker->writer, maker->profile, &err) < 0)
		fail(&err);
	maker->profile->nr_samples = 0;
}

/* One process begins after the other in the first half. */
static bool has_begun(const struct maker *maker, uint32_t thread, uint64_t nr_samples)
{
	return maker->nr_samples >=
	       nr_samples / 2 * process_of(maker, thread) / maker->nr_processes;
}

static void make_samples(struct maker *maker, uint64_t nr_samples, uint32_t nr_stacks)
{
	uint64_t tick_ns = 0, flushed_ns = 0, period_ns = maker->period_ns;

	while (maker->nr_samples < nr_samples) {
		uint64_t time_ns;

		tick_ns += period_ns * 3 / 4 + next_random(maker) % (period_ns / 2);
		time_ns = tick_ns;
		for (uint32_t i = 0; i < maker->nr_threads && maker->nr_samples < nr_samples; i++) {
			if (!has_begun(maker, i, nr_samples)) {
				maker->last_ns[i] = tick_ns;
				continue;
			}
			time_ns += 12000 + below(maker, 20000);
			add_sample(maker, i, time_ns,
				   choose_stack(maker, maker->nr_samples, nr_samples, nr_stacks));
		}
		allocate(maker, nr_samples, tick_ns);
		if (tick_ns - flushed_ns >= FLUSH_PERIODS * period_ns) {
			if (maker->nr_blocks)
				add_moment(maker, tick_ns);
			if (maker->nr_calls)
				add_calls(maker, nr_samples, tick_ns);
			advance_counts(maker->profile, tick_ns);
			flush(maker);
			flushed_ns = tick_ns;
		}
	}
	if (maker->nr_blocks) {
		add_moment(maker, tick_ns);
		search(maker, tick_ns);
	}
	if (maker->nr_calls)
		add_calls(maker, nr_samples, tick_ns);
	maker->profile->meta.duration_ns = tick_ns + NS_PER_MS;
	advance_counts(maker->profile, maker->profile->meta.duration_ns);
}

static struct function_id made_up_function(struct profile *profile, uint64_t number,
					   const char *kind)
{
	char name[120], linkage_name[120], file[80];
	struct function function = {.line = (uint32_t)(10 + number % 900)};

	snprintf(name, sizeof(name), "madeup::layer%llu::%s_%llu(std::vector<int> const&)",
		 (unsigned long long)number % 40, kind, (unsigned long long)number);
	snprintf(linkage_name, sizeof(linkage_name), "_ZN6madeup6layer%lluE%s_%lluRKSt6vectorIiE",
		 (unsigned long long)number % 40, kind, (unsigned long long)number);
	snprintf(file, sizeof(file), "/usr/src/madeup/layer%llu/part%llu.cc",
		 (unsigned long long)number % 40, (unsigned long long)number % 300);
	function.name = profile_intern(profile, name);
	function.linkage_name = profile_intern(profile, linkage_name);
	function.file = profile_intern(profile, file);
	return profile_intern_function(profile, &function);
}

/* Each frame stands in a function of its own and in up to two more that were inlined there. */
static void make_symbols(struct profile *profile)
{
	profile_reset_symbols(profile);
	for (size_t i = 0; i < profile->symbols.nr_modules; i++)
		profile->symbols.modules[i].owner = owner_caller();
	for (uint32_t i = 0; i < profile->nr_frames; i++) {
		uint64_t address = profile->frames[i].where.address;
		uint64_t number = (address - 0x1000) / 0x180;
		size_t nr_inlined = address % 3;
		struct location chain[3];

		for (size_t level = 0; level <= nr_inlined; level++) {
			bool inlined = level < nr_inlined;
			struct function_id id = made_up_function(
				profile, inlined ? (number * 7 + level) % 900 : number,
				inlined ? "inlined" : "function");

			chain[level] = (struct location){
				.function = id,
				.file = profile->symbols.functions[id.v].file,
				.line = profile->symbols.functions[id.v].line +
					(uint32_t)address % 60,
			};
		}
		profile_set_chain(profile, (struct frame_id){i}, chain, nr_inlined + 1);
	}
	for (size_t i = 1; i < profile->symbols.nr_modules; i++)
		profile->symbols.modules[i].source = SYMBOL_SOURCE_DWARF;
}

int main(int argc, char **argv)
{
	uint64_t nr_samples = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000000;
	uint32_t nr_stacks = (uint32_t)(argc > 3 ? strtoul(argv[3], NULL, 10) : 100000);
	uint32_t nr_threads = (uint32_t)(argc > 4 ? strtoul(argv[4], NULL, 10) : 4);
	uint32_t nr_counts = (uint32_t)(argc > 5 ? strtoul(argv[5], NULL, 10) : 0);
	struct maker maker = {.profile = profile_new(), .random = 88172645463325252};
	struct err err = ERR_INIT;
	uint64_t nr_bytes_before_symbols, nr_marks;
	int fd;

	maker.nr_blocks = argc > 6 ? strtoull(argv[6], NULL, 10) : 0;
	maker.period_ns = (argc > 7 ? strtoull(argv[7], NULL, 10) : PERIOD_MS) * NS_PER_MS;
	nr_marks = argc > 8 ? strtoull(argv[8], NULL, 10) : 0;
	maker.nr_calls = argc > 9 ? strtoull(argv[9], NULL, 10) : 0;
	maker.nr_processes = argc > 10 ? (uint32_t)strtoul(argv[10], NULL, 10) : 1;
	maker.nr_threads = nr_threads;
	if (argc < 2 || !maker.period_ns || !nr_samples || !nr_stacks || !nr_threads ||
	    nr_counts > NR_FUNCTIONS || !maker.nr_processes || maker.nr_processes == 2 ||
	    nr_threads < maker.nr_processes) {
		fprintf(stderr, "usage: make_profile FILE [SAMPLES [STACKS [THREADS [COUNTS "
				"[BLOCKS [PERIOD_MS [MARKS [CALLS [PROCESSES]]]]]]]]]\n");
		return 2;
	}
	fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		err_sys(&err, "cannot write %s", argv[1]);
	if (fd < 0 || store_writer_new(fd, &maker.writer, &err) < 0)
		fail(&err);
	maker.leaves = xcalloc(nr_stacks, sizeof(*maker.leaves));
	add_modules(&maker);
	add_threads(&maker);
	add_counts(&maker, nr_counts);
	if (maker.nr_calls)
		add_timed_functions(&maker);
	make_samples(&maker, nr_samples, nr_stacks);
	add_marks(&maker, nr_marks, maker.profile->meta.duration_ns);
	flush(&maker);
	nr_bytes_before_symbols = store_writer_nr_bytes(maker.writer);
	make_symbols(maker.profile);
	if (store_writer_finish(maker.writer, maker.profile, &err) < 0)
		fail(&err);
	printf("%llu samples, %u stacks (%u nodes), %zu frames: %.2f bytes a sample, %llu bytes of "
	       "symbols\n",
	       (unsigned long long)maker.nr_samples, maker.nr_leaves,
	       stack_trie_nr(maker.profile->stacks), maker.profile->nr_frames,
	       (double)nr_bytes_before_symbols / (double)maker.nr_samples,
	       (unsigned long long)(store_writer_nr_bytes(maker.writer) - nr_bytes_before_symbols));
	store_writer_free(maker.writer);
	profile_free(maker.profile);
	free(maker.leaves);
	free(maker.last_ns);
	return close(fd) < 0;
}
