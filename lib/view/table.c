// SPDX-License-Identifier: GPL-2.0-or-later
/* Tables of text that fit a terminal. */
#include "view/table.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/escape.h"
#include "view/line.h"

struct cell {
	size_t offset; /* of its text in table.texts */
	size_t width;  /* columns */
	enum style style;
};

struct table {
	const struct table_column *columns; /* borrowed */
	size_t nr_columns;
	struct cell *cells; /* row by row */
	size_t nr_cells, cap_cells;
	struct buf texts; /* escaped, each with its NUL */
};

struct table *table_new(const struct table_column *columns, size_t nr_columns)
{
	struct table *table = xcalloc(1, sizeof(*table));

	table->columns = columns;
	table->nr_columns = nr_columns;
	return table;
}

void table_free(struct table *table)
{
	if (!table)
		return;
	free(table->cells);
	buf_release(&table->texts);
	free(table);
}

void table_add(struct table *table, enum style style, const char *text)
{
	struct cell cell = {.offset = table->texts.nr_bytes, .style = style};

	escape_terminal(&table->texts, text);
	cell.width = text_columns(buf_str(&table->texts) + cell.offset);
	buf_append_byte(&table->texts, '\0');
	ARRAY_GROW(table->cells, table->nr_cells, table->cap_cells);
	table->cells[table->nr_cells++] = cell;
}

static const char *cell_text(const struct table *table, const struct cell *cell)
{
	return (const char *)table->texts.bytes + cell->offset;
}

/* Every column as wide as its widest cell. */
static void natural_widths(const struct table *table, size_t *widths)
{
	for (size_t i = 0; i < table->nr_columns; i++)
		widths[i] = text_columns(table->columns[i].header);
	for (size_t i = 0; i < table->nr_cells; i++) {
		size_t *width = &widths[i % table->nr_columns];

		if (table->cells[i].width > *width)
			*width = table->cells[i].width;
	}
}

/* Two spaces before a column of names, one between numbers. */
static size_t gap_before(const struct table *table, size_t column)
{
	if (column == 0)
		return 0;
	return table->columns[column].right ? 1 : 2;
}

/* The width of a column that is left out. */
#define DROPPED SIZE_MAX
/* Last resort: even wider minimums shrink to this. */
#define LEAST_COLUMNS 6

static size_t row_columns(const struct table *table, const size_t *widths)
{
	size_t sum = 0;

	for (size_t i = 0; i < table->nr_columns; i++)
		if (widths[i] != DROPPED)
			sum += gap_before(table, i) + widths[i];
	return sum;
}

/* The order in which columns are cut, and how far. */
enum squeeze {
	SQUEEZE_OTHERS, /* all but the subjects of rows, to their min_columns */
	SQUEEZE_KEPT,	/* subjects as well, to their kept_columns */
	SQUEEZE_ALL,	/* subjects as the others, to their min_columns */
	SQUEEZE_MORE,
};

static size_t least_of(const struct table_column *column, enum squeeze squeeze)
{
	switch (squeeze) {
	case SQUEEZE_OTHERS:
		return column->kept_columns ? SIZE_MAX : column->min_columns;
	case SQUEEZE_KEPT:
		return column->kept_columns ? column->kept_columns : column->min_columns;
	case SQUEEZE_ALL:
		break;
	case SQUEEZE_MORE:
		return column->min_columns < LEAST_COLUMNS ? column->min_columns : LEAST_COLUMNS;
	}
	return column->min_columns;
}

/*
 * The flexible column that is widest in proportion to its share, or NULL if all are at their
 * minimum.
 */
static size_t *widest(const struct table *table, size_t *widths, enum squeeze squeeze)
{
	size_t *found = NULL;
	double most = 0;

	for (size_t i = 0; i < table->nr_columns; i++) {
		const struct table_column *column = &table->columns[i];

		if (!column->flexible || widths[i] == DROPPED ||
		    widths[i] <= least_of(column, squeeze))
			continue;
		if (!found || (double)widths[i] / column->share > most) {
			found = &widths[i];
			most = (double)widths[i] / column->share;
		}
	}
	return found;
}

/* Narrow the flexible columns, one character at a time, until the row fits. False if it cannot. */
static bool shrink(const struct table *table, size_t *widths, size_t columns, enum squeeze squeeze)
{
	size_t need = row_columns(table, widths);

	while (need > columns) {
		size_t *width = widest(table, widths, squeeze);

		if (!width)
			return false;
		(*width)--;
		need--;
	}
	return true;
}

/* The column to leave out next, names before numbers; or nr_columns. */
static size_t next_to_drop(const struct table *table, const size_t *widths, bool names_only)
{
	size_t found = table->nr_columns;

	for (size_t i = 0; i < table->nr_columns; i++) {
		const struct table_column *column = &table->columns[i];

		if (widths[i] == DROPPED || !column->drop || (names_only && !column->flexible))
			continue;
		if (found == table->nr_columns || column->drop > table->columns[found].drop)
			found = i;
	}
	return found;
}

/* Leave out a column; then the others may have their natural widths again. */
static bool drop_column(const struct table *table, const size_t *natural, size_t *widths,
			bool names_only)
{
	size_t found = next_to_drop(table, widths, names_only);

	if (found == table->nr_columns)
		return false;
	widths[found] = DROPPED;
	for (size_t i = 0; i < table->nr_columns; i++)
		if (widths[i] != DROPPED)
			widths[i] = natural[i];
	return true;
}

/*
 * First names are cut, then optional columns of names are left out, then those of numbers, then the
 * rest is cut further.
 */
static void fit_widths(const struct table *table, const size_t *natural, size_t columns,
		       size_t *widths)
{
	memcpy(widths, natural, table->nr_columns * sizeof(*widths));
	do {
		if (shrink(table, widths, columns, SQUEEZE_OTHERS) ||
		    shrink(table, widths, columns, SQUEEZE_KEPT))
			return;
	} while (drop_column(table, natural, widths, true));
	do {
		if (shrink(table, widths, columns, SQUEEZE_ALL))
			return;
	} while (drop_column(table, natural, widths, false));
	shrink(table, widths, columns, SQUEEZE_MORE);
}

/* One cell, cut and padded; the last column is not padded. */
static void append_cell(struct buf *line, const struct view *view,
			const struct table_column *column, const struct cell *cell,
			const char *text, size_t width)
{
	struct buf shown = {0};
	size_t used = append_cut(&shown, text, width, column->cut);

	if (column->right)
		line_append_spaces(line, width - used);
	style_append(line, view, cell->style, buf_str(&shown));
	if (!column->right)
		line_append_spaces(line, width - used);
	buf_release(&shown);
}

static void print_header(const struct table *table, const struct view *view, const size_t *widths,
			 struct sink *sink)
{
	struct cell cell = {.style = STYLE_HEADING};
	struct buf line = {0};

	for (size_t i = 0; i < table->nr_columns; i++) {
		if (widths[i] == DROPPED)
			continue;
		line_append_spaces(&line, gap_before(table, i));
		append_cell(&line, view, &table->columns[i], &cell, table->columns[i].header,
			    widths[i]);
	}
	line_end(&line, sink);
	buf_release(&line);
}

static void print_table(const struct table *table, const struct view *view, bool with_header,
			struct sink *sink)
{
	cleanup_free size_t *natural = xcalloc(table->nr_columns, sizeof(*natural));
	cleanup_free size_t *widths = xcalloc(table->nr_columns, sizeof(*widths));
	struct buf line = {0};

	assert(table->nr_cells % table->nr_columns == 0);
	natural_widths(table, natural);
	fit_widths(table, natural, view->columns, widths);
	if (with_header)
		print_header(table, view, widths, sink);
	for (size_t i = 0; i < table->nr_cells; i++) {
		size_t column = i % table->nr_columns;

		if (widths[column] != DROPPED) {
			line_append_spaces(&line, gap_before(table, column));
			append_cell(&line, view, &table->columns[column], &table->cells[i],
				    cell_text(table, &table->cells[i]), widths[column]);
		}
		if (column + 1 == table->nr_columns)
			line_end(&line, sink);
	}
	buf_release(&line);
}

void table_print(const struct table *table, const struct view *view, struct sink *sink)
{
	print_table(table, view, true, sink);
}

void table_print_rows(const struct table *table, const struct view *view, struct sink *sink)
{
	print_table(table, view, false, sink);
}
