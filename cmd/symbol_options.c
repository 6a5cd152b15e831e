// SPDX-License-Identifier: GPL-2.0-or-later
/* The options for finding debug information. */
#include "cmd/symbol_options.h"

#include <stdlib.h>

#include "base/clock.h"

struct symbol_options symbol_options_of(const struct symbol_option_values *values,
					const atomic_bool *ended)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	uint64_t timeout_ms = values->debuginfod_timeout_ns / NS_PER_MS;

	return (struct symbol_options){
		.debug_dirs = values->debug_dirs.values,
		.nr_debug_dirs = values->debug_dirs.nr,
		.sysroot = values->sysroot,
		.ended = ended,
		.debuginfod = urls && *urls && timeout_ms,
		.debuginfod_timeout_ms =
			timeout_ms > UINT32_MAX ? UINT32_MAX : (uint32_t)timeout_ms,
	};
}
