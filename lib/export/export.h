/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_EXPORT_EXPORT_H
#define PROFC_EXPORT_EXPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "calltree/diff.h"
#include "export/export_formats.h"
#include "export/export_options.h"

struct err;
struct profile;
struct sink;

struct export_format {
	const char *name; /* members as in a row */
	const char *extension;
	bool compressed, all_metrics, only_time;
};

/* Borrowed, lives for ever. */
const struct export_format *export_format(enum export_kind kind);

/*
 * Write a resolved profile. ERR_EMPTY when no sample passes the filters or none has any of the
 * metric; nothing is written then. The caller checks for write errors with sink_flush(). The sink
 * keeps the progress of the options.
 */
int export_write(enum export_kind kind, const struct profile *profile,
		 const struct export_options *options, struct sink *sink, struct err *err);

/* Two profiles to compare. All members are borrowed. */
struct export_diff {
	const struct profile *old_profile, *new_profile;
	enum diff_mode mode;
	struct diff_rename *renames;
	size_t nr_renames;
};

/* The EXPORT_HTML page with both; fails as export_write() does, for either profile. */
int export_write_diff(const struct export_diff *diff, const struct export_options *options,
		      struct sink *sink, struct err *err);

#endif
