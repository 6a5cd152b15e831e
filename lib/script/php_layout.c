// SPDX-License-Identifier: GPL-2.0-or-later
/* The layouts of those versions of PHP that were tried. */
#include "script/php_layout.h"

#include <stddef.h>
#include <string.h>

#include "base/alloc.h"

static const struct {
	const char *version;
	struct php_layout layout;
} known[] = {
	{"8.2",
	 {.globals = {.start = 456,
		      .end = 1688,
		      .stack_top = 456,
		      .stack = 472,
		      .current = 488,
		      .before_exception = 880,
		      .exception = 888,
		      .nr_exception_bytes = 96,
		      .fiber = 1680},
	  .page = {.top = 0, .end = 8, .previous = 16},
	  .frame = {.nr_bytes = 56,
		    .opline = 0,
		    .return_value = 16,
		    .function = 24,
		    .info = 40,
		    .previous = 48},
	  .function = {.nr_bytes = 168,
		       .nr_native_bytes = 80,
		       .name = 8,
		       .scope = 16,
		       .nr_oplines = 80,
		       .oplines = 88,
		       .file = 152,
		       .first_line = 160,
		       .last_line = 164,
		       .handler = 72},
	  .generator = {.nr_bytes = 264,
			.class_entry = 16,
			.frame = 56,
			.delegate = 152,
			.placeholder = 184},
	  .nr_opline_bytes = 32,
	  .opline_line = 24,
	  .class_name = 8,
	  .text_type = 4,
	  .text_hash = 8,
	  .text_length = 16,
	  .text_head = 24}},
};

const struct php_layout *php_layout_of(const char *version)
{
	for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
		if (strcmp(known[i].version, version) == 0)
			return &known[i].layout;
	}
	return NULL;
}
