// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of the rows of flat tables. */
#include "calltree/flat.h"

#include "base/buf.h"
#include "base/syscall_name.h"
#include "calltree/blame.h"
#include "calltree/expand.h"
#include "calltree/lifetime.h"
#include "calltree/phases.h"

/* clang-format off */
#define LIVE_NAMES                                                                                 \
	[BY_FUNCTION] = "function", [BY_LINE] = "line", [BY_FILE] = "file",                        \
	[BY_MODULE] = "module", [BY_THREAD] = "thread", [BY_PROCESS] = "process",                  \
	[BY_PID] = "pid", [BY_STATE] = "state", [BY_SYSCALL] = "syscall",                          \
	[BY_LOCK] = "lock", [BY_FD] = "fd", [BY_LIFETIME] = "lifetime"
/* clang-format on */

const char *const dimension_names[] = {LIVE_NAMES, [BY_MARK] = "mark", NULL};
const char *const dimension_names_live[] = {LIVE_NAMES, NULL};

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

static void append_file_line(struct buf *out, const struct profile *profile, struct str_id file,
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

	if (flat_has_key(flat, BY_FUNCTION) && !flat_has_key(flat, BY_LINE) && function)
		append_file_line(out, expansion->profile, function->file, function->line);
	else if (row->file.v != STR_EMPTY.v)
		append_file_line(out, expansion->profile, row->file, row->line);
	else if (function)
		append_file_line(out, expansion->profile, function->file, function->line);
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

static void append_syscall(struct buf *out, const struct profile *profile, int32_t nr)
{
	const char *name = syscall_name(profile_str(profile, profile->meta.arch), nr);

	if (nr == FLAT_SYSCALL_UNATTRIBUTED)
		buf_append_str(out, flat_state_name(STATE_UNATTRIBUTED));
	else if (nr == FLAT_SYSCALL_NOT_KNOWN)
		buf_append_str(out, "[running, system call unknown]");
	else if (nr < 0)
		buf_append_str(out, "[no system call]");
	else if (name)
		buf_append_str(out, name);
	else
		buf_printf(out, "system call %d", nr);
}

/* The row may have a label and a module, too, by another key. */
static void append_code_name(struct buf *out, const struct flat *flat, const struct flat_row *row,
			     enum dimension dimension, enum name_style style)
{
	const struct profile *profile = flat_expansion(flat)->profile;
	bool is_file = dimension == BY_FILE || dimension == BY_SOURCE_LINE;
	bool is_place = is_file || dimension == BY_MODULE;

	if (is_file && row->file.v != STR_EMPTY.v)
		append_file_line(out, profile, row->file, dimension == BY_FILE ? 0 : row->line);
	else if (is_place && row->module != FLAT_NONE)
		buf_append_str(
			out,
			module_table_get(profile->modules, (struct module_id){row->module})->path);
	else if (row->label != FLAT_NONE)
		label_append_name(out, flat_expansion(flat), row->label, style);
}

static void append_phase(struct buf *out, const struct flat *flat, const struct flat_row *row)
{
	struct str_id text = flat_row_phase(flat, row)->text;

	if (row->phase == 0)
		buf_append_str(out, "[before the first mark]");
	else
		buf_append_str(out, profile_str(flat_expansion(flat)->profile, text));
}

void flat_append_key(struct buf *out, const struct flat *flat, const struct flat_row *row,
		     enum dimension dimension, enum name_style style)
{
	const struct profile *profile = flat_expansion(flat)->profile;

	switch (dimension) {
	case BY_FUNCTION:
	case BY_LINE:
	case BY_FILE:
	case BY_MODULE:
	case BY_SOURCE_LINE:
	case BY_INLINE_SITE:
		append_code_name(out, flat, row, dimension, style);
		break;
	case BY_THREAD:
		buf_append_str(out, profile_str(profile, profile->threads[row->thread].name));
		break;
	case BY_PROCESS:
	case BY_PID:
		buf_append_str(out, profile_str(profile, profile->processes[row->process].name));
		break;
	case BY_STATE:
		buf_append_str(out, flat_state_name((enum flat_state)row->state));
		break;
	case BY_SYSCALL:
		append_syscall(out, profile, row->syscall_nr);
		break;
	case BY_LOCK:
	case BY_FD:
		blame_append_name(out, flat->blame, row->object);
		break;
	case BY_LIFETIME:
		buf_append_str(out, lifetime_name((enum lifetime)row->lifetime));
		break;
	case BY_MARK:
		append_phase(out, flat, row);
		break;
	}
}

void flat_append_name(struct buf *out, const struct flat *flat, const struct flat_row *row,
		      enum name_style style)
{
	flat_append_key(out, flat, row, flat->second, style);
}
