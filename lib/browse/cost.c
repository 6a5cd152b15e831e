// SPDX-License-Identifier: GPL-2.0-or-later
/* Columns of amounts and percentages. */
#include "browse/cost.h"

#include "base/buf.h"
#include "calltree/weights.h"
#include "view/line.h"

#define PERCENT_COLUMNS 6
#define AMOUNT_COLUMNS	9
/* Units of bytes are longer than those of time. */
#define MEMORY_COLUMNS 10
/* The column of a percentage alone, with the metric as its header. */
#define ALONE_COLUMNS 7

struct cost_columns cost_columns_of(const struct weights *weights, const struct view *view,
				    uint64_t largest, bool has_amount)
{
	size_t amount = metric_is_bytes(weights->metric) ? MEMORY_COLUMNS : AMOUNT_COLUMNS;

	return (struct cost_columns){.view = view,
				     .total = &weights->total,
				     .unit = unit_chosen(view->unit, weights->metric, largest),
				     .amount = has_amount ? amount : 0};
}

static size_t percent_columns(const struct cost_columns *columns)
{
	return columns->amount ? PERCENT_COLUMNS : ALONE_COLUMNS;
}

size_t cost_columns_width(const struct cost_columns *columns)
{
	return columns->amount + percent_columns(columns);
}

void cost_append_header(struct buf *out, const struct cost_columns *columns, const char *name)
{
	struct buf head = {0};

	if (columns->amount) {
		buf_printf(&head, "%s%s%s", name, *columns->unit.name ? " " : "",
			   columns->unit.name);
		line_append_right(out, columns->view, STYLE_HEADING, columns->amount,
				  buf_str(&head));
		line_append_right(out, columns->view, STYLE_HEADING, PERCENT_COLUMNS, "%");
	} else {
		buf_printf(&head, "%s%%", name);
		line_append_right(out, columns->view, STYLE_HEADING, ALONE_COLUMNS, buf_str(&head));
	}
	buf_release(&head);
}

void cost_append(struct buf *out, const struct cost_columns *columns, const struct tally *tally)
{
	double percent = tally_percent(tally, columns->total);
	enum style style = style_of_percent(percent);
	struct buf text = {0};

	if (columns->amount) {
		if (tally->weight > 0)
			append_in_unit(&text, tally->weight, &columns->unit);
		line_append_right(out, columns->view, style, columns->amount, buf_str(&text));
	}
	buf_clear(&text);
	if (tally->weight > 0)
		append_percent(&text, percent);
	line_append_right(out, columns->view, style, percent_columns(columns), buf_str(&text));
	buf_release(&text);
}
