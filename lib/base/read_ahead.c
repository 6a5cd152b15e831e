// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/read_ahead.h"

#include <string.h>

#include "base/minmax.h"

/* No kernel has smaller pages. */
#define PAGE_BYTES UINT64_C(4096)
#define MORE_BYTES ((READ_AHEAD_PAGES - 1) * PAGE_BYTES)

size_t read_ahead_get(struct read_ahead *ahead, uint64_t address, void *out, size_t nr_bytes)
{
	uint64_t skip = address - ahead->address, wanted;

	if (skip < ahead->nr_bytes && nr_bytes <= ahead->nr_bytes - skip) {
		memcpy(out, ahead->bytes + skip, nr_bytes);
		return nr_bytes;
	}
	wanted = ((address + nr_bytes + PAGE_BYTES - 1) & -PAGE_BYTES) - address;
	if (ahead->is_of_file && wanted <= sizeof(ahead->bytes) - MORE_BYTES)
		wanted += MORE_BYTES;
	if (nr_bytes > PAGE_BYTES || wanted > sizeof(ahead->bytes))
		return ahead->read(ahead->context, address, out, nr_bytes);
	ahead->address = address;
	ahead->nr_bytes = ahead->read(ahead->context, address, ahead->bytes, (size_t)wanted);
	nr_bytes = (size_t)min_u64(nr_bytes, ahead->nr_bytes);
	memcpy(out, ahead->bytes, nr_bytes);
	return nr_bytes;
}
