// SPDX-License-Identifier: GPL-2.0-or-later
/* Cost of source lines, with inlined code charged to the line it is written on. */
#include "calltree/source.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/flat.h"
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
		struct source_line line = {.line = row->line,
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

/* Where in the sorted lines each file begins. */
static void find_lines_of_file(struct source *source, const struct flat *lines,
			       struct source_file *file)
{
	size_t low = 0, high = lines->nr;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (lines->rows[middle].file.v < file->file.v)
			low = middle + 1;
		else
			high = middle;
	}
	file->first_line = (uint32_t)low;
	while (low < source->nr_lines && lines->rows[low].file.v == file->file.v)
		low++;
	file->nr_lines = (uint32_t)low - file->first_line;
}

static void append_files(struct source *source, const struct flat *files, const struct flat *lines)
{
	for (size_t i = 0; i < files->nr; i++) {
		const struct flat_row *row = &files->rows[i];
		struct source_file file = {
			.file = row->file, .self = row->self, .total = row->total};

		if (row->file.v == STR_EMPTY.v)
			continue;
		find_lines_of_file(source, lines, &file);
		ARRAY_GROW(source->files, source->nr_files, source->cap_files);
		source->files[source->nr_files++] = file;
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
	append_files(source, files, lines);
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

/* The span of a label, made when the label is first met; a definition opens it. */
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
	cleanup_free struct tally *stacks = weights_sum_by_stack(weights);
	cleanup_free uint64_t *modules =
		xcalloc(module_table_nr(profile->modules), sizeof(*modules));
	struct module_id most = MODULE_UNKNOWN;

	for (uint32_t i = 1; i < stack_trie_nr(profile->stacks); i++) {
		struct frame_id frame = stack_trie_frame(profile->stacks, (struct stack_id){i});
		struct module_id id = profile->frames[frame.v].where.module;
		struct frame_levels levels = expansion->frames[frame.v];
		const struct level *leaf = &expansion->levels[levels.first + levels.nr - 1];

		if (expansion->places[leaf->place].line != 0)
			continue;
		modules[id.v] += stacks[i].weight;
		if (modules[id.v] > modules[most.v])
			most = id;
	}
	return most;
}
