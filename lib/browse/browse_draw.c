// SPDX-License-Identifier: GPL-2.0-or-later
/* Draws the screen: a heading, hints about keys, and a page. */
#include "browse/browse_priv.h"

#include <string.h>

#include "base/escape.h"
#include "base/sink.h"
#include "calltree/counts.h"
#include "calltree/filter.h"
#include "calltree/weights.h"
#include "profile/profile.h"
#include "verdict/verdict.h"
#include "view/cut.h"
#include "view/line.h"
#include "view/paragraph.h"
#include "view/summary.h"

/* Drop all lines after the first `nr_lines`. */
static void cut_lines(struct buf *text, size_t nr_lines)
{
	size_t at = 0;

	for (; nr_lines > 0 && at < text->nr_bytes; nr_lines--)
		while (at < text->nr_bytes && text->bytes[at++] != '\n')
			;
	text->nr_bytes = at;
}

/* A screen with fewer lines shows only the first line of headings. */
#define LINES_OF_HEADS 12

/* Do the first page and its wishes show all of a recording? A verdict is about that. */
static bool is_of_all(const struct browse *browse)
{
	const struct selection *selection = weights_of(browse)->selection;

	return browse->nr_pages == 1 && !browse->matter.options.is_live && selection->everything &&
	       !selection->reshaped;
}

/* A screen with fewer lines has no room for a verdict. */
#define LINES_OF_VERDICT 24

/* The verdict, which is made once for a weighing. */
static void print_verdict(struct browse *browse, const struct view *view, size_t nr_lines,
			  struct sink *sink)
{
	struct buf *line = &browse->head.verdict;
	struct verdict *verdict;

	if (nr_lines < LINES_OF_VERDICT || !is_of_all(browse))
		return;
	if (line->nr_bytes == 0) {
		verdict = verdict_new(weights_of(browse)->selection);
		verdict_append_line(line, verdict);
		verdict_free(verdict);
	}
	paragraph_print_styled(view, STYLE_HEADING, "", buf_str(line), sink);
}

/* The heading, which is made once for a width. */
static void print_head(struct browse *browse, const struct view *view, size_t nr_lines,
		       struct sink *sink)
{
	const struct browse_options *options = &browse->matter.options;
	struct browse_head *head = &browse->head;
	struct sink text = SINK_MEMORY;

	if (!head->is_made || head->view.columns != view->columns) {
		buf_release(&head->text);
		if (options->head)
			options->head(&browse->matter.weighing, view, &text, options->context);
		else
			summary_print_heading(weights_of(browse), view, &text);
		head->text = text.pending;
		head->view = *view;
		head->is_made = true;
	}
	sink_write(sink, head->text.bytes, head->text.nr_bytes);
	if (nr_lines < LINES_OF_HEADS)
		cut_lines(&sink->pending, 1);
}

/* The longest hint about keys that fits. */
static const char *hint_of(const struct browse *browse, size_t columns)
{
	static const char *const away[] = {"   Esc: back, h: keys, q: quit", "   Esc: back", ""};
	static const char *const noted[] = {"   h: keys, i: notes, q: quit", "   h: keys", ""};
	static const char *const plain[] = {"   h: keys, q: quit", "   h: keys", ""};
	const char *const *hint = browse->nr_pages > 1 ? away : browse->has_notes ? noted : plain;

	while (strlen(*hint) > columns)
		hint++;
	return *hint;
}

/* The title with hints about keys if they fit; or the last message; or the line being typed. */
static void print_title(struct browse *browse, const struct view *view, struct sink *sink)
{
	struct buf line = {0}, shown = {0};
	size_t used;

	if (browse->prompt.is_open) {
		buf_append_str(&line, "function (regular expression): ");
		escape_terminal(&line, browse->prompt.text);
		buf_append_byte(&line, '_');
		append_cut(&shown, buf_str(&line), view->columns, CUT_START);
	} else {
		page_append_title(page_shown(browse), &browse->matter, view->columns, &line);
		used = append_cut(&shown, buf_str(&line), view->columns, CUT_END);
		buf_append_str(&shown, hint_of(browse, view->columns - used));
	}
	line_print(sink, view, STYLE_PLAIN, buf_str(&shown));
	buf_release(&line);
	buf_release(&shown);
}

static size_t nr_lines_in(const struct sink *sink)
{
	size_t nr = 0;

	for (size_t i = 0; i < sink->pending.nr_bytes; i++)
		nr += sink->pending.bytes[i] == '\n';
	return nr;
}

/* For an empty page: how to get a better one. */
static const char *hint_at_more(const struct browse *browse)
{
	const struct browse_wishes *wishes = &browse->matter.wishes;
	const struct profile *profile = browse->matter.weighing.input.profile;

	if (browse_wishes_are_filtered(wishes))
		return "Esc takes the filters away";
	if (metric_is_memory(wishes->metric) && browse->matter.options.is_live)
		return profile->meta.attached ? "what was allocated before is not known" : "";
	if (!profile_total(profile, METRIC_WALL))
		return "";
	return browse->matter.options.is_live
		       ? "m shows other metrics: wall shows sleeping threads, too"
		       : "m shows other metrics";
}

static void print_nothing(const struct browse *browse, const struct view *view, struct sink *sink)
{
	const char *hint = hint_at_more(browse);

	sink_str(sink, browse->matter.options.is_live ? "nothing of this, so far\n"
						      : "nothing of this\n");
	if (*hint)
		paragraph_print(view, "", hint, sink);
}

static bool is_empty(const struct browse *browse)
{
	const struct weights *weights = weights_of(browse);

	return weights->total.weight == 0 && !counts_are_any(weights->counts);
}

static bool is_of_samples(const struct page *page)
{
	return page->kind != PAGE_KEYS && page->kind != PAGE_NOTES && page->kind != PAGE_THREADS;
}

/* Print the page below the title. Returns the selected line, or BROWSE_NO_LINE. */
static size_t print_page(struct browse *browse, size_t nr_lines, struct sink *sink)
{
	struct page *page = page_shown(browse);
	size_t nr_rows, nr_used = nr_lines_in(sink);

	if (is_empty(browse) && is_of_samples(page)) {
		print_nothing(browse, &browse->view, sink);
		return BROWSE_NO_LINE;
	}
	nr_rows = nr_rows_of(browse, page);
	browse->nr_rows = nr_lines > nr_used + 1 ? nr_lines - nr_used - 1 : 1;
	browse_cursor_fit(&page->cursor, nr_rows, browse->nr_rows);
	page_print(page, &browse->matter, &browse->view, browse->nr_rows + 1, sink);
	if (nr_rows == 0 || !page_is_selectable(page, page->cursor.at))
		return BROWSE_NO_LINE;
	return nr_used + 1 + page->cursor.at - page->cursor.first;
}

void browse_draw(struct browse *browse, const struct view *view, size_t nr_lines,
		 struct browse_screen *screen)
{
	struct sink sink = SINK_MEMORY;

	browse->view = *view;
	browse->view.rate_ns = browse_weighing_rate_ns(&browse->matter.weighing);
	print_verdict(browse, view, nr_lines, &sink);
	print_head(browse, view, nr_lines, &sink);
	if (browse->message.nr_bytes)
		paragraph_print(view, "", buf_str(&browse->message), &sink);
	else
		print_title(browse, view, &sink);
	screen->selected = print_page(browse, nr_lines, &sink);
	cut_lines(&sink.pending, nr_lines);
	if (screen->selected >= nr_lines)
		screen->selected = BROWSE_NO_LINE;
	buf_release(&screen->text);
	screen->text = sink.pending;
}
