/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_EXPORT_EXPORT_H
#define PROFC_EXPORT_EXPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "calltree/diff.h"
#include "export/export_options.h"

struct err;
struct profile;
struct sink;

/*
 * A profile as the files of other viewers. Each format is one row of a table and
 * one file of this room; all of them write the same extract: the samples that
 * pass the filters, thread by thread, with one weight each.
 */
enum export_kind {
	EXPORT_SPEEDSCOPE,
	EXPORT_FOLDED,
	EXPORT_PPROF,
	EXPORT_CHROME,
	EXPORT_FIREFOX,
	EXPORT_CALLGRIND,
	EXPORT_PERF_SCRIPT,
	EXPORT_JSON,
	EXPORT_FLAMEGRAPH,
	EXPORT_HTML,
	EXPORT_KIND_COUNT,
};

struct export_format {
	const char *name;      /* its option, without "--" */
	const char *extension; /* customary end of the file name, with its dot */
	bool compressed;       /* bytes unsuitable for a terminal */
	bool all_metrics;      /* it has all metrics; the selected one is shown first */
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
