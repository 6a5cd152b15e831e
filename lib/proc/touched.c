// SPDX-License-Identifier: GPL-2.0-or-later
/* Which parts of an address space have pages. */
#include "proc/touched.h"

#include <sys/ioctl.h>

#include "base/address.h"

/* struct pm_scan_arg, struct page_region and PAGEMAP_SCAN of linux/fs.h, which old headers lack. */
struct scan_request {
	uint64_t size, flags;
	uint64_t start, end, walk_end;
	uint64_t regions, nr_regions, max_pages;
	uint64_t inverted, all_of, any_of, returned;
};

struct page_region {
	uint64_t start, end, categories;
};

#define SCAN_PAGES _IOWR('f', 16, struct scan_request)
#define IS_PRESENT (UINT64_C(1) << 3)
#define IS_SWAPPED (UINT64_C(1) << 4)

uint64_t proc_touched_from(int pagemap_fd, uint64_t *start, uint64_t end)
{
	struct page_region region = {.end = end};
	struct scan_request request = {.size = sizeof(request),
				       .start = page_start(*start),
				       .end = end,
				       .regions = (uintptr_t)&region,
				       .nr_regions = 1,
				       .any_of = IS_PRESENT | IS_SWAPPED,
				       .returned = IS_PRESENT};
	int nr = ioctl(pagemap_fd, SCAN_PAGES, &request);

	if (nr < 0)
		return end;
	if (nr == 0) {
		*start = end;
		return end;
	}
	if (region.start > *start)
		*start = region.start;
	return region.end < end ? region.end : end;
}
