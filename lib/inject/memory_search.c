// SPDX-License-Identifier: GPL-2.0-or-later
/* Searches the memory of a stopped process for pointers. */
#include "inject/memory_search.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/address.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/minmax.h"
#include "heap/heap_shared.h"
#include "heap/pointer_search.h"
#include "inject/region.h"
#include "inject/stopped.h"
#include "proc/maps.h"
#include "proc/read.h"
#include "proc/target_memory.h"
#include "proc/touched.h"

#define PIECE_PAGES   UINT64_C(256)
#define LAST_BYTES    (sizeof(uint64_t) - 1)
#define OWN_PARTS_MAX 64
/* A process is stopped for at most this long, in which some ten GB are searched. */
#define SEARCH_NS_MAX  (10 * NS_PER_SEC)
#define RED_ZONE_BYTES 128 /* below a stack pointer, which the ABI lets functions use */
/* Bytes of a stack in which the stub's frame is searched. */
#define PROBE_STACK_BYTES 1024

/* Flags of a page in /proc/PID/pagemap (Documentation/admin-guide/mm/pagemap.rst). */
#define PAGE_PRESENT  (UINT64_C(1) << 63)
#define PAGE_SWAPPED  (UINT64_C(1) << 62)
#define PAGE_NOT_ANON (UINT64_C(1) << 61) /* as in its file */

struct range {
	uint64_t start, end;
};

/* A thread: its stack pointer, and the address of its data. */
struct stack_place {
	uint64_t sp, thread_pointer;
};

struct searching {
	struct memory_search *search;
	struct stack_place *stacks; /* owned, sorted by sp */
	size_t nr_stacks;
	/* Owned: the last bytes before those searched now, PIECE_PAGES pages, and some zeros. */
	uint8_t *bytes;
	uint64_t end; /* address after the last searched byte */
	struct buf maps;
	int pagemap_fd;
	struct target_memory *memory; /* owned; NULL: may not be read */
	uint64_t pages[PIECE_PAGES];
	struct range own[OWN_PARTS_MAX]; /* memory of our probes, which has these very pointers */
	size_t nr_own;
	uint64_t nr_unreadable_bytes;
	bool is_late;  /* the process was stopped for too long */
	bool is_ended; /* the caller said so */
};

static int by_sp(const void *left, const void *right)
{
	const struct stack_place *a = left;
	const struct stack_place *b = right;

	return a->sp < b->sp ? -1 : a->sp > b->sp;
}

static void note_threads(struct searching *searching, const struct stopped *stopped)
{
	searching->stacks = xcalloc(stopped->nr + 1, sizeof(*searching->stacks));
	for (size_t i = 0; i < stopped->nr; i++) {
		const struct stopped_thread *thread = &stopped->threads[i];
		uint64_t words[sizeof(thread->regs) / sizeof(uint64_t)];

		memcpy(words, &thread->regs, sizeof(words));
		for (size_t k = 0; k < sizeof(words) / sizeof(*words); k++)
			pointer_search_bytes(searching->search->pointers, 0, &words[k], 1);
		searching->stacks[searching->nr_stacks++] =
			(struct stack_place){.sp = stopped_stack_pointer(thread),
					     .thread_pointer = stopped_thread_pointer(thread)};
	}
	qsort(searching->stacks, searching->nr_stacks, sizeof(*searching->stacks), by_sp);
}

/* The lowest stack that begins in a mapping; or NULL. */
static const struct stack_place *stack_in(const struct searching *searching,
					  const struct proc_map *map)
{
	size_t first = 0, nr = searching->nr_stacks;

	while (nr) {
		size_t half = nr / 2;

		if (searching->stacks[first + half].sp < map->start) {
			first += half + 1;
			nr -= half + 1;
		} else {
			nr = half;
		}
	}
	return first < searching->nr_stacks && searching->stacks[first].sp < map->end
		       ? &searching->stacks[first]
		       : NULL;
}

/* A tracer can also read memory that a program has closed to itself, as guarded heaps do. */
static size_t read_memory(const struct searching *searching, uint64_t address, void *out,
			  size_t nr_bytes)
{
	return searching->memory ? target_memory_read(searching->memory, address, out, nr_bytes)
				 : 0;
}

/* Reads written pages, all at once, as the process is stopped. */
static size_t read_written(const struct searching *searching, uint64_t address, void *out,
			   size_t nr_bytes)
{
	struct iovec here = {.iov_base = out, .iov_len = nr_bytes};
	struct iovec there = {.iov_base = (void *)(uintptr_t)address, .iov_len = nr_bytes};
	ssize_t got = process_vm_readv(searching->search->pid, &here, 1, &there, 1, 0);

	return got > 0 ? (size_t)got : read_memory(searching, address, out, nr_bytes);
}

/*
 * For a thread in the blob, or in the allocator that the blob has called: its registers are in
 * struct heap_frame, and nothing below that belongs to the program.
 */
static uint64_t behind_probe(const struct searching *searching, uint64_t sp)
{
	uint64_t words[PROBE_STACK_BYTES / sizeof(uint64_t)];
	size_t nr = read_memory(searching, sp, words, sizeof(words)) / sizeof(*words);

	for (size_t i = 0; i < nr; i++) {
		if (words[i] == ((sp + i * sizeof(*words)) ^ HEAP_MARKER_KEY))
			return sp + i * sizeof(*words);
	}
	return sp - RED_ZONE_BYTES;
}

static bool is_named(const struct proc_map *map, const char *name)
{
	return map->nr_path_bytes >= strlen(name) && memcmp(map->path, name, strlen(name)) == 0;
}

/*
 * Words that returned functions have left are no pointers that the program keeps. A mapping is a
 * thread's stack if the thread's data is above the stack pointer, as C libraries place it, and a
 * guard is below. Stacks in memory that a program manages itself are not recognised.
 */
static uint64_t used_from(const struct searching *searching, const struct proc_map *map,
			  bool has_guard)
{
	const struct stack_place *stack = stack_in(searching, map);
	bool is_stack = is_named(map, "[stack]");

	if (!stack)
		return map->start;
	is_stack |=
		has_guard && stack->thread_pointer >= stack->sp && stack->thread_pointer < map->end;
	if (!is_stack || stack->sp - map->start < RED_ZONE_BYTES)
		return map->start;
	return behind_probe(searching, stack->sp & ~(uint64_t)(sizeof(uint64_t) - 1));
}

/* A pointer may begin in the last bytes of one run, and end in the first ones of the next. */
static void search_bytes(struct searching *searching, uint64_t start, size_t nr_bytes)
{
	uint8_t *bytes = searching->bytes;
	size_t nr_before = start == searching->end ? LAST_BYTES : 0;

	memset(bytes + LAST_BYTES + nr_bytes, 0, LAST_BYTES);
	pointer_search_bytes(searching->search->pointers, start - nr_before,
			     bytes + LAST_BYTES - nr_before, nr_before + nr_bytes);
	memmove(bytes, bytes + nr_bytes, LAST_BYTES);
	searching->end = start + nr_bytes;
}

/* Searches adjacent written pages; those that cannot be read are skipped and counted. */
static void search_run(struct searching *searching, uint64_t start, uint64_t end)
{
	while (start < end) {
		size_t got =
			read_written(searching, start, searching->bytes + LAST_BYTES, end - start);
		uint64_t next = page_start(start) + page_bytes();

		if (got)
			search_bytes(searching, start, got);
		searching->search->nr_bytes += got;
		start += got;
		if (start < end && !got) {
			searching->nr_unreadable_bytes += next - start;
			start = next;
		}
	}
}

static bool is_written(uint64_t page)
{
	return (page & (PAGE_PRESENT | PAGE_SWAPPED)) && !(page & PAGE_NOT_ANON);
}

static void search_piece(struct searching *searching, uint64_t start, uint64_t end)
{
	uint64_t first = start / page_bytes();
	size_t nr = (size_t)(page_align(end) / page_bytes() - first);
	ssize_t got = pread(searching->pagemap_fd, searching->pages, nr * sizeof(uint64_t),
			    (off_t)(first * sizeof(uint64_t)));
	size_t i = 0;

	if (got != (ssize_t)(nr * sizeof(uint64_t))) {
		searching->nr_unreadable_bytes += end - start;
		return;
	}
	while (i < nr) {
		size_t begun = i;

		while (i < nr && is_written(searching->pages[i]))
			i++;
		if (i > begun)
			search_run(searching, max_u64(start, (first + begun) * page_bytes()),
				   min_u64(end, (first + i) * page_bytes()));
		else
			i++;
	}
}

static bool shall_end(struct searching *searching)
{
	const struct memory_search *search = searching->search;

	searching->is_late |= clock_monotonic_ns() - search->at_ns > SEARCH_NS_MAX;
	searching->is_ended |= search->is_ended && search->is_ended(search->context);
	return searching->is_late || searching->is_ended;
}

static void search_pieces(struct searching *searching, uint64_t start, uint64_t end)
{
	while (start < end && !shall_end(searching)) {
		uint64_t next = min_u64(end, (start / page_bytes() + PIECE_PAGES) * page_bytes());

		search_piece(searching, start, next);
		start = next;
	}
}

static void search_range(struct searching *searching, uint64_t start, uint64_t end)
{
	while (start < end && !shall_end(searching)) {
		uint64_t next = proc_touched_from(searching->pagemap_fd, &start, end);

		search_pieces(searching, start, next);
		start = next;
	}
}

/* Searches all but our own ranges, which are few. */
static void search_around(struct searching *searching, uint64_t start, uint64_t end)
{
	while (start < end) {
		uint64_t next = end, behind = end;

		for (size_t i = 0; i < searching->nr_own; i++) {
			const struct range *own = &searching->own[i];

			if (own->end <= start || own->start >= next)
				continue;
			next = max_u64(start, own->start);
			behind = own->end;
		}
		search_range(searching, start, next);
		start = behind;
	}
}

static void add_own(struct searching *searching, uint64_t address, uint64_t nr_bytes)
{
	if (searching->nr_own < OWN_PARTS_MAX && nr_bytes <= UINT64_MAX - address)
		searching->own[searching->nr_own++] =
			(struct range){.start = address, .end = address + nr_bytes};
}

/* The header of a region says where its private memory is, also in a forked child. */
static void note_own(struct searching *searching, const struct proc_map *map)
{
	struct region_header header;

	if (map->offset || map->shared || !is_named(map, "/memfd:" REGION_NAME) ||
	    read_memory(searching, map->start, &header, sizeof(header)) != sizeof(header) ||
	    !region_is_of_this_version(&header))
		return;
	add_own(searching, header.private_address, header.private_bytes);
	add_own(searching, header.owners_address, header.owners_bytes);
}

/*
 * Private memory and changed pages of private file mappings, even if the process has no access to
 * them any more. "[v...": the kernel's vvar, vdso.
 */
static bool is_searched(const struct proc_map *map)
{
	return !map->shared && !is_named(map, "[v");
}

static void search_maps(struct searching *searching)
{
	const char *text = buf_str(&searching->maps);
	size_t nr_bytes = searching->maps.nr_bytes;
	struct proc_maps_iter iter = proc_maps_over(text, nr_bytes);
	uint64_t guard_end = 0;
	struct proc_map map;

	while (proc_maps_next(&iter, &map) == 1)
		note_own(searching, &map);
	iter = proc_maps_over(text, nr_bytes);
	while (proc_maps_next(&iter, &map) == 1) {
		if (is_searched(&map))
			search_around(searching, used_from(searching, &map, guard_end == map.start),
				      map.end);
		if (!map.readable && !map.writable && !map.executable)
			guard_end = map.end;
	}
}

static int search_stopped(struct searching *searching, const struct stopped *stopped,
			  struct err *err)
{
	pid_t pid = searching->search->pid;

	if (!proc_read_process_file(pid, "maps", &searching->maps))
		return err_sys(err, "cannot read the memory map of process %d", (int)pid);
	note_threads(searching, stopped);
	search_maps(searching);
	if (searching->is_ended)
		return err_set(err, ERR_LIMIT,
			       "the end was requested before all memory of process %d was searched",
			       (int)pid);
	if (searching->is_late)
		return err_set(
			err, ERR_LIMIT,
			"the memory of process %d is too large to be searched while it is stopped",
			(int)pid);
	if (searching->nr_unreadable_bytes)
		return err_set(err, ERR_UNSUPPORTED,
			       "%llu bytes of the memory of process %d cannot be read",
			       (unsigned long long)searching->nr_unreadable_bytes, (int)pid);
	return 0;
}

static int stop_and_search(struct searching *searching, struct err *err)
{
	struct memory_search *search = searching->search;
	struct stopped stopped;
	int status = stopped_begin(&stopped, search->pid, search->command, STOPPED_ALL,
				   search->patience_ns, err);

	if (status < 0)
		return status;
	search->at_ns = clock_monotonic_ns();
	status = search_stopped(searching, &stopped, err);
	stopped_end(&stopped);
	search->stop_ns = stopped.held_ns;
	return status;
}

int memory_search_run(struct memory_search *search, struct err *err)
{
	struct searching searching = {.search = search};
	int status;

	search->at_ns = search->stop_ns = search->nr_bytes = 0;
	searching.pagemap_fd = proc_open_task_file(search->pid, search->pid, "pagemap");
	if (searching.pagemap_fd < 0)
		return err_sys(err, "cannot find out which memory process %d has",
			       (int)search->pid);
	searching.memory = target_memory_open(search->pid, NULL);
	searching.bytes = xmalloc(PIECE_PAGES * page_bytes() + 2 * LAST_BYTES);
	status = stop_and_search(&searching, err);
	close(searching.pagemap_fd);
	target_memory_close(searching.memory);
	free(searching.bytes);
	free(searching.stacks);
	buf_release(&searching.maps);
	return status;
}
