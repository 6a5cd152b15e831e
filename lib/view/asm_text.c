// SPDX-License-Identifier: GPL-2.0-or-later
/* Annotated instructions as text. */
#include "view/asm_text.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/escape.h"
#include "calltree/code.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/weights.h"
#include "view/cut.h"
#include "view/line.h"
#include "view/number.h"

#define AMOUNT_COLUMNS	8
#define PERCENT_COLUMNS 6
#define ADDRESS_COLUMNS 10
#define COST_COLUMNS	(AMOUNT_COLUMNS + PERCENT_COLUMNS + ADDRESS_COLUMNS)

struct printer {
	const struct asm_listing *listing;
	const struct view *view;
	struct sink *sink;
	struct unit unit;
	uint32_t next_cost; /* the function's next cost to print */
};

static const struct tally *all(const struct printer *printer)
{
	return &printer->listing->codes->weights->total;
}

static void print_heading(const struct printer *printer)
{
	const struct code *code = printer->listing->code;
	const struct weights *weights = printer->listing->codes->weights;
	const struct expansion *expansion = weights->selection->expansion;
	struct buf name = {0}, text = {0};

	if (expansion->labels[code->label].kind == LABEL_ADDRESS)
		buf_append_str(&name, "code without symbols");
	else
		label_append_name(&name, expansion, code->label, printer->view->names);
	buf_append_str(&name, " in ");
	buf_append_str(&name, label_module(expansion, code->label)->path);
	escape_terminal(&text, buf_str(&name));
	buf_append_str(&text, ": ");
	append_weight(&text, weights->metric, code->self.weight);
	buf_append_str(&text, " self (");
	append_percent(&text, tally_percent(&code->self, all(printer)));
	buf_append_str(&text, "%)");
	line_print(printer->sink, printer->view, STYLE_HEADING, buf_str(&text));
	buf_release(&name);
	buf_release(&text);
}

static void print_header(const struct printer *printer)
{
	struct buf line = {0}, head = {0};

	buf_printf(&head, "self%s%s", *printer->unit.name ? " " : "", printer->unit.name);
	line_append_right(&line, printer->view, STYLE_HEADING, AMOUNT_COLUMNS, buf_str(&head));
	line_append_right(&line, printer->view, STYLE_HEADING, PERCENT_COLUMNS, "%");
	line_append_right(&line, printer->view, STYLE_HEADING, ADDRESS_COLUMNS, "address");
	line_end(&line, printer->sink);
	buf_release(&line);
	buf_release(&head);
}

static void append_text(struct buf *line, const struct printer *printer, enum style style,
			const char *text)
{
	size_t room = printer->view->columns > COST_COLUMNS + 22
			      ? printer->view->columns - COST_COLUMNS - 2
			      : 20;
	struct buf spaced = {0}, escaped = {0}, shown = {0};

	for (; *text; text++)
		buf_append_byte(&spaced, *text == '\t' ? ' ' : (uint8_t)*text);
	escape_terminal(&escaped, buf_str(&spaced));
	append_cut(&shown, buf_str(&escaped), room, CUT_END);
	buf_append_str(line, "  ");
	style_append(line, printer->view, style, buf_str(&shown));
	buf_release(&spaced);
	buf_release(&escaped);
	buf_release(&shown);
}

static void print_source(const struct printer *printer, const char *text)
{
	struct buf line = {0};

	line_append_spaces(&line, COST_COLUMNS);
	append_text(&line, printer, STYLE_DIM, text);
	line_end(&line, printer->sink);
	buf_release(&line);
}

static void print_instruction(const struct printer *printer, uint64_t address,
			      const struct tally *self, const char *text)
{
	double percent = tally_percent(self, all(printer));
	enum style style = style_of_percent(percent);
	struct buf line = {0}, cell = {0};

	if (self->weight > 0)
		append_in_unit(&cell, self->weight, &printer->unit);
	line_append_right(&line, printer->view, style, AMOUNT_COLUMNS, buf_str(&cell));
	buf_clear(&cell);
	if (self->weight > 0)
		append_percent(&cell, percent);
	line_append_right(&line, printer->view, style, PERCENT_COLUMNS, buf_str(&cell));
	buf_clear(&cell);
	buf_printf(&cell, "%" PRIx64, address);
	line_append_right(&line, printer->view, STYLE_DIM, ADDRESS_COLUMNS, buf_str(&cell));
	append_text(&line, printer, STYLE_PLAIN, text);
	line_end(&line, printer->sink);
	buf_release(&line);
	buf_release(&cell);
}

/* The samples before `end` that are not printed yet. */
static struct tally take_costs(struct printer *printer, uint64_t end)
{
	const struct code *code = printer->listing->code;
	const struct code_cost *costs = printer->listing->codes->costs + code->first_cost;
	struct tally sum = {0};

	while (printer->next_cost < code->nr_costs && costs[printer->next_cost].address < end)
		tally_add(&sum, &costs[printer->next_cost++].self);
	return sum;
}

/* The address of the instruction after this line; beyond everything after the last one. */
static uint64_t next_address(const struct asm_listing *listing, size_t line)
{
	while (++line < listing->nr_lines)
		if (!listing->lines[line].is_source)
			return listing->lines[line].address;
	return UINT64_MAX;
}

/* The cost of each line; lines of source have none. The caller frees the array. */
static struct tally *costs_of_lines(struct printer *printer)
{
	const struct asm_listing *listing = printer->listing;
	struct tally *costs = xcalloc(listing->nr_lines, sizeof(*costs));

	for (size_t i = 0; i < listing->nr_lines; i++)
		if (!listing->lines[i].is_source)
			costs[i] = take_costs(printer, next_address(listing, i));
	return costs;
}

/* Marks the lines near one that has a cost; the caller frees the array. */
static bool *lines_to_show(const struct asm_listing *listing, const struct tally *costs)
{
	bool *shown = xcalloc(listing->nr_lines, sizeof(*shown));
	size_t until = 0; /* the first line that is not known to be shown */

	for (size_t i = 0; i < listing->nr_lines; i++) {
		size_t from = i > listing->context ? i - listing->context : 0;

		if (costs[i].weight == 0)
			continue;
		for (size_t j = from > until ? from : until;
		     j < listing->nr_lines && j <= i + listing->context; j++)
			shown[until = j] = true;
	}
	return shown;
}

static void print_lines(struct printer *printer)
{
	const struct asm_listing *listing = printer->listing;
	cleanup_free struct tally *costs = costs_of_lines(printer);
	cleanup_free bool *shown = lines_to_show(listing, costs);

	for (size_t i = 0; i < listing->nr_lines; i++) {
		const struct asm_line *line = &listing->lines[i];

		if (!shown[i] && (i == 0 || shown[i - 1]))
			print_source(printer, "\xe2\x80\xa6");
		if (!shown[i])
			continue;
		if (line->is_source)
			print_source(printer, line->text);
		else
			print_instruction(printer, line->address, &costs[i], line->text);
	}
}

static void print_addresses(const struct printer *printer)
{
	const struct code *code = printer->listing->code;

	for (uint32_t i = 0; i < code->nr_costs; i++) {
		const struct code_cost *cost =
			&printer->listing->codes->costs[code->first_cost + i];

		print_instruction(printer, cost->address, &cost->self, "");
	}
}

void asm_print_text(const struct asm_listing *listing, const struct view *view, struct sink *sink)
{
	struct printer printer = {.listing = listing, .view = view, .sink = sink};

	printer.unit = unit_for(listing->codes->weights->metric, listing->code->self.weight);
	print_heading(&printer);
	print_header(&printer);
	if (listing->nr_lines > 0)
		print_lines(&printer);
	else
		print_addresses(&printer);
}
