// SPDX-License-Identifier: GPL-2.0-or-later
/* Annotated source, row by row. */
#include "browse/source_page.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/escape.h"
#include "browse/cost.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/flat.h"
#include "calltree/source.h"
#include "calltree/weights.h"
#include "view/cut.h"
#include "view/line.h"
#include "view/number.h"
#include "view/source_check.h"
#include "view/source_file.h"
#include "view/source_text.h"

#define SITES_SHOWN 4 /* as in annotated source as text */
#define INLINED	    "\xe2\x86\xb3 inlined "

#define COLUMNS_OF_AMOUNTS 90
#define COLUMNS_OF_CALLS   110
#define CALLS_COLUMNS	   12
#define NUMBER_COLUMNS	   6

#define NO_SITE UINT32_MAX

/* A line, or a function inlined there. */
struct source_row {
	uint32_t line;
	uint32_t site; /* of source.sites, or NO_SITE */
};

struct source_page {
	const struct source *source;	/* borrowed */
	const struct source_file *file; /* of it */
	struct source_file_text text;
	struct source_row *rows;
	size_t nr, cap;
	bool has_calls;
};

static const struct profile *profile_of(const struct source_page *page)
{
	return page->source->weights->selection->expansion->profile;
}

static const struct source_file *find_file(const struct source *source, const char *recorded)
{
	const struct profile *profile = source->weights->selection->expansion->profile;

	for (size_t i = 0; i < source->nr_files; i++)
		if (strcmp(profile_str(profile, source->files[i].file), recorded) == 0)
			return &source->files[i];
	return NULL;
}

static void add_row(struct source_page *page, uint32_t line, uint32_t site)
{
	ARRAY_GROW(page->rows, page->nr, page->cap);
	page->rows[page->nr++] = (struct source_row){.line = line, .site = site};
}

static const struct source_line *line_of(const struct source_page *page, size_t i)
{
	return &page->source->lines[page->file->first_line + i];
}

/* Add all lines of the text, and those with a cost, which may be beyond its end. */
static void add_rows(struct source_page *page)
{
	uint32_t next = 1;

	for (uint32_t i = 0; i < page->file->nr_lines; i++) {
		const struct source_line *line = line_of(page, i);

		for (; next < line->line && next <= page->text.nr_lines; next++)
			add_row(page, next, NO_SITE);
		add_row(page, line->line, NO_SITE);
		for (uint32_t j = 0; j < line->nr_sites && j < SITES_SHOWN; j++)
			add_row(page, line->line, line->first_site + j);
		page->has_calls = page->has_calls || line->counted;
		next = line->line + 1;
	}
	for (; next <= page->text.nr_lines; next++)
		add_row(page, next, NO_SITE);
}

struct source_page *source_page_new(const struct source *source, const char *recorded,
				    const struct source_maps *maps)
{
	struct source_page *page = xcalloc(1, sizeof(*page));

	page->source = source;
	page->file = find_file(page->source, recorded);
	if (!page->file || page->file->nr_lines == 0) {
		source_page_free(page);
		return NULL;
	}
	source_file_read(source->weights->selection->expansion->profile, recorded, NULL, maps,
			 &page->text);
	add_rows(page);
	return page;
}

void source_page_free(struct source_page *page)
{
	if (!page)
		return;
	source_file_release(&page->text);
	free(page->rows);
	free(page);
}

size_t source_page_nr_rows(const struct source_page *page)
{
	return page->nr;
}

size_t source_page_find(const struct source_page *page, uint32_t line)
{
	size_t low = 0, high = page->nr;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (page->rows[middle].line < line)
			low = middle + 1;
		else
			high = middle;
	}
	return low < page->nr ? low : page->nr - 1;
}

size_t source_page_hottest(const struct source_page *page, uint32_t first, uint32_t last)
{
	const struct source_line *hottest = NULL;

	for (uint32_t i = 0; i < page->file->nr_lines; i++) {
		const struct source_line *line = line_of(page, i);

		if (line->line >= first && line->line <= last &&
		    (!hottest || line->self.weight > hottest->self.weight))
			hottest = line;
	}
	return source_page_find(page, hottest ? hottest->line : first);
}

static bool has_self(const struct source_page *page, size_t row)
{
	const struct source_line *line =
		source_find_line(page->source, page->file, page->rows[row].line);

	return line && line->self.weight > 0 && page->rows[row].site == NO_SITE;
}

size_t source_page_next(const struct source_page *page, size_t row, bool backwards)
{
	if (backwards) {
		for (size_t i = row; i-- > 0;)
			if (has_self(page, i))
				return i;
		return row;
	}
	for (size_t i = row + 1; i < page->nr; i++)
		if (has_self(page, i))
			return i;
	return row;
}

uint32_t source_page_label(const struct source_page *page, size_t row)
{
	uint32_t site = page->rows[row].site;

	return site == NO_SITE ? FLAT_NONE : page->source->sites[site].label;
}

/* The first module with code of the file. */
static const struct module *module_of(const struct source_page *page)
{
	const struct expansion *expansion = page->source->weights->selection->expansion;

	for (size_t i = 0; i < expansion->nr_places; i++)
		if (expansion->places[i].file.v == page->file->file.v)
			return label_module(expansion, expansion->places[i].label);
	return NULL;
}

void source_page_append_doubts(const struct source_page *page, struct buf *out)
{
	const struct source_check check = {
		.profile = profile_of(page),
		.module = module_of(page),
		.recorded = profile_str(profile_of(page), page->file->file),
		.text = &page->text,
		.last_line = line_of(page, page->file->nr_lines - 1)->line};
	struct buf note = {0}, warning = {0};

	source_check(&check, &note, &warning);
	buf_append_str(out, warning.nr_bytes ? buf_str(&warning) : buf_str(&note));
	buf_release(&note);
	buf_release(&warning);
}

static bool has_calls(const struct source_page *page, const struct view *view)
{
	return page->has_calls && view->columns >= COLUMNS_OF_CALLS;
}

static struct cost_columns costs_of(const struct source_page *page, const struct view *view)
{
	return cost_columns_of(page->source->weights, view, page->file->total.weight,
			       view->columns >= COLUMNS_OF_AMOUNTS);
}

static size_t room_of(const struct source_page *page, const struct view *view)
{
	struct cost_columns costs = costs_of(page, view);
	size_t used = 2 * cost_columns_width(&costs) + NUMBER_COLUMNS + 2;

	used += has_calls(page, view) ? CALLS_COLUMNS : 0;
	return view->columns > used + 8 ? view->columns - used : 8;
}

static void append_site(struct buf *out, const struct source_page *page, const struct view *view,
			const struct source_site *site)
{
	struct buf name = {0}, escaped = {0}, shown = {0};

	label_append_name(&name, page->source->weights->selection->expansion, site->label,
			  view->names);
	buf_append_str(&escaped, INLINED);
	escape_terminal(&escaped, buf_str(&name));
	append_cut(&shown, buf_str(&escaped), room_of(page, view), CUT_END);
	style_append(out, view, STYLE_DIM, buf_str(&shown));
	buf_release(&name);
	buf_release(&escaped);
	buf_release(&shown);
}

static void append_calls(struct buf *out, const struct view *view, const struct source_line *line)
{
	struct buf text = {0};

	if (line && line->counted)
		append_count(&text, line->calls);
	line_append_right(out, view, STYLE_PLAIN, CALLS_COLUMNS, buf_str(&text));
	buf_release(&text);
}

static void append_number(struct buf *out, const struct view *view, uint32_t line)
{
	struct buf text = {0};

	buf_printf(&text, "%u", line);
	line_append_right(out, view, STYLE_DIM, NUMBER_COLUMNS, buf_str(&text));
	buf_release(&text);
}

void source_page_print_row(const struct source_page *page, size_t index, const struct view *view,
			   struct sink *sink)
{
	static const struct tally none = {0};
	const struct source_row *row = &page->rows[index];
	const struct source_line *cost = source_find_line(page->source, page->file, row->line);
	struct cost_columns costs = costs_of(page, view);
	struct buf line = {0};

	if (row->site != NO_SITE)
		cost = NULL;
	cost_append(&line, &costs, cost ? &cost->self : &none);
	cost_append(&line, &costs,
		    row->site != NO_SITE ? &page->source->sites[row->site].total
		    : cost		 ? &cost->total
					 : &none);
	if (has_calls(page, view))
		append_calls(&line, view, cost);
	if (row->site == NO_SITE)
		append_number(&line, view, row->line);
	else
		line_append_spaces(&line, NUMBER_COLUMNS);
	buf_append_str(&line, "  ");
	if (row->site != NO_SITE)
		append_site(&line, page, view, &page->source->sites[row->site]);
	else if (row->line <= page->text.nr_lines)
		append_source_line(&line, page->text.lines[row->line - 1], room_of(page, view));
	line_end(&line, sink);
	buf_release(&line);
}

void source_page_print_header(const struct source_page *page, const struct view *view,
			      struct sink *sink)
{
	struct cost_columns costs = costs_of(page, view);
	struct buf line = {0};

	cost_append_header(&line, &costs, "self");
	cost_append_header(&line, &costs, "total");
	if (has_calls(page, view))
		line_append_right(&line, view, STYLE_HEADING, CALLS_COLUMNS, "calls");
	line_append_right(&line, view, STYLE_HEADING, NUMBER_COLUMNS, "line");
	buf_append_str(&line, "  ");
	style_append(&line, view, STYLE_HEADING, "source");
	line_end(&line, sink);
	buf_release(&line);
}
