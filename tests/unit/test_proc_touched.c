// SPDX-License-Identifier: GPL-2.0-or-later
#include <sys/mman.h>
#include <unistd.h>

#include "base/address.h"
#include "proc/read.h"
#include "proc/touched.h"
#include "tests/unit/unit.h"

#define PAGE	 page_bytes()
#define RESERVED (UINT64_C(1) << 40)
#define MIDDLE	 (RESERVED / 2)

TEST(touched, is_found_amid_what_is_only_reserved)
{
	int pagemap = proc_open_task_file(getpid(), getpid(), "pagemap");
	uint8_t *at = mmap(NULL, RESERVED, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint64_t first = (uintptr_t)at, start = first, end;

	assert_true(pagemap >= 0);
	if (at == MAP_FAILED)
		skip(); /* addresses are limited */
	madvise(at, RESERVED, MADV_NOHUGEPAGE);
	at[MIDDLE] = at[MIDDLE + PAGE] = 1;
	end = proc_touched_from(pagemap, &start, first + RESERVED);
	if (start == first) {
		assert_int_equal(end, first + RESERVED);
		skip(); /* Linux before 6.7 */
	}
	assert_int_equal(start, first + MIDDLE);
	assert_int_equal(end, first + MIDDLE + 2 * PAGE);
	/* From within a page, and behind the last one. */
	start = first + MIDDLE + 8;
	assert_int_equal(proc_touched_from(pagemap, &start, first + MIDDLE + 100),
			 first + MIDDLE + 100);
	assert_int_equal(start, first + MIDDLE + 8);
	start = end;
	assert_int_equal(proc_touched_from(pagemap, &start, first + RESERVED), first + RESERVED);
	assert_int_equal(start, first + RESERVED);
	munmap(at, RESERVED);
	close(pagemap);
}
