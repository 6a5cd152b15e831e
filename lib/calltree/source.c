// SPDX-License-Identifier: GPL-2.0-or-later
/* Cost of source lines, with inlined code charged to the line it is written on. */
#include "calltree/source.h"

#include <assert.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "calltree/counts.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/flat.h"
#include "calltree/per_call.h"
#include "calltree/weights.h"

static int compare_lines(const void *a, const void *b)
{
	const struct flat_row *left = a, *right = b;

	if (left->file.v != right->file.v)
		return left->file.v < right->file.v ? -1 : 1;
	if (left->line != right->line)
		return left->line < right->line ? -1 : 1;
	if (left->total.weight != right->total.weight)
		return left->total.weight > right->total.weight ? -1 : 1;
	return left->label < right->label ? -1 : left->label > right->label;
}

/* Rows by (file, line), heavier first where several are on one line. */
static struct flat *rows_by_line(const struct weights *weights, enum dimension dimension)
{
	struct flat *flat = flat_new(weights, dimension);

	if (flat->nr > 0)
		qsort(flat->rows, flat->nr, sizeof(*flat->rows), compare_lines);
	return flat;
}

static void append_site(struct source *source, const struct flat_row *row)
{
	ARRAY_GROW(source->sites, source->nr_sites, source->cap_sites);
	source->sites[source->nr_sites++] =
		(struct source_site){.label = row->label, .total = row->total};
}

static bool before(const struct flat_row *site, const struct flat_row *line)
{
	if (site->file.v != line->file.v)
		return site->file.v < line->file.v;
	return site->line < line->line;
}

/* All lines, each with the sites on it: both tables are in the order of (file, line). */
static void append_lines(struct source *source, const struct flat *lines, const struct flat *sites)
{
	size_t site = 0;

	for (size_t i = 0; i < lines->nr; i++) {
		const struct flat_row *row = &lines->rows[i];
		struct source_line line = {.file = row->file,
					   .line = row->line,
					   .self = row->self,
					   .total = row->total,
					   .first_site = (uint32_t)source->nr_sites};

		while (site < sites->nr && before(&sites->rows[site], row))
			site++;
		for (; site < sites->nr && !before(row, &sites->rows[site]); site++)
			append_site(source, &sites->rows[site]);
		line.nr_sites = (uint32_t)source->nr_sites - line.first_site;
		ARRAY_GROW(source->lines, source->nr_lines, source->cap_lines);
		source->lines[source->nr_lines++] = line;
	}
}

static int compare_source_lines(const void *a, const void *b)
{
	const struct source_line *left = a, *right = b;

	if (left->file.v != right->file.v)
		return left->file.v < right->file.v ? -1 : 1;
	return left->line < right->line ? -1 : left->line > right->line;
}

static struct source_line *find_line(const struct source *source, struct str_id file, uint32_t line)
{
	const struct source_line wanted = {.file = file, .line = line};

	if (source->nr_lines == 0)
		return NULL;
	return bsearch(&wanted, source->lines, source->nr_lines, sizeof(wanted),
		       compare_source_lines);
}

/* Counted lines are listed even without any sample. */
static void append_counted_lines(struct source *source)
{
	const struct counts *counts = source->weights->counts;
	size_t nr = source->nr_lines;

	for (size_t i = 0; i < counts->nr_lines; i++) {
		const struct count_line *row = &counts->lines[i];
		const struct source_line wanted = {.file = row->file, .line = row->line};

		if (nr > 0 &&
		    bsearch(&wanted, source->lines, nr, sizeof(wanted), compare_source_lines))
			continue;
		ARRAY_GROW(source->lines, source->nr_lines, source->cap_lines);
		source->lines[source->nr_lines++] = wanted;
	}
	if (source->nr_lines > nr)
		qsort(source->lines, source->nr_lines, sizeof(*source->lines),
		      compare_source_lines);
}

/* Add the time of the functions that are defined on counted lines. */
static void add_functions(struct source *source)
{
	const struct expansion *expansion = source->weights->selection->expansion;
	struct flat *flat = flat_new(source->weights, BY_FUNCTION);

	for (size_t i = 0; i < flat->nr; i++) {
		const struct flat_row *row = &flat->rows[i];
		const struct function *function = label_function(expansion, row->label);
		struct source_line *line = NULL;

		if (row->counted && function)
			line = find_line(source, function->file, function->line);
		if (line)
			tally_add(&line->called, &row->called);
	}
	flat_free(flat);
}

static void add_counts(struct source *source)
{
	const struct counts *counts = source->weights->counts;
	cleanup_free struct tally *uncovered = per_call_uncovered(source->weights);

	append_counted_lines(source);
	for (size_t i = 0; i < counts->nr_lines; i++) {
		const struct count_line *row = &counts->lines[i];
		struct source_line *line = find_line(source, row->file, row->line);

		assert(line);
		line->counted = true;
		line->calls = row->has_entries ? row->entries : row->calls;
		if (row->has_entries)
			continue;
		line->called = line->total;
		tally_subtract(&line->called, &uncovered[counts_line_key(counts, row)]);
	}
	add_functions(source);
}

bool source_line_per_call(const struct source *source, const struct source_line *line,
			  struct per_call *per_call)
{
	return line->counted && per_call_of(source->weights, &line->called, line->calls, per_call);
}

/* The first of the sorted lines of a file, and their number. */
static void find_lines_of_file(const struct source *source, struct source_file *file)
{
	size_t low = 0, high = source->nr_lines;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (source->lines[middle].file.v < file->file.v)
			low = middle + 1;
		else
			high = middle;
	}
	file->first_line = (uint32_t)low;
	while (low < source->nr_lines && source->lines[low].file.v == file->file.v)
		low++;
	file->nr_lines = (uint32_t)low - file->first_line;
}

static void append_file(struct source *source, const struct source_file *row)
{
	struct source_file file = *row;

	find_lines_of_file(source, &file);
	ARRAY_GROW(source->files, source->nr_files, source->cap_files);
	source->files[source->nr_files++] = file;
}

static bool has_file(const struct source *source, struct str_id file)
{
	for (size_t i = 0; i < source->nr_files; i++)
		if (source->files[i].file.v == file.v)
			return true;
	return false;
}

static void append_files(struct source *source, const struct flat *files)
{
	const struct counts *counts = source->weights->counts;

	for (size_t i = 0; i < files->nr; i++) {
		const struct flat_row *row = &files->rows[i];
		const struct source_file file = {
			.file = row->file, .self = row->self, .total = row->total};

		if (row->file.v != STR_EMPTY.v)
			append_file(source, &file);
	}
	for (size_t i = 0; i < counts->nr_lines; i++) {
		struct str_id file = counts->lines[i].file;

		/* By file: the lines of one are adjacent. */
		if ((i == 0 || file.v != counts->lines[i - 1].file.v) && !has_file(source, file))
			append_file(source, &(struct source_file){.file = file});
	}
}

struct source *source_new(const struct weights *weights)
{
	struct source *source = xcalloc(1, sizeof(*source));
	struct flat *files = flat_new(weights, BY_FILE);
	struct flat *lines = rows_by_line(weights, BY_SOURCE_LINE);
	struct flat *sites = rows_by_line(weights, BY_INLINE_SITE);

	source->weights = weights;
	append_lines(source, lines, sites);
	if (weights->counts->state == COUNTS_KNOWN)
		add_counts(source);
	append_files(source, files);
	flat_free(sites);
	flat_free(lines);
	flat_free(files);
	return source;
}

void source_free(struct source *source)
{
	if (!source)
		return;
	free(source->files);
	free(source->lines);
	free(source->sites);
	free(source);
}

const struct source_line *source_find_line(const struct source *source,
					   const struct source_file *file, uint32_t line)
{
	size_t low = file->first_line, high = low + file->nr_lines;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (source->lines[middle].line == line)
			return &source->lines[middle];
		if (source->lines[middle].line < line)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* The span of a label, made at its first place; a definition extends it upwards. */
static struct source_span open_span(const struct expansion *expansion, const struct place *place)
{
	const struct function *function = label_function(expansion, place->label);
	struct source_span span = {.file = place->file, .first = place->line, .last = place->line};

	if (function && function->file.v == place->file.v && function->line != 0 &&
	    function->line < span.first)
		span.first = function->line;
	return span;
}

size_t source_find_spans(const struct source *source, const bool *wanted,
			 struct source_span **spans)
{
	const struct expansion *expansion = source->weights->selection->expansion;
	/* By label: its span in the list, counted from 1; 0: none yet. */
	cleanup_free uint32_t *span_of = xcalloc(expansion->nr_labels, sizeof(*span_of));
	size_t nr = 0, cap = 0;

	*spans = NULL;
	for (size_t i = 0; i < expansion->nr_places; i++) {
		const struct place *place = &expansion->places[i];
		struct source_span *span;

		if (!wanted[place->label] || place->line == 0)
			continue;
		if (span_of[place->label] == 0) {
			ARRAY_GROW(*spans, nr, cap);
			(*spans)[nr++] = open_span(expansion, place);
			span_of[place->label] = (uint32_t)nr;
		}
		span = &(*spans)[span_of[place->label] - 1];
		/* Lines of other files (included code, macros) are shown with those files. */
		if (place->file.v != span->file.v)
			continue;
		if (place->line > span->last)
			span->last = place->line;
		if (place->line < span->first)
			span->first = place->line;
	}
	return nr;
}

struct module_id source_hottest_without_lines(const struct weights *weights)
{
	const struct expansion *expansion = weights->selection->expansion;
	const struct profile *profile = expansion->profile;
	cleanup_free uint64_t *modules =
		xcalloc(module_table_nr(profile->modules), sizeof(*modules));
	struct module_id most = MODULE_UNKNOWN;
	struct stack_weight sum;

	for (size_t next = 0; weights_next_stack(weights, &next, &sum);) {
		struct frame_id frame = stack_trie_frame(profile->stacks, sum.stack);
		struct module_id id = profile->frames[frame.v].where.module;
		struct frame_levels levels = expansion->frames[frame.v];
		const struct level *leaf = &expansion->levels[levels.first + levels.nr - 1];

		if (expansion->places[leaf->place].line != 0)
			continue;
		modules[id.v] += sum.tally.weight;
		if (modules[id.v] > modules[most.v])
			most = id;
	}
	return most;
}
