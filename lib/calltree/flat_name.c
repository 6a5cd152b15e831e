// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of the rows of flat tables. */
#include "calltree/flat_priv.h"

#include <string.h>

#include "base/buf.h"
#include "calltree/expand.h"
#include "calltree/wait_function.h"

const char *flat_state_name(enum flat_state state)
{
	switch (state) {
	case STATE_RUNNING:
		return "running";
	case STATE_RUNNABLE:
		return "waiting for a CPU";
	case STATE_BLOCKED:
		return "blocked";
	case STATE_UNATTRIBUTED:
		return "[unattributed]";
	case STATE_COUNT:
		break;
	}
	return "[unknown]";
}

void flat_append_file_line(struct buf *out, const struct profile *profile, struct str_id file,
			   uint32_t line)
{
	if (file.v == STR_EMPTY.v)
		return;
	buf_append_str(out, profile_str(profile, file));
	if (line == 0)
		return;
	buf_append_byte(out, ':');
	buf_append_decimal(out, line);
}

void flat_append_location(struct buf *out, const struct flat *flat, const struct flat_row *row)
{
	const struct expansion *expansion = flat_expansion(flat);
	const struct function *function =
		row->label == FLAT_NONE ? NULL : label_function(expansion, row->label);

	if (flat_is_of_functions(flat) && function)
		flat_append_file_line(out, expansion->profile, function->file, function->line);
	else if (row->file.v != STR_EMPTY.v)
		flat_append_file_line(out, expansion->profile, row->file, row->line);
	else if (function)
		flat_append_file_line(out, expansion->profile, function->file, function->line);
}

void flat_append_start(struct buf *out, const struct flat *flat, const struct flat_row *row,
		       enum name_style style, bool is_alike)
{
	const struct expansion *expansion = flat_expansion(flat);
	const struct function *function;
	uint32_t label;

	if (!flat->starts || (is_alike && !flat->starts->has_namesake[row->thread]))
		return;
	label = flat->starts->labels[row->thread];
	if (label == WAIT_FUNCTION_NONE)
		return;
	buf_append_str(out, is_alike ? " (" : "");
	label_append_name(out, expansion, label, style);
	if (!is_alike)
		return;
	function = label_function(expansion, label);
	if (function && function->line) {
		const char *file = profile_str(expansion->profile, function->file);
		const char *slash = strrchr(file, '/');

		buf_printf(out, ", %s:%u", slash ? slash + 1 : file, function->line);
	}
	buf_append_byte(out, ')');
}

void flat_append_wait(struct buf *out, const struct flat *flat, const struct flat_row *row,
		      enum name_style style)
{
	if (row->wait_function == FLAT_NONE || row->wait_function == row->label)
		return;
	label_append_name(out, flat_expansion(flat), row->wait_function, style);
	if (row->nr_other_waits)
		buf_printf(out, " +%u", row->nr_other_waits);
}
