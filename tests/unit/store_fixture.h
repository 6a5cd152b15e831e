/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TESTS_UNIT_STORE_FIXTURE_H
#define PROFC_TESTS_UNIT_STORE_FIXTURE_H

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "profile/profile.h"
#include "store/store.h"
#include "tests/unit/unit.h"

/* A small profile, the file made of it, and ways to read a file held in memory. */
static char libc_path[] = "/usr/lib/libc.so.6";

static inline int memory_file(void)
{
	int fd = memfd_create("profc.data", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static inline struct buf file_bytes(int fd)
{
	struct buf bytes = {0};
	struct stat status;

	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(
		pread(fd, buf_extend(&bytes, (size_t)status.st_size), (size_t)status.st_size, 0),
		status.st_size);
	return bytes;
}

static inline int read_bytes(const uint8_t *bytes, size_t nr_bytes, struct profile **profile,
			     struct store_salvage *salvage, struct err *err)
{
	int fd = memory_file();
	int status;

	assert_int_equal(write(fd, bytes, nr_bytes), nr_bytes);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	status = store_read(fd, profile, salvage, err);
	close(fd);
	return status;
}

static inline struct sample sample_at(uint64_t time_ns, uint32_t thread, uint32_t stack)
{
	return (struct sample){.time_ns = time_ns,
			       .cpu_ns = 1900000,
			       .runq_ns = 100000,
			       .thread = {thread},
			       .stack = {stack},
			       .nr = 1,
			       .syscall_nr = -1};
}

/* A process with one thread, main() calling work() in libc. */
static inline struct profile *small_profile(void)
{
	struct profile *profile = profile_new();
	struct module libc = {.kind = MODULE_KIND_FILE,
			      .path = libc_path,
			      .dev = 0xfd01,
			      .inode = 123456,
			      .file_bytes = 2000000,
			      .build_id = {0xde, 0xad, 0xbe, 0xef},
			      .nr_build_id_bytes = 4,
			      .deleted = true,
			      .modified_ns = 1700000000123456789,
			      .image_offset = 8192,
			      .fingerprint = 0x123456789abcdef0,
			      .fd = -1};
	struct profile_process process = {.pid = 4711, .parent = PROCESS_NONE, .start_ns = 5};
	struct profile_thread thread = {.tid = 4711, .start_ns = 5};
	struct module_id module = module_table_intern(profile->modules, &libc);
	struct frame_id main_ =
		profile_intern_frame(profile, (struct code_address){module, 0x1130});
	struct frame_id work = profile_intern_frame(profile, (struct code_address){module, 0x1020});
	struct stack_id stack = stack_trie_intern(profile->stacks, STACK_EMPTY, main_);

	stack_trie_intern(profile->stacks, stack, work);
	profile_add_command_word(profile, "./prog");
	profile_add_command_word(profile, "--fast");
	profile->meta.hostname = profile_intern(profile, "vulcan");
	profile->meta.frequency_hz = 500;
	profile->meta.knows_calls = true;
	profile->meta.within = profile_intern(profile, "serve");
	process.split = (struct cpu_split){.user_ns = 0, .system_ns = 30000000, .known = true};
	process.name = thread.name = profile_intern(profile, "prog");
	process.exe = profile_intern(profile, "/usr/bin/prog");
	profile_add_process(profile, &process);
	profile_add_thread(profile, &thread);
	return profile;
}

/* What a program says of its code, though no other than what there is. */
static inline void add_jit(struct profile *profile)
{
	struct jit_name name = {.frame = {1},
				.name = profile_intern(profile, "js:work (a)"),
				.file = profile_intern(profile, "a.js"),
				.line = 7,
				.function_line = 6};
	struct jit_source source = {.module = {1},
				    .source = SYMBOL_SOURCE_JITDUMP,
				    .path = profile_intern(profile, "/tmp/jit-1.dump"),
				    .problem = profile_intern(profile, "damaged")};

	name.function_file = name.file;
	profile_add_jit_name(profile, &name);
	profile_add_jit_source(profile, &source);
}

/* main() is entered once, and calls work(), which could not be counted by itself. */
static inline void add_counts(struct profile *profile)
{
	struct profile_count entry = {.where = {0},
				      .callee = COUNT_NO_CALLEE,
				      .flags = COUNT_FROM_START,
				      .calls = 1,
				      .from_ns = 5,
				      .to_ns = 1000};
	struct profile_count call = {.where = {0},
				     .callee = {1},
				     .kind = COUNT_CALL,
				     .calls = 500000,
				     .from_ns = 7,
				     .to_ns = 1000};
	struct profile_refusal refusal = {.function = profile_intern(profile, "work"),
					  .module = profile_intern(profile, libc_path),
					  .reason = profile_intern(profile, "too short")};

	profile_add_count(profile, &entry);
	profile_add_count(profile, &call);
	profile_add_refusal(profile, &refusal);
}

/* Calls of main() are timed: one of 3 us, and one of 70 us in a thread that is known. */
static inline void add_spans(struct profile *profile)
{
	const struct profile_span span = {.where = {0}, .from_ns = 5};
	const struct profile_span_sum sum = {.to_ns = 900000,
					     .nr_begun = 3,
					     .total_ns = 73000,
					     .longest_ns = 70000,
					     .longest_from_ns = 40000};
	const struct profile_span_length shorter = {
		.to_ns = 900000, .least_ns = 2900, .end_ns = 3200, .nr = 1};
	const struct profile_span_length longer = {
		.to_ns = 900000, .least_ns = 68000, .end_ns = 76000, .nr = 1};

	profile_add_span(profile, &span);
	profile_add_span_sum(profile, &sum);
	profile_add_span_length(profile, &shorter);
	profile_add_span_length(profile, &longer);
	profile_add_slow_call(profile,
			      &(struct profile_slow_call){.from_ns = 40000, .length_ns = 70000});
}

/* work() allocates three blocks, one of them frees main(), by realloc(), before the file has it. */
static inline void add_blocks(struct profile *profile)
{
	struct profile_allocation row = {.time_ns = 2048,
					 .size_bytes = 100,
					 .mean_bytes = 524288,
					 .freed_by = THREAD_NONE,
					 .stack = {2}};
	struct profile_heap_moment moment = {.time_ns = 3000000,
					     .rss_anon_bytes = 40960,
					     .rss_file_bytes = 8192,
					     .allocated_bytes = 700000,
					     .nr_allocations = 7000};

	profile_add_allocation(profile, &row);
	row.time_ns = 5000 * SAMPLE_TIME_GRAIN_NS;
	row.size_bytes = 1 << 20;
	row.kind = ALLOCATION_MAP;
	row.mean_bytes = 0;
	row.end = STACK_END_DEPTH_LIMIT;
	profile_add_allocation(profile, &row);
	profile_free_allocation(profile, 1, 6000 * SAMPLE_TIME_GRAIN_NS, (struct thread_id){0});
	profile_move_allocation(profile, 1);
	profile_note_freeing(profile, 1, (struct stack_id){1}, STACK_END_ROOT);
	row.time_ns++;
	row.former = 2;
	row.kind = ALLOCATION_NEW;
	row.mean_bytes = 262144;
	profile_add_allocation(profile, &row);
	profile_add_heap_moment(profile, &moment);
}

/* Out of order: the later block was searched first. */
static inline void search_blocks(struct profile *profile)
{
	const struct profile_search done = {
		.time_ns = 13000001, .stop_ns = 1700, .nr_bytes = 81920};
	const struct profile_search failed = {.time_ns = 12000000,
					      .why_not = profile_intern(profile, "too short")};

	profile_search_allocation(profile, 3, ALLOCATION_LOST);
	profile_search_allocation(profile, 2, ALLOCATION_POINTED_TO);
	profile_add_search(profile, &done);
	profile_add_search(profile, &failed);
}

static inline void search_at_mark(struct profile *profile)
{
	const struct profile_search row = {
		.time_ns = 9000000, .stop_ns = 5, .mark = profile_intern(profile, "warm")};
	uint32_t search = profile_add_search(profile, &row);

	profile_add_verdict(profile, &(struct profile_verdict){search, 3, ALLOCATION_POINTED_TO});
	profile_add_verdict(profile, &(struct profile_verdict){search, 1, ALLOCATION_LOST});
}

/* One of them is freed later, another one allocated. */
static inline void change_blocks(struct profile *profile)
{
	struct profile_allocation row = {
		.time_ns = 7000 * SAMPLE_TIME_GRAIN_NS, .freed_by = THREAD_NONE, .former = 1};
	struct profile_heap_moment moment = {.time_ns = 13000000,
					     .rss_anon_bytes = 36864,
					     .rss_shmem_bytes = 4096,
					     .swap_bytes = 12288,
					     .heap_mapped_bytes = 16384,
					     .allocated_bytes = 900000,
					     .nr_allocations = 9000,
					     .nr_dropped = 3};

	profile_free_allocation(profile, 0, 8000 * SAMPLE_TIME_GRAIN_NS, (struct thread_id){0});
	profile_move_allocation(profile, 0);
	profile_note_freeing(profile, 0, STACK_EMPTY, STACK_END_NOT_TAKEN);
	profile_add_allocation(profile, &row);
	profile_add_heap_moment(profile, &moment);
	search_blocks(profile);
	search_at_mark(profile);
}

static inline void add_symbols(struct profile *profile)
{
	struct function main_ = {.name = profile_intern(profile, "main"),
				 .file = profile_intern(profile, "main.c"),
				 .line = 10};
	struct function work = {.name = profile_intern(profile, "work"), .line = 3};
	struct location chain[2] = {{.line = 4, .file = main_.file},
				    {.line = 12, .file = main_.file}};

	profile_reset_symbols(profile);
	chain[1].function = profile_intern_function(profile, &main_);
	chain[0].function = profile_intern_function(profile, &work);
	profile_set_chain(profile, (struct frame_id){1}, chain, 2);
	profile_set_chain(profile, (struct frame_id){0}, &chain[1], 1);
	profile->symbols.modules[1] =
		(struct module_symbols){.source = SYMBOL_SOURCE_SYMTAB,
					.problem = profile_intern(profile, "stripped"),
					.owner = owner_of_user(1234)};
	profile_add_source(profile,
			   &(struct profile_source){.file = main_.file,
						    .nr_bytes = 1234,
						    .modified_ns = 1700000000987654321,
						    .text = profile_intern(profile, "work();\n")});
	profile_add_listing(profile, &(struct profile_listing){
					     .module = {1},
					     .start = 0x1000,
					     .end = 0x1010,
					     .text = profile_intern(profile, " 1000:\tret\n")});
}

/* It works on a route, and then on one for a user. */
static inline void add_labels(struct profile *profile)
{
	struct profile_label route = {.key = profile_intern(profile, "http.route"),
				      .value = profile_intern(profile, "/a")};
	struct profile_label user = {.key = profile_intern(profile, "user"),
				     .value = profile_intern(profile, "eve")};

	profile->processes[0].context = profile_intern(profile, "tls_v1");
	profile->processes[0].context_problem = profile_intern(profile, "no loader");
	user.outer = profile_labels_intern(profile_labels(profile), &route);
	profile_labels_intern(profile_labels(profile), &user);
}

/* What the thread waits for: a lock that itself has, and a socket whose peer is found later. */
static inline void add_waits(struct profile *profile)
{
	struct profile_wait lock = {.kind = WAIT_MUTEX, .number = 0x4040, .place = {1}};
	struct profile_wait socket = {.kind = WAIT_FILE,
				      .number = 7,
				      .place = WAIT_NO_PLACE,
				      .name = profile_intern(profile, "socket:[5]"),
				      .owner = THREAD_NONE};

	profile->meta.knows_waits = true;
	profile_waits_intern(profile_waits(profile), &lock);
	profile_waits_intern(profile_waits(profile), &socket);
}

/* Writes three flushes: ten samples, ten more with a renamed process, symbols and the end. */
static inline int write_small_profile(struct profile *profile)
{
	struct store_writer *writer = NULL;
	struct err err = ERR_INIT;
	int fd = memory_file();

	assert_int_equal(store_writer_new(fd, &writer, &err), 0);
	add_counts(profile);
	add_spans(profile);
	add_blocks(profile);
	add_waits(profile);
	add_labels(profile);
	for (uint32_t i = 0; i < 10; i++) {
		struct sample sample = sample_at(2000000 * (i + 1), 0, 1 + i % 2);

		profile_add_sample(profile, &sample);
	}
	assert_int_equal(store_writer_flush(writer, profile, &err), 0);
	profile->nr_samples = 0;
	for (uint32_t i = 10; i < 20; i++) {
		struct sample sample = sample_at(2000000 * (i + 1), 0, 2);

		sample.wait = i % 3;
		sample.labels = i % 3;
		sample.kernel.v = i % 2;
		profile_add_sample(profile, &sample);
	}
	profile->processes[0].name = profile_intern(profile, "renamed");
	profile_waits_set_peer(profile_waits(profile), 1,
			       profile_intern(profile, "socket 10.0.0.1:80"));
	profile->processes[0].end_ns = 41000000;
	profile_set_counter(profile, "stops", 20);
	change_blocks(profile);
	profile->probes.counts[1].calls = 1000000;
	profile->probes.counts[0].to_ns = profile->probes.counts[1].to_ns = 40000000;
	assert_int_equal(store_writer_flush(writer, profile, &err), 0);
	profile->nr_samples = 0;
	profile_add_mark(profile, 40000000, "warm");
	profile_add_other(
		profile, &(struct profile_other){profile_intern(profile, "cc1"), false, 123456789});
	profile_add_other(profile,
			  &(struct profile_other){profile_intern(profile, "make"), true, 5});
	advances_add(&profile->advances,
		     &(struct profile_advance){.time_ns = 6000000,
					       .amount = 17,
					       .before = {1},
					       .after = {2},
					       .counter = KERNEL_COUNTER_READ_BYTES,
					       .is_seen = true});
	add_jit(profile);
	profile_set_counter(profile, "stops", 21);
	profile->probes.counts[0].to_ns = profile->probes.counts[1].to_ns = 41000000;
	profile->meta.duration_ns = 42000000;
	profile->meta.exit_status = 0x300;
	add_symbols(profile);
	assert_int_equal(store_writer_finish(writer, profile, &err), 0);
	assert_int_equal(store_writer_nr_bytes(writer), lseek(fd, 0, SEEK_CUR));
	store_writer_free(writer);
	return fd;
}

static inline struct buf small_file(void)
{
	struct profile *profile = small_profile();
	int fd = write_small_profile(profile);
	struct buf bytes = file_bytes(fd);

	close(fd);
	profile_free(profile);
	return bytes;
}

#endif
