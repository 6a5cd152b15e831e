/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_EXPORT_EXPORT_H
#define PROFC_EXPORT_EXPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "profile/profile.h"

struct err;
struct filter;
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

/* One time line of the output for each … */
enum export_threads {
	EXPORT_THREADS_DEFAULT, /* what suits the format best: see struct export_format */
	EXPORT_THREADS_MERGE,	/* process name: all threads of all processes called so together */
	EXPORT_THREADS_SPLIT,	/* thread */
};

/* What the weight of a sample is. */
enum export_weights {
	EXPORT_WEIGHTS_VALUE,	/* its share of the metric: exact, adds up to the report's totals */
	EXPORT_WEIGHTS_SAMPLES, /* how many observations had any of the metric: 1 a sample */
};

/* How functions are called. */
enum export_names {
	EXPORT_NAMES_DEFAULT, /* short in pictures for people and where there is place for both */
	EXPORT_NAMES_FULL,
	EXPORT_NAMES_SHORT, /* without template arguments and parameters */
};

struct export_options {
	enum metric metric;
	enum export_weights weights;
	enum export_threads threads;
	bool fold_inlines; /* inlined frames count as the function they are inlined into */
	enum export_names names;
	bool idle;		     /* speedscope: keep the time between samples as gaps */
	const struct filter *filter; /* borrowed */
};

struct export_format {
	const char *name;      /* the option that asks for it, without "--" */
	const char *extension; /* customary end of the file name, with its dot */
	bool compressed;       /* bytes that are not for a terminal */
};

/* Borrowed, lives for ever. */
const struct export_format *export_format(enum export_kind kind);

/*
 * Write a resolved profile. ERR_EMPTY when no sample passes the filters or none
 * has any of the metric; nothing is written then. What the sink could not write is
 * the caller's to find out with sink_flush().
 */
int export_write(enum export_kind kind, const struct profile *profile,
		 const struct export_options *options, struct sink *sink, struct err *err);

#endif
