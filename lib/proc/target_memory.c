// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads and writes the memory of another process, and waits for no other program. */
#include "proc/target_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/address.h"
#include "base/alloc.h"
#include "base/errand.h"
#include "base/minmax.h"
#include "proc/backing.h"
#include "proc/range.h"
#include "proc/read.h"
#include "proc/task.h"

#define PAGES_AT_ONCE 128
/* Documentation/admin-guide/mm/pagemap.rst: in memory, or swapped out */
#define PAGE_IS_SOMEWHERE (UINT64_C(3) << 62)

struct target_memory {
	pid_t tid;
	int fd, maps_fd, pagemap_fd; /* all of one program */
	struct backings *backings;
	struct backings own_backings;
	struct proc_range written; /* the last mapping that was written to */
	bool written_is_served;
	bool has_first_sp;
	uint64_t first_sp;
};

struct target_memory *target_memory_open(pid_t tid, struct backings *backings)
{
	struct target_memory *memory = xcalloc(1, sizeof(*memory));
	char path[48];
	int error;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)tid);
	memory->tid = tid;
	memory->fd = open(path, O_RDWR | O_CLOEXEC);
	error = errno;
	memory->maps_fd = memory->fd < 0 ? -1 : proc_open_task_file(tid, tid, "maps");
	memory->pagemap_fd = memory->fd < 0 ? -1 : proc_open_task_file(tid, tid, "pagemap");
	backings_init(&memory->own_backings);
	memory->backings = backings ? backings : &memory->own_backings;
	if (memory->fd >= 0)
		return memory;
	target_memory_close(memory);
	errno = error;
	return NULL;
}

static void close_if_open(int fd)
{
	if (fd >= 0)
		close(fd);
}

void target_memory_close(struct target_memory *memory)
{
	if (!memory)
		return;
	close_if_open(memory->fd);
	close_if_open(memory->maps_fd);
	close_if_open(memory->pagemap_fd);
	backings_release(&memory->own_backings);
	free(memory);
}

int target_memory_maps(const struct target_memory *memory)
{
	return memory->maps_fd;
}

uint64_t target_memory_first_sp(struct target_memory *memory)
{
	struct proc_stat stat;

	if (!memory->has_first_sp && proc_read_task_stat(memory->tid, memory->tid, &stat)) {
		memory->has_first_sp = true;
		memory->first_sp = stat.first_sp;
	}
	return memory->first_sp;
}

static bool is_served_at(struct target_memory *memory, uint64_t address, struct proc_range *range)
{
	/* Addresses that are not mapped cause no wait. */
	if (!proc_range_find(memory->maps_fd, address, range)) {
		*range = (struct proc_range){.start = address, .end = address + 1};
		return memory->maps_fd < 0;
	}
	return backings_are_served(memory->backings, memory->tid, range);
}

/* Memory of which one thing holds: it is ready, or it has to be brought. */
struct stretch {
	size_t nr_bytes;
	bool is_ready;
	struct proc_range range; /* that brings it */
};

struct pages {
	uint64_t first;
	size_t nr;
	uint64_t entries[PAGES_AT_ONCE];
};

static void read_pages(const struct target_memory *memory, uint64_t address, size_t nr_bytes,
		       struct pages *pages)
{
	ssize_t got = -1;
	uint64_t nr;

	pages->first = address / page_bytes();
	nr = (address + nr_bytes + page_bytes() - 1) / page_bytes() - pages->first;
	pages->nr = (size_t)min_u64(nr, PAGES_AT_ONCE);
	if (memory->pagemap_fd >= 0)
		got = pread(memory->pagemap_fd, pages->entries, pages->nr * sizeof(uint64_t),
			    (off_t)(pages->first * sizeof(uint64_t)));
	for (size_t i = got > 0 ? (size_t)got / sizeof(uint64_t) : 0; i < pages->nr; i++)
		pages->entries[i] = 0;
}

static bool is_there(const struct pages *pages, size_t i)
{
	return pages->entries[i] & PAGE_IS_SOMEWHERE;
}

/* From the first page on those that are there, or lie in mappings that the kernel alone fills. */
static size_t ready_pages(struct target_memory *memory, const struct pages *pages,
			  struct proc_range *served)
{
	size_t nr = 0;

	while (nr < pages->nr) {
		uint64_t address = (pages->first + nr) * page_bytes();
		struct proc_range range;

		if (is_there(pages, nr)) {
			nr++;
		} else if (is_served_at(memory, address, &range)) {
			*served = range;
			break;
		} else if (range.end - address < page_bytes()) {
			nr++; /* it is not mapped: a read ends there */
			break;
		} else {
			nr += (size_t)((range.end - address) / page_bytes());
		}
	}
	return min_u64(nr, pages->nr);
}

static size_t missing_pages(const struct pages *pages, const struct proc_range *range)
{
	size_t nr = 0;

	while (nr < pages->nr && !is_there(pages, nr) &&
	       (pages->first + nr) * page_bytes() < range->end)
		nr++;
	return nr;
}

static struct stretch find_stretch(struct target_memory *memory, uint64_t address, size_t nr_bytes)
{
	struct stretch stretch = {.nr_bytes = 0};
	struct pages pages;
	size_t nr;

	read_pages(memory, address, nr_bytes, &pages);
	nr = ready_pages(memory, &pages, &stretch.range);
	stretch.is_ready = nr > 0;
	if (!nr)
		nr = max_u64(missing_pages(&pages, &stretch.range), 1);
	stretch.nr_bytes = (size_t)min_u64(nr_bytes, (pages.first + nr) * page_bytes() - address);
	return stretch;
}

struct bringing {
	pid_t tid;
	uint64_t address;
	size_t nr_bytes;
};

/* Touches a byte of each page. A read of /proc/PID/mem would keep all others from mapping anything.
 */
static bool bring(void *context)
{
	const struct bringing *bringing = context;
	struct iovec there[PAGES_AT_ONCE];
	uint8_t bytes[PAGES_AT_ONCE];
	struct iovec here = {.iov_base = bytes};
	size_t nr = 0;

	for (uint64_t at = bringing->address;
	     at < bringing->address + bringing->nr_bytes && nr < PAGES_AT_ONCE;
	     at = (at / page_bytes() + 1) * page_bytes())
		there[nr++] = (struct iovec){.iov_base = (void *)(uintptr_t)at, .iov_len = 1};
	here.iov_len = nr;
	process_vm_readv(bringing->tid, &here, 1, there, nr, 0);
	return true;
}

/* Has the first page of what was missing come? */
static bool is_brought(struct target_memory *memory, const struct stretch *stretch,
		       uint64_t address)
{
	struct bringing bringing = {
		.tid = memory->tid, .address = address, .nr_bytes = stretch->nr_bytes};

	if (backings_are_silent(memory->backings, &stretch->range))
		return false;
	if (!errand_run(bring, &bringing, NULL, 0, ERRAND_NS)) {
		backings_note_silent(memory->backings, &stretch->range);
		return false;
	}
	return find_stretch(memory, address, 1).is_ready;
}

/* The file also shows what the process itself may not read, such as the guard below a stack. */
static ssize_t copy(const struct target_memory *memory, uint64_t address, void *out,
		    size_t nr_bytes, bool is_stopped)
{
	struct iovec here = {.iov_base = out, .iov_len = nr_bytes};
	struct iovec there = {.iov_base = (void *)(uintptr_t)address, .iov_len = nr_bytes};
	ssize_t got;

	if (is_stopped) {
		got = process_vm_readv(memory->tid, &here, 1, &there, 1, 0);
		if (got >= 0 || (errno != EPERM && errno != ENOSYS))
			return got;
	}
	return pread(memory->fd, out, nr_bytes, (off_t)address);
}

static size_t read_memory(struct target_memory *memory, uint64_t address, void *out,
			  size_t nr_bytes, bool may_bring)
{
	size_t done = 0;

	if (address > (uint64_t)INT64_MAX - page_bytes() ||
	    nr_bytes > (uint64_t)INT64_MAX - page_bytes() - address)
		return 0;
	while (done < nr_bytes) {
		struct stretch stretch = find_stretch(memory, address + done, nr_bytes - done);
		ssize_t got;

		if (!stretch.is_ready) {
			if (!may_bring || !is_brought(memory, &stretch, address + done))
				break;
			continue;
		}
		got = copy(memory, address + done, (uint8_t *)out + done, stretch.nr_bytes,
			   !may_bring);
		done += got > 0 ? (size_t)got : 0;
		if (got < (ssize_t)stretch.nr_bytes)
			break;
	}
	return done;
}

size_t target_memory_read(struct target_memory *memory, uint64_t address, void *out,
			  size_t nr_bytes)
{
	return read_memory(memory, address, out, nr_bytes, true);
}

size_t target_memory_read_at_once(struct target_memory *memory, uint64_t address, void *out,
				  size_t nr_bytes)
{
	return read_memory(memory, address, out, nr_bytes, false);
}

bool target_memory_get(struct target_memory *memory, uint64_t address, void *out, size_t nr_bytes)
{
	return target_memory_read(memory, address, out, nr_bytes) == nr_bytes;
}

#define PIECES_AT_ONCE 64

/* Those that are there, up to the first that is not. Returns how many were read. */
static size_t read_ready_pieces(struct target_memory *memory, struct memory_piece *pieces,
				size_t nr)
{
	struct iovec here[PIECES_AT_ONCE], there[PIECES_AT_ONCE];
	size_t nr_ready = 0, nr_read = 0;
	ssize_t got;

	for (; nr_ready < nr && nr_ready < PIECES_AT_ONCE; nr_ready++) {
		const struct memory_piece *piece = &pieces[nr_ready];

		if (!target_memory_is_ready(memory, piece->address, piece->nr_bytes))
			break;
		here[nr_ready] = (struct iovec){.iov_base = piece->out, .iov_len = piece->nr_bytes};
		there[nr_ready] = (struct iovec){.iov_base = (void *)(uintptr_t)piece->address,
						 .iov_len = piece->nr_bytes};
	}
	got = nr_ready ? process_vm_readv(memory->tid, here, nr_ready, there, nr_ready, 0) : 0;
	for (; nr_read < nr_ready && got >= (ssize_t)pieces[nr_read].nr_bytes; nr_read++) {
		got -= (ssize_t)pieces[nr_read].nr_bytes;
		pieces[nr_read].is_read = true;
	}
	return nr_read;
}

void target_memory_read_pieces(struct target_memory *memory, struct memory_piece *pieces, size_t nr)
{
	for (size_t done = 0; done < nr;) {
		size_t nr_read = read_ready_pieces(memory, pieces + done, nr - done);

		done += nr_read;
		if (nr_read == PIECES_AT_ONCE || done == nr)
			continue;
		pieces[done].is_read = target_memory_get(memory, pieces[done].address,
							 pieces[done].out, pieces[done].nr_bytes);
		done++;
	}
}

bool target_memory_word(struct target_memory *memory, uint64_t address, uint64_t *word)
{
	return target_memory_get(memory, address, word, sizeof(*word));
}

bool target_memory_is_ready(struct target_memory *memory, uint64_t address, size_t nr_bytes)
{
	for (size_t done = 0; done < nr_bytes;) {
		struct stretch stretch = find_stretch(memory, address + done, nr_bytes - done);

		if (!stretch.is_ready)
			return false;
		done += stretch.nr_bytes;
	}
	return true;
}

/* To write to a page of a file that others share may wait for its server, too. */
static bool is_private(struct target_memory *memory, uint64_t address)
{
	struct proc_range *range = &memory->written;

	if (range->start <= address && address < range->end)
		return true;
	memory->written_is_served = is_served_at(memory, address, range);
	if (!memory->written_is_served || !range->shared)
		return true;
	*range = (struct proc_range){.start = 0};
	return false;
}

/* The pages of which it is asked whether they are there. */
enum asked { ASKED_ALL, ASKED_SERVED, ASKED_NONE };

/* To copy a page of a private mapping the kernel needs that page alone. */
static bool make_ready(struct target_memory *memory, uint64_t address, size_t nr_bytes,
		       enum asked asked)
{
	uint8_t byte;

	for (uint64_t at = address; at < address + nr_bytes;
	     at = (at / page_bytes() + 1) * page_bytes()) {
		if (!is_private(memory, at))
			return false;
		if (asked == ASKED_NONE || (asked == ASKED_SERVED && !memory->written_is_served))
			continue;
		if (!target_memory_is_ready(memory, at, 1) &&
		    (!target_memory_get(memory, at, &byte, 1) ||
		     !target_memory_is_ready(memory, at, 1)))
			return false;
	}
	return true;
}

static bool put(struct target_memory *memory, uint64_t address, const void *bytes, size_t nr_bytes,
		enum asked asked)
{
	if (address > (uint64_t)INT64_MAX - page_bytes() ||
	    nr_bytes > (uint64_t)INT64_MAX - page_bytes() - address)
		return false;
	return make_ready(memory, address, nr_bytes, asked) &&
	       pwrite(memory->fd, bytes, nr_bytes, (off_t)address) == (ssize_t)nr_bytes;
}

bool target_memory_put(struct target_memory *memory, uint64_t address, const void *bytes,
		       size_t nr_bytes)
{
	return put(memory, address, bytes, nr_bytes, ASKED_ALL);
}

bool target_memory_put_soon(struct target_memory *memory, uint64_t address, const void *bytes,
			    size_t nr_bytes)
{
	return put(memory, address, bytes, nr_bytes, ASKED_SERVED);
}

bool target_memory_put_read(struct target_memory *memory, uint64_t address, const void *bytes,
			    size_t nr_bytes)
{
	return put(memory, address, bytes, nr_bytes, ASKED_NONE);
}

/*
 * Memory that is there takes one file to be sure of that, and none to read it. False: it is not, or
 * may not be read so.
 */
static bool get_ready_once(pid_t tid, uint64_t address, void *out, size_t nr_bytes)
{
	cleanup_close int fd = proc_open_task_file(tid, tid, "pagemap");
	const struct target_memory its = {.pagemap_fd = fd};
	struct iovec here = {.iov_base = out, .iov_len = nr_bytes};
	struct iovec there = {.iov_base = (void *)(uintptr_t)address, .iov_len = nr_bytes};
	struct pages pages;

	if (fd < 0 || nr_bytes > page_bytes())
		return false;
	read_pages(&its, address, nr_bytes, &pages);
	for (size_t i = 0; i < pages.nr; i++) {
		if (!is_there(&pages, i))
			return false;
	}
	return process_vm_readv(tid, &here, 1, &there, 1, 0) == (ssize_t)nr_bytes;
}

bool target_memory_get_once(pid_t tid, uint64_t address, void *out, size_t nr_bytes)
{
	cleanup_target_memory struct target_memory *memory = NULL;

	if (get_ready_once(tid, address, out, nr_bytes))
		return true;
	memory = target_memory_open(tid, NULL);
	return memory && target_memory_get(memory, address, out, nr_bytes);
}
