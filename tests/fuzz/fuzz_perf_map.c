// SPDX-License-Identifier: GPL-2.0-or-later
/* What a runtime, or whoever may write to /tmp, says of its just-in-time code. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "jit/jit_code.h"
#include "jit/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr_bytes)
{
	static const uint64_t addresses[] = {0, 1, 0x10, 0x1008, 0x7fff, 0x7f001000, UINT64_MAX};
	uint32_t found[ARRAY_SIZE(addresses)] = {0};
	struct jit_code code = {0};
	size_t taken = perf_map_parse((const char *)bytes, nr_bytes, false, &code);

	assert(taken <= nr_bytes);
	/* In two parts it says the same as at once, and a last line more. */
	assert(perf_map_parse((const char *)bytes + taken, nr_bytes - taken, true, &code) ==
	       nr_bytes - taken);
	jit_code_find(&code, 0, addresses, found, ARRAY_SIZE(addresses));
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
		const struct jit_range *range;

		assert(found[i] <= code.nr);
		if (!found[i])
			continue;
		range = &code.ranges[found[i] - 1];
		assert(range->start <= addresses[i] && addresses[i] < range->end);
		assert(*jit_code_name(&code, range));
	}
	jit_code_release(&code);
	return 0;
}
