// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The reader of profc.data on any bytes. An input whose first byte is even is the
 * file itself; else the rest is the content of one frame with a right checksum,
 * for checksums would keep a fuzzer from the records.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "base/buf.h"
#include "base/err.h"
#include "profile/heap_estimate.h"
#include "profile/heap_lives.h"
#include "profile/profile.h"
#include "store/format_priv.h"
#include "store/store.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr_bytes);

static void append_header(struct buf *file)
{
	buf_append_u32(file, FORMAT_SKIPPABLE_MAGIC);
	buf_append_u32(file, FORMAT_HEADER_CONTENT);
	buf_append(file, FORMAT_MAGIC, FORMAT_MAGIC_BYTES);
	buf_append_u32(file, FORMAT_VERSION);
	buf_append_u32(file, 0);
}

static void append_frame(struct buf *file, const uint8_t *content, size_t nr_bytes)
{
	size_t bound = ZSTD_compressBound(nr_bytes);
	size_t before = file->nr_bytes;

	file->nr_bytes =
		before + ZSTD_compress(buf_extend(file, bound), bound, content, nr_bytes, 1);
}

static void check_probes(const struct profile_probes *probes, const struct profile *profile)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < probes->nr_counts; i++) {
		const struct profile_count *count = &probes->counts[i];

		assert(count->process < profile->nr_processes);
		assert(count->where.v < profile->nr_frames && count->kind < COUNT_KIND_COUNT);
		assert(count->callee.v == COUNT_NO_CALLEE.v ||
		       count->callee.v < profile->nr_frames);
		assert(sum + count->calls >= sum);
		sum += count->calls;
	}
	for (size_t i = 0; i < probes->nr_refusals; i++)
		assert(probes->refusals[i].process < profile->nr_processes);
}

static void check_waits(const struct profile *profile)
{
	for (size_t i = 0; i < profile_waits(profile)->nr; i++) {
		const struct profile_wait *row = &profile_waits(profile)->rows[i];

		assert(row->process < profile->nr_processes && row->kind < WAIT_KIND_COUNT);
		assert(row->place.v == WAIT_NO_PLACE.v || row->place.v < profile->nr_frames);
		assert(row->owner.v == THREAD_NONE.v || row->owner.v < profile->nr_threads);
		assert(row->name.v < strtab_nr(profile->strings));
		assert(row->peer.v < strtab_nr(profile->strings));
	}
	for (size_t i = 0; i < profile->nr_samples; i++)
		assert(profile->samples[i].wait <= profile_waits(profile)->nr);
}

static void check_heap(const struct profile_heap *heap, const struct profile *profile)
{
	struct heap_estimate estimate;
	struct heap_lives lives;
	double sum = 0, blocks = 0;

	heap_estimate_init(&estimate, profile);
	heap_lives_init(&lives, profile);
	for (size_t i = 0; i < heap->nr_allocations; i++) {
		const struct profile_allocation *row = &heap->allocations[i];
		struct heap_weight weight;

		assert(row->thread.v < profile->nr_threads && row->kind < ALLOCATION_KIND_COUNT);
		assert(row->stack.v < stack_trie_nr(profile->stacks));
		assert(row->end < STACK_END_COUNT && row->search < ALLOCATION_SEARCH_COUNT);
		assert(row->freed_by.v == THREAD_NONE.v || row->freed_by.v < profile->nr_threads);
		assert(!row->freed_ns || row->freed_ns >= row->time_ns);
		assert(!i || row[-1].time_ns <= row->time_ns);
		assert(!row->is_moved || row->freed_ns);
		assert(!row->freed_end || (row->freed_ns && row->freed_by.v != THREAD_NONE.v));
		assert(row->freed_stack.v < stack_trie_nr(profile->stacks));
		assert(row->freed_end <= STACK_END_COUNT);
		assert(lives.first[i] <= i && lives.last[i] >= i);
		assert(lives.last[i] < heap->nr_allocations);
		weight = heap_estimate_weight(&estimate, row);
		sum += weight.bytes;
		blocks += weight.blocks;
	}
	assert(sum < 0x1p63 && blocks < 0x1p63);
	heap_lives_release(&lives);
	heap_estimate_release(&estimate);
	for (size_t i = 0; i < heap->nr_moments; i++)
		assert(heap->moments[i].process < profile->nr_processes);
	for (size_t i = 0; i < heap->nr_searches; i++) {
		assert(heap->searches[i].process < profile->nr_processes);
		assert(heap->searches[i].why_not.v < strtab_nr(profile->strings));
	}
	for (size_t i = 0; i < heap->nr_searched; i++)
		assert(heap->searched[i] < heap->nr_allocations);
}

/* What every view relies on: references are in bounds, sums do not overflow. */
static void check(const struct profile *profile)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < profile->nr_samples; i++) {
		const struct sample *sample = &profile->samples[i];

		assert(sample->thread.v < profile->nr_threads);
		assert(sample->stack.v < stack_trie_nr(profile->stacks));
		assert(sample->kind < SAMPLE_KIND_COUNT && sample->end < STACK_END_COUNT);
		assert(sum + sample_weight(sample, METRIC_WALL) >= sum);
		sum += sample_weight(sample, METRIC_WALL);
	}
	for (size_t i = 0; i < profile->nr_threads; i++)
		assert(profile->threads[i].process < profile->nr_processes);
	for (size_t i = 0; i < profile->nr_processes; i++)
		assert(profile->processes[i].parent == PROCESS_NONE ||
		       profile->processes[i].parent < i);
	for (uint32_t i = 1; i < stack_trie_nr(profile->stacks); i++) {
		struct stack_id id = {i};

		assert(stack_trie_frame(profile->stacks, id).v < profile->nr_frames);
		assert(stack_trie_parent(profile->stacks, id).v < i);
	}
	check_probes(&profile->probes, profile);
	check_waits(profile);
	check_heap(&profile->heap, profile);
	for (size_t i = 0; i < profile->symbols.nr_frames; i++)
		assert(profile->symbols.frames[i].first + (uint64_t)profile->symbols.frames[i].nr <=
		       profile->symbols.nr_locations);
	for (size_t i = 0; i < profile->symbols.nr_locations; i++)
		assert(profile->symbols.locations[i].function.v < profile->symbols.nr_functions);
}

static void read_names(int fd)
{
	struct profile *profile = NULL;
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (store_read_names(path, &profile, NULL) == 0) {
		assert(!profile->nr_samples && !profile->heap.nr_allocations);
		check(profile);
	}
	profile_free(profile);
}

static void read_file(const struct buf *file)
{
	struct store_salvage salvage = {0};
	struct profile *profile = NULL;
	struct err err = ERR_INIT;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, file->bytes, file->nr_bytes) != (ssize_t)file->nr_bytes ||
	    lseek(fd, 0, SEEK_SET) != 0)
		abort();
	if (store_read(fd, &profile, &salvage, &err) == 0)
		check(profile);
	else
		assert(!profile && err.code && err.what[0]);
	profile_free(profile);
	read_names(fd);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr_bytes)
{
	struct buf file = {0};

	if (!nr_bytes)
		return 0;
	if (bytes[0] % 2 == 0) {
		buf_append(&file, bytes + 1, nr_bytes - 1);
	} else {
		append_header(&file);
		append_frame(&file, bytes + 1, nr_bytes - 1);
	}
	read_file(&file);
	buf_release(&file);
	return 0;
}
