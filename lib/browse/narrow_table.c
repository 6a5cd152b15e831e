// SPDX-License-Identifier: GPL-2.0-or-later
/* Tables of shares and names. */
#include "browse/narrow_table.h"

#include <string.h>

#include "base/buf.h"
#include "base/escape.h"
#include "browse/cost.h"
#include "calltree/blame.h"
#include "calltree/flat.h"
#include "calltree/weights.h"
#include "profile/profile.h"
#include "view/blame_text.h"
#include "view/cut.h"
#include "view/line.h"

/* From this width on there is room for amounts, too. */
#define COLUMNS_OF_AMOUNTS 60

bool narrow_table_fits(const struct view *view)
{
	return view->columns < COLUMNS_OF_AMOUNTS;
}

static struct cost_columns costs_of(const struct flat *flat, const struct view *view)
{
	return cost_columns_of(flat->weights, view, 0, false);
}

static size_t room_of(const struct flat *flat, const struct view *view)
{
	struct cost_columns costs = costs_of(flat, view);
	size_t used = cost_columns_width(&costs) * (dimension_is_code(flat->dimension) ? 2 : 1) + 2;

	return view->columns > used + 8 ? view->columns - used : 8;
}

void narrow_table_print_header(const struct flat *flat, const struct view *view, struct sink *sink)
{
	struct cost_columns costs = costs_of(flat, view);
	struct buf line = {0};

	cost_append_header(&line, &costs, "self");
	if (dimension_is_code(flat->dimension))
		cost_append_header(&line, &costs, "total");
	buf_append_str(&line, "  ");
	style_append(&line, view, STYLE_HEADING, dimension_names[flat->dimension]);
	line_end(&line, sink);
	buf_release(&line);
}

static void append_place(struct buf *out, const struct flat *flat, const struct flat_row *row)
{
	struct buf place = {0};

	flat_append_location(&place, flat, row);
	buf_append_str(out, cut_directories(buf_str(&place)));
	buf_append_str(out, place.nr_bytes ? " " : "");
	buf_release(&place);
}

/* The id that distinguishes rows of one name. */
static void append_id(struct buf *out, const struct flat *flat, const struct flat_row *row)
{
	const struct profile *profile = flat_expansion(flat)->profile;

	if (flat->dimension == BY_THREAD)
		buf_printf(out, "%d ", (int)profile->threads[row->thread].tid);
	else if (flat->dimension == BY_PID)
		buf_printf(out, "%d ", (int)profile->processes[row->process].pid);
	else if (flat->dimension == BY_LINE)
		append_place(out, flat, row);
}

/* The further answer after the name: a lock's owner, or the program's waiting function. */
static void append_more(struct buf *out, const struct flat *flat, const struct flat_row *row,
			enum name_style style)
{
	if (flat->dimension == BY_LOCK)
		append_held_in(out, flat->blame, row->object, style);
	else if (flat->dimension == BY_FD)
		append_waiting_in(out, flat->blame, row->object, style);
	else
		flat_append_wait(out, flat, row, style);
}

/* The name and the text after it, each with at least half of the room where both are long. */
static void append_names(struct buf *out, const struct flat *flat, const struct flat_row *row,
			 const struct view *view)
{
	const char *words = flat->dimension == BY_LOCK ? " held in " : " in ";
	struct buf text = {0}, name = {0}, more = {0};
	size_t room = room_of(flat, view), nr_more = 0, least;
	bool is_path = dimension_info(flat->dimension)->is_path;

	append_id(&text, flat, row);
	flat_append_name(&text, flat, row, view->names);
	flat_append_start(&text, flat, row, view->names, true);
	escape_terminal(&name, buf_str(&text));
	buf_clear(&text);
	append_more(&text, flat, row, view->names);
	escape_terminal(&more, buf_str(&text));
	if (more.nr_bytes)
		nr_more = strlen(words) + text_columns(buf_str(&more));
	least = text_columns(buf_str(&name));
	least = least < room / 2 ? least : room / 2;
	if (nr_more > room - least)
		nr_more = room - least;
	append_cut(out, buf_str(&name), room - nr_more, is_path ? CUT_START : CUT_MIDDLE);
	if (nr_more > strlen(words)) {
		buf_append_str(out, words);
		append_cut(out, buf_str(&more), nr_more - strlen(words), CUT_MIDDLE);
	}
	buf_release(&text);
	buf_release(&name);
	buf_release(&more);
}

void narrow_table_print_row(const struct flat *flat, size_t index, const struct view *view,
			    struct sink *sink)
{
	const struct flat_row *row = &flat->rows[index];
	struct cost_columns costs = costs_of(flat, view);
	struct buf line = {0}, shown = {0};

	cost_append(&line, &costs, &row->self);
	if (dimension_is_code(flat->dimension))
		cost_append(&line, &costs, &row->total);
	buf_append_str(&line, "  ");
	append_names(&shown, flat, row, view);
	style_append(&line, view, *buf_str(&shown) == '[' ? STYLE_SPECIAL : STYLE_PLAIN,
		     buf_str(&shown));
	line_end(&line, sink);
	buf_release(&line);
	buf_release(&shown);
}
