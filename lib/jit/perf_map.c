// SPDX-License-Identifier: GPL-2.0-or-later
/* Parser for perf maps. */
#include "jit/perf_map.h"

#include <stdint.h>
#include <string.h>

#include "base/scan.h"
#include "jit/jit_code.h"

static void take_line(struct scan line, struct jit_code *code)
{
	uint64_t start, nr_bytes;

	if (line.end > line.at && line.end[-1] == '\r')
		line.end--;
	if (scan_hex(&line, &start) && scan_char(&line, ' ') && scan_hex(&line, &nr_bytes) &&
	    scan_char(&line, ' '))
		jit_code_add(code, start, nr_bytes, line.at,
			     strnlen(line.at, (size_t)(line.end - line.at)));
}

size_t perf_map_parse(const char *text, size_t nr_bytes, bool is_end, struct jit_code *code)
{
	struct scan rest = {.at = text, .end = text + nr_bytes}, line;
	const char *used = text;

	while (scan_line(&rest, &line) && (line.end < rest.end || is_end)) {
		take_line(line, code);
		used = rest.at;
	}
	return (size_t)(used - text);
}
