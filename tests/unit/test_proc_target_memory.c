// SPDX-License-Identifier: GPL-2.0-or-later
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/address.h"
#include "proc/backing.h"
#include "proc/range.h"
#include "proc/target_memory.h"
#include "tests/unit/unit.h"

#define PAGE	 page_bytes()
#define PAGE_MAX 65536

static uint8_t *map(size_t nr_pages, int fd)
{
	void *at = mmap(NULL, nr_pages * PAGE, PROT_READ | PROT_WRITE,
			fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_PRIVATE, fd, 0);

	assert_true(at != MAP_FAILED);
	return at;
}

TEST(target_memory, reads_what_is_there_and_what_is_not_touched)
{
	struct target_memory *memory = target_memory_open(getpid(), NULL);
	uint8_t *pages = map(3, -1);
	static uint8_t bytes[3 * PAGE_MAX];

	assert_non_null(memory);
	pages[PAGE] = 7; /* between pages that are not there */
	memset(bytes, 1, sizeof(bytes));
	assert_true(target_memory_get(memory, (uintptr_t)pages, bytes, 3 * PAGE));
	assert_true(bytes[0] == 0 && bytes[PAGE] == 7 && bytes[3 * PAGE - 1] == 0);
	assert_true(target_memory_is_ready(memory, (uintptr_t)pages, 3 * PAGE));
	munmap(pages, 3 * PAGE);
	target_memory_close(memory);
}

TEST(target_memory, ends_where_nothing_is_mapped)
{
	struct target_memory *memory = target_memory_open(getpid(), NULL);
	uint8_t *pages = map(3, -1);
	static uint8_t bytes[3 * PAGE_MAX];
	uint64_t word;

	munmap(pages + 2 * PAGE, PAGE);
	assert_int_equal(target_memory_read(memory, (uintptr_t)pages + 8, bytes, 3 * PAGE - 8),
			 2 * PAGE - 8);
	assert_false(target_memory_get(memory, (uintptr_t)pages, bytes, 3 * PAGE));
	assert_false(target_memory_word(memory, (uintptr_t)pages + 2 * PAGE, &word));
	assert_false(target_memory_word(memory, UINT64_MAX - 3, &word));
	assert_false(target_memory_put(memory, (uintptr_t)pages + 2 * PAGE, &word, sizeof(word)));
	munmap(pages, 2 * PAGE);
	target_memory_close(memory);
}

TEST(target_memory, writes_to_files_of_disks_and_memory)
{
	struct target_memory *memory = target_memory_open(getpid(), NULL);
	int fd = memfd_create("file", MFD_CLOEXEC);
	const uint64_t word = 42;
	uint8_t *page;

	assert_int_equal(ftruncate(fd, PAGE), 0);
	page = map(1, fd);
	assert_true(target_memory_put(memory, (uintptr_t)page, &word, sizeof(word)));
	assert_int_equal(*(uint64_t *)(void *)page, 42);
	close(fd);
	munmap(page, PAGE);
	target_memory_close(memory);
}

/* Of a process that runs a page may be dropped after it was read. */
TEST(target_memory, asks_again_for_pages_that_are_served)
{
	struct target_memory *memory;
	struct backings backings;
	struct proc_range range;
	int fd = memfd_create("file", MFD_CLOEXEC);
	uint8_t *page, byte;

	assert_int_equal(ftruncate(fd, PAGE), 0);
	page = map(1, fd);
	backings_init(&backings);
	memory = target_memory_open(getpid(), &backings);
	assert_true(target_memory_get(memory, (uintptr_t)page, &byte, 1));
	assert_true(proc_range_find(target_memory_maps(memory), (uintptr_t)page, &range));
	backings_note_silent(&backings, &range);
	assert_true(target_memory_put_soon(memory, (uintptr_t)page, "a", 1));
	assert_int_equal(madvise(page, PAGE, MADV_DONTNEED), 0);
	assert_false(target_memory_put_soon(memory, (uintptr_t)page, "b", 1));
	assert_int_equal(page[0], 0);
	close(fd);
	munmap(page, PAGE);
	target_memory_close(memory);
	backings_release(&backings);
}

TEST(target_memory, of_a_process_that_is_gone_there_is_none)
{
	pid_t dead = fork();
	uint64_t word;

	if (dead == 0)
		_exit(0);
	assert_int_equal(waitpid(dead, NULL, 0), dead);
	assert_null(target_memory_open(dead, NULL));
	assert_false(target_memory_get_once(dead, 4096, &word, sizeof(word)));
}
