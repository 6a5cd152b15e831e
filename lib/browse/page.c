// SPDX-License-Identifier: GPL-2.0-or-later
/* Makes pages, and prints them. */
#include "browse/page_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/index_set.h"
#include "base/minmax.h"
#include "base/sink.h"
#include "browse/key.h"
#include "browse/narrow_table.h"
#include "browse/row_key.h"
#include "browse/source_page.h"
#include "browse/tree_line.h"
#include "calltree/counts.h"
#include "calltree/expand.h"
#include "calltree/filter.h"
#include "calltree/flat.h"
#include "calltree/tree.h"
#include "calltree/weights.h"
#include "profile/profile.h"
#include "view/cut.h"
#include "view/flat_text.h"
#include "view/line.h"
#include "view/number.h"
#include "view/paragraph.h"
#include "view/summary.h"

/* The key of a tree's root; callers and callees of a function have others. */
#define KEY_OF_TREE 2
/* In the whole tree, nodes from this share on, which have a hot colour, are open at first. */
#define OPEN_PERCENT 20
#define CALLERS	     0
#define CALLEES	     1

struct page page_of(enum page_kind kind, uint64_t key, const char *name)
{
	return (struct page){.kind = kind, .key = key, .name = name ? xstrdup(name) : NULL};
}

static void clear_lines(struct page_lines *lines)
{
	buf_release(&lines->text);
	free(lines->begins);
	*lines = (struct page_lines){0};
}

static void release_content(struct page *page)
{
	source_page_free(page->source);
	tree_free(page->trees[CALLERS]);
	tree_free(page->trees[CALLEES]);
	flat_free(page->flat);
	weights_free(page->weights);
	selection_free(page->selection);
	clear_lines(&page->lines);
	tree_rows_clear(&page->rows);
	page->source = NULL;
	page->trees[CALLERS] = page->trees[CALLEES] = NULL;
	page->flat = NULL;
	page->weights = NULL;
	page->selection = NULL;
	page->is_made = false;
}

void page_release(struct page *page)
{
	release_content(page);
	tree_rows_release(&page->rows);
	free(page->name);
	*page = (struct page){0};
}

/* A tree or a table has none; threads have one row above those of their table. */
static size_t rows_above(const struct page *page)
{
	return page->kind == PAGE_THREADS;
}

static bool has_tree(const struct page *page)
{
	return page->kind == PAGE_TREE || page->kind == PAGE_FUNCTION;
}

static uint64_t key_of_row(const struct page *page, size_t row)
{
	if (has_tree(page))
		return row < page->rows.nr ? page->rows.rows[row].key : 0;
	if (page->flat && row >= rows_above(page) && row - rows_above(page) < page->flat->nr)
		return browse_row_key(page->flat, row - rows_above(page));
	return 0;
}

void page_drop(struct page *page)
{
	if (page->is_made && page->cursor.at > 0 && page->selected == 0)
		page->selected = key_of_row(page, page->cursor.at);
	release_content(page);
}

static size_t nr_known_rows(const struct page *page)
{
	if (has_tree(page))
		return page->rows.nr;
	if (page->flat)
		return page->flat->nr + rows_above(page);
	return page->source ? source_page_nr_rows(page->source) : 0;
}

/* Find the former selection again, on the same line of the screen. */
static void select_again(struct page *page)
{
	size_t nr = nr_known_rows(page), line = page->cursor.at - page->cursor.first;

	for (size_t row = 0; page->selected && row < nr; row++) {
		if (key_of_row(page, row) != page->selected)
			continue;
		page->cursor.at = row;
		page->cursor.first = row > line ? row - line : 0;
		break;
	}
	page->selected = 0;
}

static void make_table(struct page *page, const struct page_matter *matter)
{
	page->flat = flat_new(matter->weighing.weights, matter->wishes.by);
	/* Self is the standard order, also for tables that cannot be sorted by the wished key. */
	if (!dimension_info(matter->wishes.by)->is_in_order &&
	    strcmp(matter->wishes.sort, "self") != 0)
		flat_sort(page->flat, matter->wishes.sort, NULL);
	if (matter->options.limit && page->flat->nr > matter->options.limit)
		page->flat->nr = matter->options.limit;
}

/* All threads, even if one is already chosen. */
static void make_threads(struct page *page, const struct page_matter *matter)
{
	struct browse_wishes wishes = matter->wishes;
	struct browse_weighing all = {.input = matter->weighing.input,
				      .expansion = matter->weighing.expansion};

	wishes.thread[0] = '\0';
	all.input.weights = NULL;
	if (!*matter->wishes.thread ||
	    browse_weighing_weigh(&all, &wishes, matter->options.filter, NULL) != 0) {
		page->flat = flat_new(matter->weighing.weights, BY_THREAD);
		return;
	}
	page->weights = all.own_weights;
	page->selection = all.own_selection;
	page->flat = flat_new(page->weights, BY_THREAD);
}

static bool shows_calls(const struct page_matter *matter)
{
	return matter->weighing.weights->counts->state == COUNTS_KNOWN;
}

static struct tree_part part_of(struct page_matter *matter, const struct tree *tree, uint64_t key)
{
	return (struct tree_part){.tree = tree,
				  .label_keys = browse_weighing_label_keys(&matter->weighing),
				  .opened = &matter->opened,
				  .node = TREE_ROOT,
				  .key = key,
				  .max_depth = matter->options.max_depth,
				  .min_percent = matter->options.min_percent};
}

static void add_words(struct page *page, const char *words)
{
	const struct tree_row row = {.kind = TREE_ROW_HEAD, .head = words};

	tree_rows_add(&page->rows, &row);
}

/* Add the rows below the function in one of its trees; the trees have no other root. */
static void add_side(struct page *page, struct page_matter *matter, int side)
{
	const struct tree *tree = page->trees[side];
	struct tree_part part = part_of(matter, tree, hash_mix(page->key, (uint64_t)side));
	size_t before;

	part.node = tree->nodes[TREE_ROOT].first_child;
	part.has_calls = shows_calls(matter);
	part.is_closed = true; /* so that both sides are seen */
	add_words(page, side == CALLERS ? "called by" : "calls");
	before = page->rows.nr;
	if (part.node != TREE_ROOT)
		tree_rows_add_part(&page->rows, &part);
	if (page->rows.nr == before)
		page->rows.rows[before - 1].head =
			side == CALLERS ? "called by nothing seen" : "calls nothing seen";
}

static void add_function_rows(struct page *page, struct page_matter *matter)
{
	const struct tree *callees = page->trees[CALLEES];
	struct tree_row row = {.kind = TREE_ROW_FUNCTION, .tree = callees, .key = page->key};

	row.node = callees->nodes[TREE_ROOT].first_child;
	if (row.node == TREE_ROOT) {
		add_words(page, "nothing of it");
		return;
	}
	tree_rows_add(&page->rows, &row);
	add_side(page, matter, CALLERS);
	add_side(page, matter, CALLEES);
}

static void add_tree_rows(struct page *page, struct page_matter *matter)
{
	struct tree_part part;

	tree_rows_clear(&page->rows);
	if (page->kind == PAGE_FUNCTION) {
		add_function_rows(page, matter);
		return;
	}
	part = part_of(matter, browse_weighing_tree(&matter->weighing), KEY_OF_TREE);
	part.open_percent = OPEN_PERCENT;
	tree_rows_add_part(&page->rows, &part);
}

static void make_function(struct page *page, struct page_matter *matter)
{
	const struct weights *weights = matter->weighing.weights;
	const uint64_t *keys = browse_weighing_label_keys(&matter->weighing);
	size_t nr = matter->weighing.expansion->nr_labels;
	cleanup_free bool *wanted = xcalloc(nr + 1, sizeof(*wanted));

	for (size_t i = 0; i < nr; i++)
		wanted[i] = keys[i] == page->key;
	page->trees[CALLERS] = tree_new_as(
		weights, &(struct tree_request){.callers_of = wanted, .is_folded = true});
	page->trees[CALLEES] = tree_new_as(weights, &(struct tree_request){.callees_of = wanted,
									   .is_folded = true,
									   .has_faults = true});
}

static void make_source(struct page *page, struct page_matter *matter)
{
	size_t row;

	page->source = source_page_new(browse_weighing_source(&matter->weighing), page->name,
				       &matter->options.sources);
	if (!page->source || page->first_line == 0)
		return;
	row = page->first_line == page->last_line
		      ? source_page_find(page->source, page->first_line)
		      : source_page_hottest(page->source, page->first_line, page->last_line);
	/* Show the lines before it, too, as far as there is room. */
	page->cursor = (struct browse_cursor){.at = row, .first = row > 4 ? row - 4 : 0};
	page->first_line = 0;
}

void page_make(struct page *page, struct page_matter *matter)
{
	if (page->is_made)
		return;
	switch (page->kind) {
	case PAGE_TABLE:
		make_table(page, matter);
		break;
	case PAGE_TREE:
		add_tree_rows(page, matter);
		break;
	case PAGE_FUNCTION:
		make_function(page, matter);
		add_tree_rows(page, matter);
		break;
	case PAGE_SOURCE:
		make_source(page, matter);
		break;
	case PAGE_THREADS:
		make_threads(page, matter);
		break;
	case PAGE_KEYS:
	case PAGE_NOTES:
		break; /* its lines depend on the width */
	}
	page->is_made = true;
	select_again(page);
}

static void index_lines(struct page_lines *lines)
{
	for (size_t at = 0; at < lines->text.nr_bytes;) {
		const uint8_t *begin = lines->text.bytes + at;
		const uint8_t *end = memchr(begin, '\n', lines->text.nr_bytes - at);

		ARRAY_GROW(lines->begins, lines->nr, lines->cap);
		lines->begins[lines->nr++] = at;
		at = end ? (size_t)(end - lines->text.bytes) + 1 : lines->text.nr_bytes;
	}
}

static void print_keys(const struct page_matter *matter, const struct view *view, struct sink *sink)
{
	for (const struct browse_key_words *key = browse_keys(); key->keys; key++)
		if (!key->is_live || matter->options.is_live)
			paragraph_print(view, key->keys, key->words, sink);
}

static void print_notes(const struct page_matter *matter, const struct view *view,
			struct sink *sink)
{
	struct sink notes = SINK_MEMORY;
	const char *text;

	summary_print_notes(matter->weighing.weights, view, &notes);
	text = buf_str(&notes.pending);
	/* An empty line separates them from the text above, elsewhere. */
	sink_str(sink, *text ? text + strspn(text, "\n") : "nothing to note\n");
	sink_release(&notes);
}

/* The unit in which times up to this one are easiest to read. */
static enum time_unit unit_of_times(enum metric metric, uint64_t largest)
{
	switch (unit_for(metric, largest).divisor) {
	case 1:
		return TIME_UNIT_NS;
	case NS_PER_US:
		return TIME_UNIT_US;
	case NS_PER_MS:
		return TIME_UNIT_MS;
	default: /* there is no larger unit */
		return TIME_UNIT_S;
	}
}

/*
 * Print the first rows. Self decides the unit: the total of the program's start, which is among the
 * rows, would leave most cells without a digit.
 */
static void print_table(const struct flat *flat, const struct view *view, size_t nr_rows,
			struct sink *sink)
{
	struct view with_unit = *view;
	struct flat first = *flat; /* its rows are borrowed */
	uint64_t largest = 0;

	for (size_t i = 0; i < flat->nr; i++)
		largest = max_u64(largest, flat->rows[i].self.weight);
	if (view->unit == TIME_UNIT_AUTO && metric_is_time(flat->weights->metric))
		with_unit.unit = unit_of_times(flat->weights->metric, largest);
	first.nr = min_u64(nr_rows, flat->nr);
	/* Without a limit each of them has a line. */
	flat_print_text(&first, &with_unit, 0, sink);
}

static bool is_same_view(const struct view *a, const struct view *b)
{
	return a->columns == b->columns && a->colour == b->colour && a->names == b->names &&
	       a->unit == b->unit && a->rate_ns == b->rate_ns;
}

/* Most tables are left before more rows are seen; making all rows takes a while. */
#define ROWS_AT_FIRST 500

static size_t rows_to_make(const struct page_lines *lines, size_t nr_rows)
{
	size_t nr = lines->nr_rows > ROWS_AT_FIRST ? lines->nr_rows : ROWS_AT_FIRST;

	return nr_rows <= nr ? nr : nr_rows * 4;
}

/*
 * The lines of a page of text, or of at least `nr_rows` rows of a table; made again for another
 * view.
 */
static void make_lines(struct page *page, const struct page_matter *matter, const struct view *view,
		       size_t nr_rows)
{
	struct page_lines *lines = &page->lines;
	size_t wanted = rows_to_make(lines, nr_rows);
	struct sink sink = SINK_MEMORY;

	if (lines->nr > 0 && is_same_view(view, &lines->view) && nr_rows <= lines->nr_rows)
		return;
	clear_lines(lines);
	if (page->kind == PAGE_KEYS)
		print_keys(matter, view, &sink);
	else if (page->kind == PAGE_NOTES)
		print_notes(matter, view, &sink);
	else
		print_table(page->flat, view, wanted, &sink);
	lines->text = sink.pending;
	lines->view = *view;
	lines->nr_rows = wanted;
	index_lines(lines);
}

static bool is_text(const struct page *page)
{
	return page->kind == PAGE_KEYS || page->kind == PAGE_NOTES;
}

size_t page_nr_rows(struct page *page, struct page_matter *matter, const struct view *view)
{
	page_make(page, matter);
	if (!is_text(page))
		return nr_known_rows(page);
	make_lines(page, matter, view, 0);
	return page->lines.nr;
}

uint32_t page_label(const struct page *page, size_t row)
{
	if (row >= nr_known_rows(page))
		return FLAT_NONE;
	if (has_tree(page)) {
		const struct tree_row *tree_row = &page->rows.rows[row];

		if (tree_row->kind != TREE_ROW_NODE && tree_row->kind != TREE_ROW_FUNCTION)
			return FLAT_NONE;
		return tree_row->tree->nodes[tree_row->node].label;
	}
	if (page->source)
		return source_page_label(page->source, row);
	return page->kind == PAGE_TABLE ? page->flat->rows[row].label : FLAT_NONE;
}

bool page_is_selectable(const struct page *page, size_t row)
{
	if (is_text(page))
		return false;
	return !has_tree(page) || row >= page->rows.nr ||
	       page->rows.rows[row].kind != TREE_ROW_HEAD;
}

void page_set_open(struct page *page, struct page_matter *matter, size_t row, bool is_open)
{
	browse_opened_set(&matter->opened, page->rows.rows[row].key, is_open);
	add_tree_rows(page, matter);
}

void page_append_title(const struct page *page, const struct page_matter *matter, size_t columns,
		       struct buf *out)
{
	struct buf name = {0};

	switch (page->kind) {
	case PAGE_TABLE:
		browse_wishes_append(out, &matter->wishes);
		break;
	case PAGE_TREE:
		buf_append_str(out, "call tree");
		browse_wishes_append_filters(out, &matter->wishes);
		break;
	case PAGE_FUNCTION:
		buf_append_str(out, "callers and callees of ");
		escape_terminal(out, page->name);
		browse_wishes_append_filters(out, &matter->wishes);
		break;
	case PAGE_SOURCE:
		escape_terminal(&name, page->name);
		append_cut(out, buf_str(&name), columns, CUT_START);
		break;
	case PAGE_THREADS:
		buf_append_str(out, "Enter chooses a thread");
		break;
	case PAGE_KEYS:
		buf_append_str(out, "keys");
		break;
	case PAGE_NOTES:
		buf_append_str(out, "notes");
		break;
	}
	buf_release(&name);
}

static void print_line(const struct page_lines *lines, size_t line, struct sink *sink)
{
	size_t end = line + 1 < lines->nr ? lines->begins[line + 1] : lines->text.nr_bytes;

	sink_write(sink, lines->text.bytes + lines->begins[line], end - lines->begins[line]);
}

static void print_flat_header(const struct page *page, const struct view *view, struct sink *sink)
{
	if (narrow_table_fits(view))
		narrow_table_print_header(page->flat, view, sink);
	else
		print_line(&page->lines, 0, sink);
}

/* Row 0 of threads is for all of them, and the first line is the header. */
static void print_flat_row(const struct page *page, size_t row, const struct view *view,
			   struct sink *sink)
{
	if (row < rows_above(page))
		line_print(sink, view, STYLE_PLAIN, "all threads");
	else if (narrow_table_fits(view))
		narrow_table_print_row(page->flat, row - rows_above(page), view, sink);
	else
		print_line(&page->lines, row - rows_above(page) + 1, sink);
}

static void print_flat(struct page *page, const struct page_matter *matter, const struct view *view,
		       size_t nr_lines, struct sink *sink)
{
	size_t nr = page->flat->nr + rows_above(page), first = page->cursor.first;

	if (!narrow_table_fits(view))
		make_lines(page, matter, view, min_u64(first + nr_lines, page->flat->nr));
	print_flat_header(page, view, sink);
	for (size_t row = first; row < nr && row - first + 1 < nr_lines; row++)
		print_flat_row(page, row, view, sink);
}

static void print_tree(const struct page *page, const struct page_matter *matter,
		       const struct view *view, size_t nr_lines, struct sink *sink)
{
	const struct tree_line line = {.weights = matter->weighing.weights,
				       .view = view,
				       .has_calls =
					       page->kind == PAGE_FUNCTION && shows_calls(matter),
				       .min_percent = matter->options.min_percent};
	size_t first = page->cursor.first;

	tree_line_print_header(&line, sink);
	for (size_t row = first; row < page->rows.nr && row - first + 1 < nr_lines; row++)
		tree_line_print(&line, &page->rows.rows[row], sink);
}

static void print_source(const struct page *page, const struct view *view, size_t nr_lines,
			 struct sink *sink)
{
	size_t nr = nr_known_rows(page), first = page->cursor.first;

	if (!page->source) {
		line_print(sink, view, STYLE_PLAIN, "nothing of it");
		return;
	}
	source_page_print_header(page->source, view, sink);
	for (size_t row = first; row < nr && row - first + 1 < nr_lines; row++)
		source_page_print_row(page->source, row, view, sink);
}

static void print_text(struct page *page, const struct page_matter *matter, const struct view *view,
		       size_t nr_lines, struct sink *sink)
{
	size_t first = page->cursor.first;

	make_lines(page, matter, view, 0);
	sink_str(sink, "\n");
	for (size_t row = first; row < page->lines.nr && row - first + 1 < nr_lines; row++)
		print_line(&page->lines, row, sink);
}

void page_print(struct page *page, struct page_matter *matter, const struct view *view,
		size_t nr_lines, struct sink *sink)
{
	page_make(page, matter);
	if (is_text(page))
		print_text(page, matter, view, nr_lines, sink);
	else if (has_tree(page))
		print_tree(page, matter, view, nr_lines, sink);
	else if (page->kind == PAGE_SOURCE)
		print_source(page, view, nr_lines, sink);
	else
		print_flat(page, matter, view, nr_lines, sink);
}
