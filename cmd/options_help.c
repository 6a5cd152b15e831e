// SPDX-License-Identifier: GPL-2.0-or-later
/* Formats and lists tables of options. */
#include <string.h>

#include "base/escape.h"
#include "base/wrap.h"
#include "cmd/options.h"

#define HELP_COLUMN 27 /* where the explanations begin */

static void append_names(struct buf *out, const struct option_row *row)
{
	if (row->short_name)
		buf_printf(out, "  -%c, --%s", row->short_name, row->name);
	else
		buf_printf(out, "      --%s", row->name);
	if (row->argument)
		buf_printf(out, row->without ? "[=%s]" : " %s", row->argument);
}

static void append_row(struct buf *out, const struct option_row *row)
{
	static const struct wrap wrap = {.columns = 79, .indent = HELP_COLUMN};
	size_t start = out->nr_bytes;
	size_t columns;

	if (row->type == OPTION_SECTION) {
		buf_printf(out, "\n%s:\n", row->name);
		return;
	}
	append_names(out, row);
	columns = text_columns(buf_str(out) + start);
	if (columns + 2 > HELP_COLUMN) {
		buf_append_byte(out, '\n');
		columns = 0;
	}
	buf_printf(out, "%*s", (int)(HELP_COLUMN - columns), "");
	wrap_words(out, row->help, strlen(row->help), &wrap);
}

void options_help(const struct option_row *rows, struct buf *out)
{
	bool has_sections = false;

	for (; rows->name; rows++) {
		has_sections |= rows->type == OPTION_SECTION;
		if (!rows->hidden)
			append_row(out, rows);
	}
	if (has_sections)
		buf_append_str(out, "\nOther:\n");
	for (rows = options_common; rows->name; rows++) {
		if (!rows->hidden)
			append_row(out, rows);
	}
}

static void list_rows(const struct option_row *rows, struct buf *out)
{
	for (; rows->name; rows++) {
		if (rows->type == OPTION_SECTION || rows->hidden)
			continue;
		if (rows->short_name)
			buf_printf(out, "-%c\n", rows->short_name);
		buf_printf(out, "--%s\n", rows->name);
	}
}

void options_list(const struct option_row *rows, struct buf *out)
{
	list_rows(rows, out);
	list_rows(options_common, out);
}
