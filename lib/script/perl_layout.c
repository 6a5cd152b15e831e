// SPDX-License-Identifier: GPL-2.0-or-later
/* The layouts of versions of Perl: as their headers have them, built for threads on x86-64. */
#include "script/perl_layout.h"

#include <stddef.h>

#include "base/alloc.h"

static const struct perl_layout layouts[] = {{
	.revision = 5,
	.version = 36,
	.interpreter = {.nr_bytes = 3768,
			.statement = 208,
			.stack = 224,
			.jump = 760,
			.runops = 2288,
			.phase = 2512},
	.stack = {.contexts = 8,
		  .previous = 16,
		  .index = 32,
		  .sub_index = 40,
		  .type = 44,
		  .nr_bytes = 48},
	.context = {.operation = 2,
		    .statement = 16,
		    .next = 48,
		    .sub_index = 56,
		    .sub = 72,
		    .jump = 96,
		    .nr_bytes = 104},
	.statement = {.operation = 32, .line = 36, .file = 48, .sequence = 60, .nr_bytes = 64},
	.sub = {.package = 32,
		.start = 40,
		.root = 48,
		.glob = 56,
		.flags = 92,
		.nr_bytes = 96,
		.glob_name = 32,
		.glob_package = 40,
		.glob_bytes = 48,
		.glob_effective = 56},
	.package = {.names = 32, .nr_names = 60, .nr_bytes = 64},
	.operations = {.statement = 195, .debugged_statement = 196, .require = 342, .do_file = 343},
}};

const struct perl_layout *perl_layout_of(uint8_t revision, uint8_t version)
{
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		if (layouts[i].revision == revision && layouts[i].version == version)
			return &layouts[i];
	}
	return NULL;
}
