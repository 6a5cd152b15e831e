// SPDX-License-Identifier: GPL-2.0-or-later
/* What a runtime, or whoever may write to /tmp, says of its just-in-time code. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "symbol/builder.h"
#include "symbol/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr_bytes)
{
	static const uint64_t addresses[] = {0, 1, 0x10, 0x1008, 0x7fff, 0x7f001000, UINT64_MAX};
	struct symbol_result *result;
	struct result_builder builder;

	result_builder_init(&builder, ARRAY_SIZE(addresses));
	perf_map_parse((const char *)bytes, nr_bytes, addresses, ARRAY_SIZE(addresses), &builder);
	result = result_builder_finish(&builder);
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
		assert(result->chains[i].nr <= 1);
		assert(!result->chains[i].nr || *result->locations[result->chains[i].first].name);
	}
	symbol_result_free(result);
	return 0;
}
