// SPDX-License-Identifier: GPL-2.0-or-later
/* A jitdump of a program that means no good: whole, and cut at a place that its first byte tells.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "jit/jit_code.h"
#include "jit/jitdump.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr_bytes);

static void check(const struct jit_code *code)
{
	for (size_t i = 0; i < code->nr; i++) {
		const struct jit_range *range = &code->ranges[i];

		assert(range->start < range->end && *jit_code_name(code, range));
		assert((size_t)range->first_line + range->nr_lines <= code->nr_lines);
		for (uint32_t k = 0; k < range->nr_lines; k++) {
			const struct jit_line *line = &code->lines[range->first_line + k];

			assert(line->offset < range->end - range->start);
			assert(!k || line->offset >= line[-1].offset);
			assert(strlen(jit_code_file(code, line)) < code->texts.nr_bytes);
		}
		(void)jit_code_line(code, range, range->end - 1);
	}
}

/* Read a window at a time, as a file is; windows grow where one does not do. */
static void parse(const uint8_t *bytes, size_t nr_bytes, size_t window)
{
	struct jitdump dump = {0};
	struct jit_code code = {0};
	size_t at = 0;

	while (at < nr_bytes) {
		size_t nr = window < nr_bytes - at ? window : nr_bytes - at;
		uint64_t nr_taken = 0;

		if (jitdump_parse(&dump, bytes + at, nr, nr_bytes - at, &code, &nr_taken, NULL) < 0)
			break;
		if (!nr_taken && nr == nr_bytes - at)
			break;
		if (!nr_taken)
			window *= 2;
		assert(nr_taken <= nr_bytes - at);
		at += nr_taken;
	}
	check(&code);
	jit_code_release(&code);
	jitdump_release(&dump);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nr_bytes)
{
	if (!nr_bytes)
		return 0;
	parse(bytes + 1, nr_bytes - 1, nr_bytes);
	parse(bytes + 1, nr_bytes - 1, 1 + (size_t)bytes[0]);
	return 0;
}
