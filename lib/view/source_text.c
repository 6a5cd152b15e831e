// SPDX-License-Identifier: GPL-2.0-or-later
/* Annotated source as text and as JSON. */
#include "view/source_text.h"

#include <string.h>

#include "base/buf.h"
#include "base/escape.h"
#include "base/json.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/per_call.h"
#include "calltree/source.h"
#include "calltree/weights.h"
#include "view/cut.h"
#include "view/flat_fields.h"
#include "view/line.h"
#include "view/number.h"
#include "view/paragraph.h"
#include "view/per_call_text.h"

/* Columns of a tab stop in source text. */
#define TAB_COLUMNS 8

/* Before the name of one; the arrow's bytes are two more than its columns. */
#define INLINED "  \xe2\x86\xb3 inlined "

/* Each line names at most this many functions inlined there. */
#define SITES_SHOWN 4

/* Widths and units of one listing. */
struct columns {
	const struct listing *listing;
	const struct view *view;
	struct sink *sink;
	struct unit unit;
	size_t amount, percent, number; /* widths */
	bool has_amounts, has_self, has_calls, has_per_call;
};

#define AMOUNT_COLUMNS	 8 /* "self ms" */
#define CALLS_COLUMNS	 12
#define PER_CALL_COLUMNS 11
/* With counts, narrower listings show the lines' total, but not their self. */
#define ROOMY_COLUMNS 110
/* Narrower listings show shares only, to leave room for source. */
#define COLUMNS_OF_AMOUNTS 64

static const struct profile *profile_of(const struct listing *listing)
{
	return listing->source->weights->selection->expansion->profile;
}

static size_t width_of_amount(const struct unit *unit, uint64_t value)
{
	struct buf text = {0};
	size_t width;

	append_in_unit(&text, value, unit);
	width = text.nr_bytes;
	buf_release(&text);
	return width;
}

static uint32_t last_line(const struct listing *listing)
{
	const struct source_file *file = listing->file;
	uint32_t last = (uint32_t)listing->nr_lines;

	if (file->nr_lines > 0) {
		uint32_t costly =
			listing->source->lines[file->first_line + file->nr_lines - 1].line;

		last = costly > last ? costly : last;
	}
	return listing->last < last ? listing->last : last;
}

static bool has_counts(const struct listing *listing)
{
	const struct source_file *file = listing->file;

	for (uint32_t i = 0; i < file->nr_lines; i++)
		if (listing->source->lines[file->first_line + i].counted)
			return true;
	return false;
}

static void columns_init(struct columns *columns, const struct listing *listing,
			 const struct view *view, struct sink *sink)
{
	enum metric metric = listing->source->weights->metric;
	uint64_t largest = listing->file->total.weight;
	size_t least = AMOUNT_COLUMNS;

	*columns = (struct columns){.listing = listing,
				    .view = view,
				    .sink = sink,
				    .unit = unit_chosen(view->unit, metric, largest)};
	columns->has_calls = has_counts(listing);
	if (columns->has_calls)
		least += strlen("tottime") - strlen("self");
	columns->has_self = !columns->has_calls || view->columns >= ROOMY_COLUMNS;
	columns->has_amounts = view->columns >= COLUMNS_OF_AMOUNTS;
	columns->has_per_call = columns->has_calls && columns->has_amounts;
	columns->amount = width_of_amount(&columns->unit, largest) + columns->has_calls;
	if (columns->amount < least)
		columns->amount = least;
	if (!columns->has_amounts)
		columns->amount = 0;
	columns->percent = columns->has_amounts ? 6 : 1 + strlen("total%");
	columns->number = last_line(listing) > 99999 ? 7 : 5;
}

/* Amount and percentage and a space, or as many spaces. */
static void append_cost(struct buf *out, const struct columns *columns, const struct tally *tally)
{
	const struct tally *total = &columns->listing->source->weights->total;
	double percent = tally ? tally_percent(tally, total) : 0;
	enum style style = style_of_percent(percent);
	struct buf text = {0};

	if (tally && tally->weight > 0 && columns->has_amounts)
		append_in_unit(&text, tally->weight, &columns->unit);
	line_append_right(out, columns->view, style, columns->amount, buf_str(&text));
	buf_clear(&text);
	if (tally && tally->weight > 0)
		append_percent(&text, percent);
	line_append_right(out, columns->view, style, columns->percent, buf_str(&text));
	buf_append_byte(out, ' ');
	buf_release(&text);
}

static void append_calls(struct buf *out, const struct columns *columns,
			 const struct source_line *line)
{
	struct buf text = {0};

	if (line && line->counted)
		append_count(&text, line->calls);
	line_append_right(out, columns->view, STYLE_PLAIN, CALLS_COLUMNS, buf_str(&text));
	buf_release(&text);
}

static void append_line_per_call(struct buf *out, const struct columns *columns,
				 const struct source_line *line)
{
	struct per_call per_call;
	struct buf text = {0};

	if (line && source_line_per_call(columns->listing->source, line, &per_call))
		append_per_call(&text, &per_call, columns->view->unit);
	line_append_right(out, columns->view, STYLE_PLAIN, PER_CALL_COLUMNS, buf_str(&text));
	buf_release(&text);
}

/*
 * Append the columns before a line's number. With counts they are in the order of the line
 * profilers of interpreted languages. NULL: an empty column.
 */
static void append_numbers(struct buf *out, const struct columns *columns, const struct tally *self,
			   const struct tally *total, const struct source_line *line)
{
	if (columns->has_calls)
		append_calls(out, columns, line);
	if (columns->has_self)
		append_cost(out, columns, self);
	append_cost(out, columns, total);
	if (columns->has_per_call)
		append_line_per_call(out, columns, line);
}

/* The columns left after the numbers and `used` more; at least 8. */
static size_t room_after(const struct columns *columns, size_t used)
{
	used += (columns->has_self + 1U) * (columns->amount + columns->percent + 1) +
		columns->number;
	if (columns->has_calls)
		used += CALLS_COLUMNS;
	if (columns->has_per_call)
		used += PER_CALL_COLUMNS;
	return columns->view->columns > used + 8 ? columns->view->columns - used : 8;
}

void append_source_line(struct buf *out, const char *text, size_t room)
{
	struct buf plain = {0}, escaped = {0};
	size_t column = 0;

	for (; *text; text++) {
		if (*text == '\t') {
			do
				buf_append_byte(&plain, ' ');
			while (++column % TAB_COLUMNS);
			continue;
		}
		buf_append_byte(&plain, (uint8_t)*text);
		column += ((unsigned char)*text & 0xc0) != 0x80;
	}
	escape_terminal(&escaped, buf_str(&plain));
	append_cut(out, buf_str(&escaped), room, CUT_END);
	buf_release(&plain);
	buf_release(&escaped);
}

/* Below a line: a function inlined there, and its part of the line's total. */
static void print_site(const struct columns *columns, const struct source_site *site)
{
	const struct expansion *expansion = columns->listing->source->weights->selection->expansion;
	struct buf line = {0}, name = {0}, escaped = {0}, shown = {0};

	append_numbers(&line, columns, NULL, &site->total, NULL);
	line_append_right(&line, columns->view, STYLE_PLAIN, columns->number, "");
	label_append_name(&name, expansion, site->label, columns->view->names);
	escape_terminal(&escaped, buf_str(&name));
	buf_append_str(&shown, INLINED);
	append_cut(&shown, buf_str(&escaped), room_after(columns, strlen(INLINED) - 2), CUT_MIDDLE);
	style_append(&line, columns->view, STYLE_DIM, buf_str(&shown));
	line_end(&line, columns->sink);
	buf_release(&line);
	buf_release(&name);
	buf_release(&escaped);
	buf_release(&shown);
}

static void print_line(const struct columns *columns, uint32_t number)
{
	const struct listing *listing = columns->listing;
	const struct source_line *cost = source_find_line(listing->source, listing->file, number);
	struct buf line = {0}, text = {0};

	append_numbers(&line, columns, cost ? &cost->self : NULL, cost ? &cost->total : NULL, cost);
	buf_printf(&text, "%u", number);
	line_append_right(&line, columns->view, STYLE_DIM, columns->number, buf_str(&text));
	buf_append_str(&line, "  ");
	if (listing->lines && number <= listing->nr_lines)
		append_source_line(&line, listing->lines[number - 1], room_after(columns, 2));
	line_end(&line, columns->sink);
	buf_release(&line);
	buf_release(&text);
	for (uint32_t i = 0; cost && i < cost->nr_sites && i < SITES_SHOWN; i++)
		print_site(columns, &listing->source->sites[cost->first_site + i]);
}

static void append_cost_header(struct buf *line, const struct columns *columns, const char *name)
{
	struct buf head = {0};

	if (columns->has_amounts) {
		buf_printf(&head, "%s%s%s", name, *columns->unit.name ? " " : "",
			   columns->unit.name);
		line_append_right(line, columns->view, STYLE_HEADING, columns->amount,
				  buf_str(&head));
		line_append_right(line, columns->view, STYLE_HEADING, columns->percent, "%");
	} else {
		buf_printf(&head, "%s%%", name);
		line_append_right(line, columns->view, STYLE_HEADING, columns->percent,
				  buf_str(&head));
	}
	buf_append_byte(line, ' ');
	buf_release(&head);
}

static void append_per_call_header(struct buf *line, const struct columns *columns)
{
	const char *unit = per_call_unit_name(columns->view->unit);
	struct buf head = {0};

	buf_printf(&head, "percall%s%s", *unit ? " " : "", unit);
	line_append_right(line, columns->view, STYLE_HEADING, PER_CALL_COLUMNS, buf_str(&head));
	buf_release(&head);
}

static void print_header(const struct columns *columns)
{
	struct buf line = {0};

	if (columns->has_calls)
		line_append_right(&line, columns->view, STYLE_HEADING, CALLS_COLUMNS, "ncalls");
	if (columns->has_self)
		append_cost_header(&line, columns, "self");
	append_cost_header(&line, columns,
			   columns->has_calls && columns->has_amounts ? "tottime" : "total");
	if (columns->has_per_call)
		append_per_call_header(&line, columns);
	line_append_right(&line, columns->view, STYLE_HEADING, columns->number, "line");
	line_end(&line, columns->sink);
	buf_release(&line);
}

/* "1.20 s self (60.0%), 1.80 s total (90.0%)" */
static void append_file_costs(struct buf *out, const struct listing *listing)
{
	const struct tally *total = &listing->source->weights->total;
	enum metric metric = listing->source->weights->metric;
	const struct source_file *file = listing->file;

	append_weight(out, metric, file->self.weight);
	buf_append_str(out, " self (");
	append_percent(out, tally_percent(&file->self, total));
	buf_append_str(out, "%), ");
	append_weight(out, metric, file->total.weight);
	buf_append_str(out, " total (");
	append_percent(out, tally_percent(&file->total, total));
	buf_append_str(out, "%)");
}

#define SHORTEST_PATH 16

/*
 * The numbers are shown in full, on a line of their own if necessary; the path is cut to its end.
 */
static void print_file_heading(const struct columns *columns)
{
	const struct listing *listing = columns->listing;
	struct buf costs = {0}, path = {0}, shown = {0};
	size_t room = columns->view->columns, nr_taken;

	append_file_costs(&costs, listing);
	escape_terminal(&path, profile_str(profile_of(listing), listing->file->file));
	nr_taken = strlen(": ") + text_columns(buf_str(&costs));
	if (room >= nr_taken + SHORTEST_PATH) {
		append_cut(&shown, buf_str(&path), room - nr_taken, CUT_START);
		buf_printf(&shown, ": %s", buf_str(&costs));
		line_print(columns->sink, columns->view, STYLE_HEADING, buf_str(&shown));
	} else {
		append_cut(&shown, buf_str(&path), room, CUT_START);
		line_print(columns->sink, columns->view, STYLE_HEADING, buf_str(&shown));
		paragraph_print_styled(columns->view, STYLE_HEADING, "", buf_str(&costs),
				       columns->sink);
	}
	buf_release(&path);
	buf_release(&shown);
	buf_release(&costs);
}

/*
 * The first line from `number` on that is to be shown; beyond the last line if there is none. No
 * linear search: line numbers come from debug information and may be anything.
 */
static uint64_t next_shown(const struct listing *listing, uint64_t number)
{
	const struct source_line *lines = listing->source->lines;
	uint64_t context = listing->lines ? listing->context : 0;
	size_t low = listing->file->first_line, high = low + listing->file->nr_lines;
	const size_t end = high;

	if (context == UINT32_MAX && number <= listing->nr_lines)
		return number;
	if (context == UINT32_MAX)
		context = 0;
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (lines[middle].line + context < number)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == end)
		return UINT64_MAX;
	return lines[low].line > number + context ? lines[low].line - context : number;
}

/* Longer listings list their hottest lines above. */
#define LINES_AT_A_GLANCE 24
#define HOTTEST_NAMED	  3

static bool is_longer_than_a_glance(const struct listing *listing, uint64_t last)
{
	uint64_t number = next_shown(listing, listing->first);
	size_t nr = 0;

	for (; number <= last && nr <= LINES_AT_A_GLANCE; nr++)
		number = next_shown(listing, number + 1);
	return nr > LINES_AT_A_GLANCE;
}

/* Find the lines with the most self, the most first; returns their number. */
static size_t find_hottest(const struct listing *listing, uint64_t last,
			   const struct source_line **hottest)
{
	const struct source_file *file = listing->file;
	size_t nr = 0;

	for (uint32_t i = 0; i < file->nr_lines; i++) {
		const struct source_line *line = &listing->source->lines[file->first_line + i];
		size_t at = nr;

		if (!line->self.weight || line->line < listing->first || line->line > last)
			continue;
		for (; at > 0 && hottest[at - 1]->self.weight < line->self.weight; at--)
			if (at < HOTTEST_NAMED)
				hottest[at] = hottest[at - 1];
		if (at < HOTTEST_NAMED)
			hottest[at] = line;
		nr += nr < HOTTEST_NAMED;
	}
	return nr;
}

/* "most self in line 431 (13.5%), 573 (2.1%), 474 (1.4%)" */
static void print_hottest(const struct columns *columns, uint64_t last)
{
	const struct listing *listing = columns->listing;
	const struct source_line *hottest[HOTTEST_NAMED];
	struct buf text = {0};
	size_t nr;

	if (!is_longer_than_a_glance(listing, last))
		return;
	nr = find_hottest(listing, last, hottest);
	for (size_t i = 0; i < nr; i++) {
		buf_printf(&text, "%s%u (", i ? ", " : "most self in line ", hottest[i]->line);
		append_percent(&text,
			       tally_percent(&hottest[i]->self, &listing->source->weights->total));
		buf_append_str(&text, "%)");
	}
	if (nr)
		paragraph_print_styled(columns->view, STYLE_PLAIN, "", buf_str(&text),
				       columns->sink);
	buf_release(&text);
}

static void print_gap(const struct columns *columns)
{
	struct buf line = {0};

	append_numbers(&line, columns, NULL, NULL, NULL);
	line_append_right(&line, columns->view, STYLE_DIM, columns->number, "\xe2\x80\xa6");
	line_end(&line, columns->sink);
	buf_release(&line);
}

void listing_print_text(const struct listing *listing, const struct view *view, struct sink *sink)
{
	uint64_t number = next_shown(listing, listing->first), last = last_line(listing);
	struct columns columns;

	columns_init(&columns, listing, view, sink);
	print_file_heading(&columns);
	print_hottest(&columns, last);
	print_header(&columns);
	while (number <= last) {
		uint64_t next = next_shown(listing, number + 1);

		print_line(&columns, (uint32_t)number);
		if (next != number + 1 && next <= last)
			print_gap(&columns);
		number = next;
	}
}

static void write_calls(struct json *json, const struct source *source,
			const struct source_line *line)
{
	struct per_call per_call;

	json_key(json, "calls");
	if (line && line->counted)
		json_u64(json, line->calls);
	else
		json_null(json);
	if (!metric_is_time(source->weights->metric))
		return;
	json_key(json, "per_call_ns");
	if (line && source_line_per_call(source, line, &per_call))
		json_double(json, per_call.ns, 4);
	else
		json_null(json);
}

static void write_line(const struct listing *listing, struct json *json, uint32_t number)
{
	const struct source_line *cost = source_find_line(listing->source, listing->file, number);
	static const struct tally nothing = {0};
	enum metric metric = listing->source->weights->metric;
	bool has_text = listing->lines && number <= listing->nr_lines;

	json_object_begin(json);
	json_key_u64(json, "line", number);
	json_key_amount(json, "self", metric, cost ? &cost->self : &nothing);
	json_key_amount(json, "total", metric, cost ? &cost->total : &nothing);
	json_key_u64(json, "samples", cost ? cost->self.samples : 0);
	json_key_u64(json, "total_samples", cost ? cost->total.samples : 0);
	write_calls(json, listing->source, cost);
	json_key_str(json, "text", has_text ? listing->lines[number - 1] : "");
	json_object_end(json);
}

void listing_write_json(const struct listing *listing, struct json *json)
{
	uint64_t last = last_line(listing);

	json_key_str(json, "file", profile_str(profile_of(listing), listing->file->file));
	json_key_str(json, "read_from", listing->path ? listing->path : "");
	json_key_array_begin(json, "lines");
	for (uint64_t number = next_shown(listing, listing->first); number <= last;
	     number = next_shown(listing, number + 1))
		write_line(listing, json, (uint32_t)number);
	json_array_end(json);
}
