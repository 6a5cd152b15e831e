/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_TESTS_EXPORT_TEXT_H
#define PROFC_TESTS_EXPORT_TEXT_H

#include "base/sink.h"
#include "calltree/filter.h"
#include "export/export.h"
#include "tests/unit/unit.h"

/* What a format makes of a profile, with `options` (NULL: all defaults). sink_release() it. */
static inline struct sink export_made(enum export_kind kind, const struct profile *profile,
				      const struct export_options *options)
{
	const struct filter everything = {.from_ns = 0};
	struct export_options chosen = options ? *options : (struct export_options){0};
	struct sink sink = SINK_MEMORY;

	if (!chosen.filter)
		chosen.filter = &everything;
	assert_int_equal(export_write(kind, profile, &chosen, &sink, NULL), 0);
	return sink;
}

#define assert_export(kind, profile, options, expected)                                            \
	do {                                                                                       \
		struct sink sink_ = export_made(kind, profile, options);                           \
                                                                                                   \
		assert_string_equal(buf_str(&sink_.pending), expected);                            \
		sink_release(&sink_);                                                              \
	} while (0)

#endif
