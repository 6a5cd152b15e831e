// SPDX-License-Identifier: GPL-2.0-or-later
/* A comparison of profiles as Markdown. */
#include "view/diff_markdown.h"

#include <string.h>

#include "base/buf.h"
#include "base/escape.h"
#include "base/sink.h"
#include "calltree/diff.h"
#include "calltree/expand.h"
#include "view/cut.h"
#include "view/diff_calls.h"
#include "view/diff_text.h"
#include "view/diff_words.h"
#include "view/number.h"
#include "view/style.h"

/* Longer names make a table that no page shows in whole. */
#define NAME_COLUMNS 60
/* The width of texts in details. */
#define TEXT_COLUMNS 100
/* Comments have at most 65,536 characters on GitHub. */
#define MOST_ROWS 100

static const struct view plain = {.columns = TEXT_COLUMNS, .names = NAME_SHORT};

/*
 * Text that is neither HTML nor Markdown: no link, no name that is notified. A bar would end the
 * cell of a table, even in code.
 */
static void append_html(struct buf *out, const char *text)
{
	for (; *text; text++) {
		if (strchr("&<>|*_`~[@#\\", *text))
			buf_printf(out, "&#%d;", *text);
		else
			buf_append_byte(out, (unsigned char)*text);
	}
}

static void put_html(struct sink *sink, const char *text)
{
	struct buf html = {0};

	append_html(&html, text);
	sink_str(sink, buf_str(&html));
	buf_release(&html);
}

/* A name of the target, as code in a cell of a table. */
static void put_name(struct sink *sink, const char *raw)
{
	struct buf escaped = {0}, shown = {0};

	escape_terminal(&escaped, raw);
	append_cut(&shown, buf_str(&escaped), NAME_COLUMNS, CUT_MIDDLE);
	if (!shown.nr_bytes || !strpbrk(buf_str(&shown), "`|\\")) {
		sink_printf(sink, shown.nr_bytes ? "`%s`" : "%s", buf_str(&shown));
	} else {
		sink_str(sink, "<code>");
		put_html(sink, buf_str(&shown));
		sink_str(sink, "</code>");
	}
	buf_release(&escaped);
	buf_release(&shown);
}

static bool has_module(const struct diff *diff)
{
	return diff->by == BY_FUNCTION || diff->by == BY_LINE;
}

static void put_head(const struct diff *diff, const struct unit *unit, struct sink *sink)
{
	const char *name = diff->mode == DIFF_AMOUNTS ? unit->name : "%";
	const char *space = *name ? " " : "";

	sink_printf(sink, "| change%% | \xc2\xb1 | old%s%s | new%s%s | | %s |", space, name, space,
		    name, dimension_names[diff->by]);
	sink_str(sink,
		 has_module(diff) ? (diff->by == BY_LINE ? " location |\n" : " module |\n") : "\n");
	sink_str(sink, "|---:|---:|---:|---:|---|---|");
	sink_str(sink, has_module(diff) ? "---|\n" : "\n");
}

static void put_amount(const struct diff *diff, const struct diff_side *side,
		       const struct tally *tally, const struct unit *unit, struct sink *sink)
{
	struct buf text = {0};

	if (diff->mode == DIFF_AMOUNTS)
		append_in_unit(&text, diff_mean(side, tally), unit);
	else
		append_percent(&text, diff_percent(diff, side, tally));
	sink_printf(sink, " %s |", buf_str(&text));
	buf_release(&text);
}

static void put_place(const struct diff *diff, const struct flat *flat, const struct flat_row *row,
		      const struct diff_at *at, struct sink *sink)
{
	const struct module *module;
	struct buf text = {0};

	if (!has_module(diff))
		return;
	if (diff->by == BY_LINE) {
		flat_append_location(&text, flat, row);
	} else {
		module = label_module(flat_expansion(flat), at->label);
		buf_append_str(&text, module ? module_short_name(module) : "");
	}
	sink_str(sink, " ");
	put_name(sink, cut_directories(buf_str(&text)));
	sink_str(sink, " |");
	buf_release(&text);
}

static void put_row(const struct diff *diff, const struct diff_row *row, const struct unit *unit,
		    struct sink *sink)
{
	const struct diff_at *at = diff_known_at(row);
	const struct flat *flat = diff->flats[at->run];
	const char *strong = diff_row_is_sure(row) ? "**" : "";
	struct buf name = {0};

	sink_printf(sink, "| %s%+.1f%s | %.1f |", strong, row->change, strong, row->half);
	put_amount(diff, &diff->old_side, &row->old_self, unit, sink);
	put_amount(diff, &diff->new_side, &row->new_self, unit, sink);
	sink_printf(sink, " %s | ", diff_presence_word(diff, row));
	flat_append_name(&name, flat, &flat->rows[at->row], NAME_SHORT);
	put_name(sink, buf_str(&name));
	sink_str(sink, " |");
	put_place(diff, flat, &flat->rows[at->row], at, sink);
	sink_str(sink, "\n");
	buf_release(&name);
}

/* The rows that surely changed, or the others. Returns their number. */
static size_t put_rows(const struct diff *diff, bool are_sure, size_t limit, struct sink *sink)
{
	const struct unit unit = diff_unit(diff, TIME_UNIT_AUTO);
	size_t nr = 0;

	for (size_t i = 0; i < diff->nr; i++) {
		const struct diff_row *row = &diff->rows[i];

		if (diff_row_is_sure(row) != are_sure || row->change == 0)
			continue;
		if (nr == 0)
			put_head(diff, &unit, sink);
		if (nr++ < limit)
			put_row(diff, row, &unit, sink);
	}
	if (nr > limit)
		sink_printf(sink, "\n%zu more, with smaller changes.\n", nr - limit);
	if (nr)
		sink_str(sink, "\n");
	return nr;
}

static size_t nr_unsure(const struct diff *diff)
{
	size_t nr = 0;

	for (size_t i = 0; i < diff->nr; i++)
		nr += diff->rows[i].change != 0 && !diff_row_is_sure(&diff->rows[i]);
	return nr;
}

/* The blank line lets what follows be Markdown again. */
static void begin_details(struct sink *sink, const char *summary)
{
	sink_printf(sink, "<details><summary>%s</summary>\n\n", summary);
}

static void end_details(struct sink *sink)
{
	sink_str(sink, "</details>\n\n");
}

/* Text as it is. */
static void put_text(struct sink *sink, struct sink *text)
{
	const char *at = buf_str(&text->pending);

	sink_str(sink, "<pre>\n");
	put_html(sink, at + strspn(at, "\n"));
	sink_str(sink, "</pre>\n\n");
	sink_release(text);
}

static void put_unsure(const struct diff *diff, size_t limit, struct sink *sink)
{
	struct buf summary = {0};

	if (!nr_unsure(diff))
		return;
	diff_append_unsure(&summary, diff, nr_unsure(diff));
	begin_details(sink, buf_str(&summary));
	put_rows(diff, false, limit, sink);
	end_details(sink);
	buf_release(&summary);
}

static void put_calls(const struct diff *diff, const struct diff_limits *limits, struct sink *sink)
{
	struct sink text = SINK_MEMORY;

	diff_print_calls(diff, &plain, limits->rows, limits->unsure, &text);
	if (!text.pending.nr_bytes) {
		sink_release(&text);
		return;
	}
	begin_details(sink, "calls, counted");
	put_text(sink, &text);
	end_details(sink);
}

static void put_comparison(const struct diff *diff, struct sink *sink)
{
	struct sink text = SINK_MEMORY;

	begin_details(sink, "how this was compared");
	diff_print_heading(diff, &plain, &text);
	diff_print_note(diff, &plain, &text);
	put_text(sink, &text);
	sink_str(sink,
		 "A row counts as changed if its change is larger than its \xc2\xb1, the half "
		 "of an interval that is wide enough for all rows together: of the rows "
		 "that are shown as changed, one in twenty is not, in the mean. Changes are "
		 "in percent of the old total");
	sink_str(sink, diff->mode == DIFF_AMOUNTS ? ".\n\n" : ", as percentage points.\n\n");
	end_details(sink);
}

static void put_exceeded(const char *exceeded, struct sink *sink)
{
	while (*exceeded) {
		size_t nr_bytes = strcspn(exceeded, "\n");
		struct buf line = {0};

		buf_append(&line, exceeded, nr_bytes);
		sink_str(sink, "**Limit exceeded**: ");
		put_html(sink, buf_str(&line));
		sink_str(sink, "\n\n");
		buf_release(&line);
		exceeded += nr_bytes + (exceeded[nr_bytes] != '\0');
	}
}

void diff_print_markdown(const struct diff *diff, const struct diff_limits *limits,
			 const char *exceeded, struct sink *sink)
{
	size_t limit = limits->rows && limits->rows < MOST_ROWS ? limits->rows : MOST_ROWS;
	struct buf total = {0};

	if (diff_is_none(diff))
		buf_append_str(&total, "no change");
	else
		diff_append_total(&total, diff);
	sink_printf(sink, "%s\n### profc (%s): %s\n\n", DIFF_MARKDOWN_MARK,
		    metric_name(diff_metric(diff)), buf_str(&total));
	buf_release(&total);
	put_exceeded(exceeded, sink);
	if (!put_rows(diff, true, limit, sink) && !diff_is_none(diff)) {
		sink_str(sink, "No ");
		sink_str(sink, diff->by == BY_FUNCTION ? "function" : "row");
		sink_str(sink, " has surely changed.\n\n");
	}
	put_unsure(diff, limit, sink);
	put_calls(diff, limits, sink);
	put_comparison(diff, sink);
}
