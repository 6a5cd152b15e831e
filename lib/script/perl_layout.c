// SPDX-License-Identifier: GPL-2.0-or-later
/* The layouts of versions of Perl: as their headers have them, built for threads. */
#include "script/perl_layout.h"

#include <stddef.h>

#include "base/alloc.h"
#include "snapshot/snapshot.h"

/* All but the interpreter is the same on both processors. */
#define PERL_5_36                                                                                  \
	.revision = 5, .version = 36,                                                              \
	.stack = {.contexts = 8,                                                                   \
		  .previous = 16,                                                                  \
		  .index = 32,                                                                     \
		  .sub_index = 40,                                                                 \
		  .type = 44,                                                                      \
		  .nr_bytes = 48},                                                                 \
	.context = {.operation = 2,                                                                \
		    .statement = 16,                                                               \
		    .next = 48,                                                                    \
		    .sub_index = 56,                                                               \
		    .sub = 72,                                                                     \
		    .jump = 96,                                                                    \
		    .nr_bytes = 104},                                                              \
	.statement = {.operation = 32, .line = 36, .file = 48, .sequence = 60, .nr_bytes = 64},    \
	.sub = {.package = 32,                                                                     \
		.start = 40,                                                                       \
		.root = 48,                                                                        \
		.glob = 56,                                                                        \
		.flags = 92,                                                                       \
		.nr_bytes = 96,                                                                    \
		.glob_name = 32,                                                                   \
		.glob_package = 40,                                                                \
		.glob_bytes = 48,                                                                  \
		.glob_effective = 56},                                                             \
	.package = {.names = 32, .nr_names = 60, .nr_bytes = 64},                                  \
	.operations = {                                                                            \
		.statement = 195, .debugged_statement = 196, .require = 342, .do_file = 343}

/*
 * An interpreter holds a struct stat before its jump buffers, and a jump buffer of the C library
 * after them: each processor has its own sizes of these.
 */
static const struct {
	enum arch arch;
	struct perl_layout layout;
} layouts[] = {
	{ARCH_X86_64,
	 {PERL_5_36, .interpreter = {.nr_bytes = 3768,
				     .statement = 208,
				     .stack = 224,
				     .jump = 760,
				     .runops = 2288,
				     .phase = 2512}}},
	{ARCH_AARCH64,
	 {PERL_5_36, .interpreter = {.nr_bytes = 3864,
				     .statement = 208,
				     .stack = 224,
				     .jump = 744,
				     .runops = 2384,
				     .phase = 2608}}},
};

const struct perl_layout *perl_layout_of(enum arch arch, uint8_t revision, uint8_t version)
{
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		if (layouts[i].arch == arch && layouts[i].layout.revision == revision &&
		    layouts[i].layout.version == version)
			return &layouts[i].layout;
	}
	return NULL;
}
