/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CALLTREE_SOURCE_H
#define PROFC_CALLTREE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strtab.h"
#include "calltree/tally.h"
#include "mapping/module.h"

struct per_call;
struct weights;

/*
 * The cost of each line of source, for annotated source. A line's self is that of samples with
 * their innermost level on it, so inlined code is charged to the line it was written on; its total
 * is that of samples with the line anywhere in their stack.
 */
struct source_line {
	struct str_id file;
	uint32_t line;
	struct tally self, total;
	uint32_t first_site, nr_sites; /* of source.sites: functions inlined here */
	/*
	 * Were its calls counted: of the function defined here, else those written here? `called`
	 * is the time that belongs to the calls: of the function, or of the line.
	 */
	bool counted;
	uint64_t calls;
	struct tally called;
};

/* A function that was inlined at a line, with the weight of that copy. */
struct source_site {
	uint32_t label;
	struct tally total;
};

struct source_file {
	struct str_id file;
	struct tally self, total;      /* of all its lines; each sample once */
	uint32_t first_line, nr_lines; /* of source.lines, ascending; those with weight or counts */
};

struct source {
	const struct weights *weights; /* borrowed */
	struct source_file *files;     /* most self first; then those with counts alone */
	size_t nr_files, cap_files;
	struct source_line *lines;
	size_t nr_lines, cap_lines;
	struct source_site *sites; /* of a line: heaviest first */
	size_t nr_sites, cap_sites;
};

struct source *source_new(const struct weights *weights);
void source_free(struct source *source);

/* The row of a line, or NULL if it has neither cost nor counts. */
const struct source_line *source_find_line(const struct source *source,
					   const struct source_file *file, uint32_t line);

/* False if no call was counted. */
bool source_line_per_call(const struct source *source, const struct source_line *line,
			  struct per_call *per_call);

/* A run of lines of one file. */
struct source_span {
	struct str_id file;
	uint32_t first, last;
};

/*
 * The spans of the functions with labels set in `wanted`: from the line of the definition, where
 * known, to the last line with a sample. *spans belongs to the caller; the number of spans is
 * returned.
 */
size_t source_find_spans(const struct source *source, const bool *wanted,
			 struct source_span **spans);

/* The module with the most time that has a stack but no line; module 0: there is none. */
struct module_id source_hottest_without_lines(const struct weights *weights);

#endif
