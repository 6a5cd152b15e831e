// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/file_pages.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/address.h"
#include "base/alloc.h"

/* Documentation/admin-guide/mm/pagemap.rst; a page that was written to is no file's any more. */
#define PAGE_IS_PRESENT (UINT64_C(1) << 63)
#define PAGE_IS_OF_FILE (UINT64_C(1) << 61)

#define PAGES_AT_ONCE 1024

static bool may_go(uint64_t entry)
{
	return entry & PAGE_IS_PRESENT && entry & PAGE_IS_OF_FILE;
}

static void release(uint64_t first, const uint64_t *entries, size_t nr)
{
	const uint64_t page = page_bytes();

	for (size_t i = 0, end; i < nr; i = end) {
		end = i + 1;
		if (!may_go(entries[i]))
			continue;
		while (end < nr && may_go(entries[end]))
			end++;
		madvise((void *)(uintptr_t)((first + i) * page), (end - i) * page, MADV_DONTNEED);
	}
}

void file_pages_release(const void *start, size_t nr_bytes)
{
	const uint64_t page = page_bytes();
	uint64_t first = ((uint64_t)(uintptr_t)start + page - 1) / page;
	uint64_t end = ((uint64_t)(uintptr_t)start + nr_bytes) / page;
	cleanup_close int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	uint64_t entries[PAGES_AT_ONCE];

	while (fd >= 0 && first < end) {
		size_t nr = end - first < PAGES_AT_ONCE ? end - first : PAGES_AT_ONCE;
		ssize_t got = pread(fd, entries, nr * sizeof(*entries),
				    (off_t)(first * sizeof(*entries)));

		if (got < (ssize_t)sizeof(*entries))
			return;
		nr = (size_t)got / sizeof(*entries);
		release(first, entries, nr);
		first += nr;
	}
}
