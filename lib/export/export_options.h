/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_EXPORT_EXPORT_OPTIONS_H
#define PROFC_EXPORT_EXPORT_OPTIONS_H

#include <stdbool.h>

#include "profile/profile.h"

struct code;
struct codes;
struct disassembly;
struct filter;
struct source_maps;
struct progress;

/* One time line of the output for each … */
enum export_threads {
	EXPORT_THREADS_DEFAULT, /* the format's own choice: see struct export_format */
	/* process name: all threads of all processes with this name together */
	EXPORT_THREADS_MERGE,
	EXPORT_THREADS_SPLIT, /* thread */
};

/* The meaning of a sample's weight. */
enum export_weights {
	EXPORT_WEIGHTS_VALUE,	/* its share of the metric: exact, adds up to the report's totals */
	EXPORT_WEIGHTS_SAMPLES, /* how many observations had any of the metric: 1 a sample */
};

/* The names of functions. */
enum export_names {
	EXPORT_NAMES_DEFAULT, /* short in pictures for people and where there is room for both */
	EXPORT_NAMES_FULL,
	EXPORT_NAMES_SHORT, /* without template arguments and parameters */
};

struct export_options {
	enum metric metric;
	bool any_metric;   /* html: none was chosen, and that of the verdict goes before this one */
	bool with_verdict; /* set by export_write() */
	bool only_metric;  /* pprof: no other, and no exact counts: a series of a profile server */
	enum export_weights weights;
	enum export_threads threads;
	bool fold_inlines; /* inlined frames count as the function they are inlined into */
	enum export_names names;
	bool idle;		     /* speedscope: keep the time between samples as gaps */
	const struct filter *filter; /* borrowed */
	const struct source_maps *source_maps; /* html: borrowed; NULL: none */
	/*
	 * html: get the parsed instructions of a function; false if there are none. NULL: the page
	 * has no instructions. A callback, because it runs a program, which a library must not.
	 */
	bool (*disassemble)(const struct codes *codes, const struct code *code,
			    struct disassembly *disassembly);
	struct progress *progress; /* the progress; borrowed, or NULL */
};

#endif
