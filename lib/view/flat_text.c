// SPDX-License-Identifier: GPL-2.0-or-later
/* Flat tables as text. */
#include "view/flat_text.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/minmax.h"
#include "base/sink.h"
#include "calltree/blame.h"
#include "calltree/filter.h"
#include "calltree/flat.h"
#include "calltree/per_call.h"
#include "calltree/phases.h"
#include "calltree/weights.h"
#include "view/blame_text.h"
#include "view/cut.h"
#include "view/line.h"
#include "view/number.h"
#include "view/paragraph.h"
#include "view/per_call_text.h"
#include "view/table.h"

/* Context that the cells of one table share. */
struct cells {
	const struct flat *flat;
	const struct view *view;
	struct unit unit, cpu_unit;
	bool has_calls; /* is any row counted? */
	bool has_waits; /* has any row a wait function? */
	bool of_group;	/* with two keys: the row is one of flat.groups, rather than below one */
};

/* A column that a table may have: uniform over dimensions, chosen by the bits of `dimensions`. */
struct flat_column {
	unsigned int dimensions; /* a bit for each enum dimension it belongs to */
	struct table_column column;
	/* Append the cell's raw text; returns its style. */
	enum style (*cell)(struct buf *out, const struct cells *cells, const struct flat_row *row);
};

#define BIT(dimension) (1u << (dimension))
#define FUNCTIONS      (BIT(BY_FUNCTION) | BIT(BY_LINE))
#define CODE	       (FUNCTIONS | BIT(BY_FILE) | BIT(BY_MODULE) | BIT(BY_SOURCE_LINE))
#define WAITS	       (BIT(BY_LOCK) | BIT(BY_FD))
#define NOT_CODE                                                                                   \
	(BIT(BY_THREAD) | PROCESSES | BIT(BY_STATE) | BIT(BY_SYSCALL) | BIT(BY_LIFETIME) |         \
	 BIT(BY_MARK) | WAITS)
#define PROCESSES (BIT(BY_PROCESS) | BIT(BY_PID))
#define ALL	  (CODE | NOT_CODE)

static const struct profile *profile_of(const struct cells *cells)
{
	return flat_expansion(cells->flat)->profile;
}

static enum style weight_cell(struct buf *out, const struct cells *cells, const struct tally *tally)
{
	append_in_unit(out, tally->weight, &cells->unit);
	return style_of_percent(tally_percent(tally, &cells->flat->weights->total));
}

static enum style percent_cell(struct buf *out, const struct cells *cells,
			       const struct tally *tally)
{
	double percent = tally_percent(tally, &cells->flat->weights->total);

	append_percent(out, percent);
	return style_of_percent(percent);
}

static enum style self_cell(struct buf *out, const struct cells *cells, const struct flat_row *row)
{
	return weight_cell(out, cells, &row->self);
}

static enum style self_percent_cell(struct buf *out, const struct cells *cells,
				    const struct flat_row *row)
{
	return percent_cell(out, cells, &row->self);
}

static enum style interval_cell(struct buf *out, const struct cells *cells,
				const struct flat_row *row)
{
	append_percent(out, tally_interval(&row->self, &cells->flat->weights->total));
	return STYLE_DIM;
}

static enum style total_cell(struct buf *out, const struct cells *cells, const struct flat_row *row)
{
	weight_cell(out, cells, &row->total);
	return STYLE_PLAIN;
}

static enum style total_percent_cell(struct buf *out, const struct cells *cells,
				     const struct flat_row *row)
{
	percent_cell(out, cells, &row->total);
	return STYLE_PLAIN;
}

static enum style blocks_cell(struct buf *out, const struct cells *cells,
			      const struct flat_row *row)
{
	(void)cells;
	append_count(out, tally_blocks(&row->self));
	return STYLE_PLAIN;
}

static enum style samples_cell(struct buf *out, const struct cells *cells,
			       const struct flat_row *row)
{
	(void)cells;
	append_count(out, row->self.samples);
	return STYLE_DIM;
}

/* After a group's name: the details that distinguish groups of that name. */
static void append_members(struct buf *out, const struct flat *flat, const struct flat_row *row)
{
	const struct profile *profile = flat_expansion(flat)->profile;

	if (flat->dimension == BY_THREAD)
		buf_printf(out, " (tid %d)", (int)profile->threads[row->thread].tid);
	else if (flat->dimension == BY_PID)
		buf_printf(out, " (pid %d)", (int)profile->processes[row->process].pid);
	else if (row->program.nr > 1)
		buf_printf(out, " (%u processes)", row->program.nr);
}

static enum style name_cell(struct buf *out, const struct cells *cells, const struct flat_row *row)
{
	const struct flat *flat = cells->flat;
	size_t start;

	if (flat->groups && !cells->of_group)
		buf_append_str(out, "  ");
	start = out->nr_bytes;
	flat_append_key(out, flat, row, cells->of_group ? flat->dimension : flat->second,
			cells->view->names);
	if (cells->of_group)
		append_members(out, flat, row);
	return cells->of_group		    ? STYLE_HEADING
	       : buf_str(out)[start] == '[' ? STYLE_SPECIAL
					    : STYLE_PLAIN;
}

static enum style wait_cell(struct buf *out, const struct cells *cells, const struct flat_row *row)
{
	flat_append_wait(out, cells->flat, row, cells->view->names);
	return STYLE_PLAIN;
}

static enum style location_cell(struct buf *out, const struct cells *cells,
				const struct flat_row *row)
{
	struct buf location = {0};

	flat_append_location(&location, cells->flat, row);
	buf_append_str(out, cut_directories(buf_str(&location)));
	buf_release(&location);
	return STYLE_DIM;
}

/* Code without a symbol already shows its module in place of the name. */
static enum style module_cell(struct buf *out, const struct cells *cells,
			      const struct flat_row *row)
{
	const struct expansion *expansion = flat_expansion(cells->flat);

	const struct module *module = label_module(expansion, row->label);

	if (module && !label_is_nameless(expansion, row->label))
		buf_append_str(out, module_short_name(module));
	return STYLE_DIM;
}

static enum style tid_cell(struct buf *out, const struct cells *cells, const struct flat_row *row)
{
	buf_printf(out, "%d", (int)profile_of(cells)->threads[row->thread].tid);
	return STYLE_DIM;
}

static const struct profile_process *process_of(const struct cells *cells,
						const struct flat_row *row)
{
	const struct profile *profile = profile_of(cells);

	if (row->program.nr)
		return &profile->processes[row->program.heaviest];
	if (row->process != FLAT_NONE)
		return &profile->processes[row->process];
	return &profile->processes[profile->threads[row->thread].process];
}

static enum style pid_cell(struct buf *out, const struct cells *cells, const struct flat_row *row)
{
	buf_printf(out, "%d", (int)process_of(cells, row)->pid);
	return STYLE_DIM;
}

static enum style process_name_cell(struct buf *out, const struct cells *cells,
				    const struct flat_row *row)
{
	buf_append_str(out, profile_str(profile_of(cells), process_of(cells, row)->name));
	return STYLE_DIM;
}

static enum style command_cell(struct buf *out, const struct cells *cells,
			       const struct flat_row *row)
{
	if (row->program.nr <= 1 || row->program.one_command)
		buf_append_str(out,
			       profile_str(profile_of(cells), process_of(cells, row)->command));
	return STYLE_DIM;
}

static enum style processes_cell(struct buf *out, const struct cells *cells,
				 const struct flat_row *row)
{
	(void)cells;
	append_count(out, row->program.nr);
	return STYLE_DIM;
}

static enum style begin_cell(struct buf *out, const struct cells *cells, const struct flat_row *row)
{
	append_weight(out, METRIC_WALL, flat_row_phase(cells->flat, row)->from_ns);
	return STYLE_DIM;
}

static enum style length_cell(struct buf *out, const struct cells *cells,
			      const struct flat_row *row)
{
	const struct phase *phase = flat_row_phase(cells->flat, row);
	uint64_t end_ns = min_u64(phase->to_ns, profile_of(cells)->meta.duration_ns);

	append_weight(out, METRIC_WALL, end_ns > phase->from_ns ? end_ns - phase->from_ns : 0);
	return STYLE_DIM;
}

static enum style runq_cell(struct buf *out, const struct cells *cells, const struct flat_row *row)
{
	append_in_unit(out, row->times.runq_ns, &cells->cpu_unit);
	return STYLE_PLAIN;
}

static enum style blocked_cell(struct buf *out, const struct cells *cells,
			       const struct flat_row *row)
{
	append_in_unit(out, row->times.blocked_ns, &cells->cpu_unit);
	return STYLE_PLAIN;
}

static enum style cpu_cell(struct buf *out, const struct cells *cells, const struct flat_row *row)
{
	append_in_unit(out, row->times.cpu_ns, &cells->cpu_unit);
	return STYLE_PLAIN;
}

/* Unknown times stay empty: they are not 0. */
static enum style user_cell(struct buf *out, const struct cells *cells, const struct flat_row *row)
{
	struct cpu_split split;

	if (flat_row_split(cells->flat, row, &split))
		append_in_unit(out, split.user_ns, &cells->unit);
	return STYLE_PLAIN;
}

static enum style system_cell(struct buf *out, const struct cells *cells,
			      const struct flat_row *row)
{
	struct cpu_split split;

	if (flat_row_split(cells->flat, row, &split))
		append_in_unit(out, split.system_ns, &cells->unit);
	return STYLE_PLAIN;
}

/* Empty: not counted; 0: never called. */
static enum style calls_cell(struct buf *out, const struct cells *cells, const struct flat_row *row)
{
	if (!row->counted)
		return STYLE_PLAIN;
	if (cells->view->rate_ns)
		append_rate(out, row->calls, cells->view->rate_ns);
	else
		append_count(out, row->calls);
	return STYLE_PLAIN;
}

static enum style per_call_cell(struct buf *out, const struct cells *cells,
				const struct flat_row *row)
{
	struct per_call per_call;

	if (!flat_row_per_call(cells->flat, row, &per_call))
		return STYLE_PLAIN;
	append_per_call(out, &per_call, cells->view->unit);
	return per_call_is_measured(&per_call) ? STYLE_PLAIN : STYLE_DIM;
}

static enum style per_call_interval_cell(struct buf *out, const struct cells *cells,
					 const struct flat_row *row)
{
	struct per_call per_call;

	if (flat_row_per_call(cells->flat, row, &per_call))
		append_per_call_interval(out, &per_call, cells->view->unit);
	return STYLE_DIM;
}

static enum style nr_threads_cell(struct buf *out, const struct cells *cells,
				  const struct flat_row *row)
{
	append_count(out, blame_nr_threads(cells->flat->blame, row->object));
	return STYLE_PLAIN;
}

static enum style lock_kind_cell(struct buf *out, const struct cells *cells,
				 const struct flat_row *row)
{
	append_lock_kind(out, cells->flat->blame, row->object);
	return STYLE_DIM;
}

static enum style waiting_in_cell(struct buf *out, const struct cells *cells,
				  const struct flat_row *row)
{
	append_waiting_in(out, cells->flat->blame, row->object, cells->view->names);
	return STYLE_PLAIN;
}

static enum style owners_cell(struct buf *out, const struct cells *cells,
			      const struct flat_row *row)
{
	append_owners(out, cells->flat->blame, row->object);
	return STYLE_PLAIN;
}

static enum style owner_in_cell(struct buf *out, const struct cells *cells,
				const struct flat_row *row)
{
	append_owner_in(out, cells->flat->blame, row->object, cells->view->names);
	return STYLE_PLAIN;
}

static enum style wait_pid_cell(struct buf *out, const struct cells *cells,
				const struct flat_row *row)
{
	const struct profile_process *process = blame_process(cells->flat->blame, row->object);

	if (process)
		buf_printf(out, "%d", (int)process->pid);
	return STYLE_DIM;
}

#define NUMBER(text)                                                                               \
	{                                                                                          \
		.header = (text), .right = true                                                    \
	}
#define NAME(text, how, min, weight)                                                               \
	{                                                                                          \
		.header = (text), .flexible = true, .cut = (how), .min_columns = (min),            \
		.share = (weight)                                                                  \
	}
/* The name that a row is about: `kept` columns of it come before any location or module. */
#define KEPT_NAME(text, how, min, weight, kept)                                                    \
	{                                                                                          \
		.header = (text), .flexible = true, .cut = (how), .min_columns = (min),            \
		.share = (weight), .kept_columns = (kept)                                          \
	}
/*
 * Ranks of columns: on a narrow terminal they are dropped in this order; totals beside calls after
 * them.
 */
#define RANKS_OF_TOTALS 2
#define SPARE_NUMBER(text, rank)                                                                   \
	{                                                                                          \
		.header = (text), .right = true, .drop = RANKS_OF_TOTALS + (rank)                  \
	}
#define SPARE_NAME(text, how, min, weight, rank)                                                   \
	{                                                                                          \
		.header = (text), .flexible = true, .cut = (how), .min_columns = (min),            \
		.share = (weight), .drop = RANKS_OF_TOTALS + (rank)                                \
	}

static const struct flat_column columns[] = {
	{ALL, NUMBER("self"), self_cell},
	{ALL, NUMBER("%"), self_percent_cell},
	{ALL & ~WAITS, SPARE_NUMBER("\xc2\xb1", 1), interval_cell},
	{WAITS, SPARE_NUMBER("\xc2\xb1", 5), interval_cell},
	{CODE, NUMBER("total"), total_cell},
	{CODE, NUMBER("%"), total_percent_cell},
	{ALL, SPARE_NUMBER("blocks", 2), blocks_cell},
	{BIT(BY_FUNCTION), NUMBER("calls"), calls_cell},
	{BIT(BY_FUNCTION), NUMBER("per call"), per_call_cell},
	{BIT(BY_FUNCTION), SPARE_NUMBER("\xc2\xb1", 2), per_call_interval_cell},
	{NOT_CODE & ~WAITS, SPARE_NUMBER("samples", 2), samples_cell},
	{WAITS, SPARE_NUMBER("samples", 6), samples_cell},
	{BIT(BY_SYSCALL) | BIT(BY_MARK), SPARE_NUMBER("cpu", 3), cpu_cell},
	{BIT(BY_MARK), SPARE_NUMBER("runq", 3), runq_cell},
	{BIT(BY_MARK), SPARE_NUMBER("blocked", 3), blocked_cell},
	{BIT(BY_THREAD) | PROCESSES, SPARE_NUMBER("user", 1), user_cell},
	{BIT(BY_THREAD) | PROCESSES, SPARE_NUMBER("system", 1), system_cell},
	{BIT(BY_THREAD), NUMBER("tid"), tid_cell},
	{BIT(BY_PID), NUMBER("pid"), pid_cell},
	{BIT(BY_PROCESS), NUMBER("processes"), processes_cell},
	{BIT(BY_MARK), NUMBER("begins"), begin_cell},
	{BIT(BY_MARK), NUMBER("lasts"), length_cell},
	{BIT(BY_FUNCTION), KEPT_NAME("function", CUT_MIDDLE, 16, 5, 32), name_cell},
	{BIT(BY_LINE), KEPT_NAME("function", CUT_MIDDLE, 16, 4, 24), name_cell},
	{FUNCTIONS, KEPT_NAME("wait function", CUT_MIDDLE, 12, 4, 20), wait_cell},
	{BIT(BY_FUNCTION), SPARE_NAME("location", CUT_MIDDLE, 12, 3, 5), location_cell},
	{BIT(BY_LINE), KEPT_NAME("location", CUT_MIDDLE, 12, 3, 18), location_cell},
	{FUNCTIONS, SPARE_NAME("module", CUT_END, 8, 2, 4), module_cell},
	{BIT(BY_SOURCE_LINE), NAME("line", CUT_START, 12, 1), name_cell},
	{BIT(BY_FILE), NAME("file", CUT_START, 12, 1), name_cell},
	{BIT(BY_MODULE), NAME("module", CUT_START, 12, 1), name_cell},
	{BIT(BY_THREAD), NAME("thread", CUT_END, 12, 1), name_cell},
	{BIT(BY_THREAD), SPARE_NUMBER("pid", 3), pid_cell},
	{BIT(BY_THREAD), SPARE_NAME("process", CUT_END, 12, 1, 4), process_name_cell},
	{PROCESSES, NAME("process", CUT_END, 12, 1), name_cell},
	{PROCESSES, SPARE_NAME("command", CUT_END, 12, 2, 4), command_cell},
	{BIT(BY_STATE), NAME("state", CUT_END, 12, 1), name_cell},
	{BIT(BY_SYSCALL), NAME("system call", CUT_END, 12, 1), name_cell},
	{BIT(BY_SYSCALL), NAME("wait function", CUT_MIDDLE, 12, 1), wait_cell},
	{WAITS, SPARE_NUMBER("threads", 4), nr_threads_cell},
	{WAITS, SPARE_NUMBER("pid", 3), wait_pid_cell},
	{BIT(BY_FD), NAME("descriptor", CUT_MIDDLE, 28, 4), name_cell},
	{BIT(BY_LOCK), NAME("lock", CUT_END, 16, 3), name_cell},
	{BIT(BY_LOCK), SPARE_NAME("kind", CUT_END, 5, 1, 4), lock_kind_cell},
	{WAITS, NAME("waiting in", CUT_MIDDLE, 10, 2), waiting_in_cell},
	{BIT(BY_LOCK), NAME("held by", CUT_END, 13, 3), owners_cell},
	{BIT(BY_LOCK), NAME("held in", CUT_MIDDLE, 12, 2), owner_in_cell},
	{BIT(BY_LIFETIME), NAME("lifetime", CUT_END, 12, 1), name_cell},
	{BIT(BY_MARK), NAME("from mark", CUT_END, 12, 1), name_cell},
};

/* The columns of one table, chosen from those above, with the unit in their headers. */
struct chosen {
	const struct flat_column *from[ARRAY_SIZE(columns)];
	struct table_column columns[ARRAY_SIZE(columns)];
	char headers[ARRAY_SIZE(columns)][32];
	size_t nr;
};

static bool is_split(const struct flat_column *column)
{
	return column->cell == user_cell || column->cell == system_cell;
}

static bool is_per_call(const struct flat_column *column)
{
	return column->cell == per_call_cell || column->cell == per_call_interval_cell;
}

/* Narrower tables show shares only, since amounts of time would leave no room for names. */
#define COLUMNS_OF_AMOUNTS 60

static bool is_narrow(const struct cells *cells)
{
	return cells->view->columns < COLUMNS_OF_AMOUNTS &&
	       (BIT(cells->flat->second) & (CODE | WAITS)) != 0;
}

/* On narrow screens locks keep name and owner; their waiters have their own table. */
static bool is_left_out_where_narrow(const struct flat_column *column, const struct flat *flat)
{
	if (column->cell == waiting_in_cell)
		return flat->second == BY_LOCK;
	return column->cell == self_cell || column->cell == total_cell ||
	       column->cell == nr_threads_cell;
}

static const char *header_of(const struct flat_column *column, const struct cells *cells)
{
	if (is_narrow(cells) && column->cell == self_percent_cell)
		return "self%";
	if (is_narrow(cells) && column->cell == total_percent_cell)
		return "total%";
	return column->column.header;
}

static void choose_column(struct chosen *chosen, const struct flat_column *from, const char *header,
			  const char *unit)
{
	size_t i = chosen->nr++;

	chosen->from[i] = from;
	chosen->columns[i] = from->column;
	snprintf(chosen->headers[i], sizeof(chosen->headers[i]), "%s%s%s", header,
		 *unit && *unit != '/' ? " " : "", unit);
	chosen->columns[i].header = chosen->headers[i];
}

static bool has_any_split(const struct flat *flat)
{
	struct cpu_split split;

	for (size_t i = 0; i < flat->nr; i++)
		if (metric_is_time(flat->weights->metric) &&
		    flat_row_split(flat, &flat->rows[i], &split))
			return true;
	return false;
}

/* The unit of a column's cells. */
static const char *unit_of(const struct flat_column *column, const struct cells *cells)
{
	if (column->cell == cpu_cell || column->cell == runq_cell || column->cell == blocked_cell)
		return cells->cpu_unit.name;
	if (column->cell == calls_cell)
		return cells->view->rate_ns ? "/s" : "";
	if (column->cell == per_call_cell)
		return per_call_unit_name(cells->view->unit);
	if (column->cell == self_cell || column->cell == total_cell || is_split(column))
		return cells->unit.name;
	return "";
}

/* Does a column belong to this table, of those of its dimension? */
static bool is_shown(const struct flat_column *column, const struct cells *cells, bool has_splits)
{
	enum metric metric = cells->flat->weights->metric;
	bool is_grouped = cells->flat->groups != NULL;

	if (is_narrow(cells) && is_left_out_where_narrow(column, cells->flat))
		return false;
	if (is_split(column))
		return has_splits;
	if (column->cell == cpu_cell)
		return metric != METRIC_CPU && !is_grouped && !metric_is_memory(metric);
	if (column->cell == runq_cell)
		return metric != METRIC_RUNQ && !is_grouped && !metric_is_memory(metric);
	if (column->cell == blocked_cell)
		return metric != METRIC_BLOCKED && !is_grouped && !metric_is_memory(metric);
	if (column->cell == processes_cell)
		return !is_grouped;
	if (column->cell == command_cell)
		return !is_grouped || cells->flat->second == BY_PID;
	if (column->cell == wait_cell)
		return cells->has_waits;
	if (column->cell == calls_cell)
		return cells->has_calls;
	if (column->cell == blocks_cell)
		return metric_is_bytes(metric);
	if (column->cell == wait_pid_cell)
		return profile_of(cells)->nr_processes > 1;
	if (is_per_call(column))
		return cells->has_calls && metric_is_time(metric);
	return true;
}

/* With two keys the columns are those of the second; but code as the first key has a total. */
static bool is_of_table(const struct flat_column *column, const struct flat *flat)
{
	unsigned int keys = BIT(flat->second);

	if (column->cell == total_cell || column->cell == total_percent_cell)
		keys |= BIT(flat->dimension);
	return (column->dimensions & keys) != 0;
}

/* "thread, function" above the names of both. */
static void head_names(struct chosen *chosen, const struct flat *flat)
{
	const char *first = "";

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		if (columns[i].cell == name_cell && columns[i].dimensions & BIT(flat->dimension))
			first = columns[i].column.header;
	for (size_t i = 0; i < chosen->nr; i++)
		if (chosen->from[i]->cell == name_cell)
			snprintf(chosen->headers[i], sizeof(chosen->headers[i]), "%s, %s", first,
				 chosen->from[i]->column.header);
}

static void choose_columns(struct chosen *chosen, const struct cells *cells)
{
	const struct flat *flat = cells->flat;
	bool has_splits = has_any_split(flat);

	chosen->nr = 0;
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		const struct flat_column *column = &columns[i];

		if (is_of_table(column, flat) && is_shown(column, cells, has_splits))
			choose_column(chosen, column, header_of(column, cells),
				      unit_of(column, cells));
	}
	if (flat->groups)
		head_names(chosen, flat);
	for (size_t i = 0; i < chosen->nr && cells->has_calls; i++) {
		if (chosen->from[i]->cell == total_percent_cell)
			chosen->columns[i].drop = 2;
		else if (chosen->from[i]->cell == total_cell)
			chosen->columns[i].drop = 1;
	}
}

/* The other columns are about the second key. */
static bool is_of_groups(const struct flat_column *column)
{
	return column->cell == self_cell || column->cell == self_percent_cell ||
	       column->cell == interval_cell || column->cell == total_cell ||
	       column->cell == total_percent_cell || column->cell == blocks_cell ||
	       column->cell == samples_cell || column->cell == name_cell;
}

static void add_row(struct table *table, const struct chosen *chosen, const struct cells *cells,
		    const struct flat_row *row)
{
	struct buf text = {0};

	for (size_t i = 0; i < chosen->nr; i++) {
		enum style style;

		buf_clear(&text);
		if (cells->of_group && !is_of_groups(chosen->from[i])) {
			table_add(table, STYLE_PLAIN, "");
			continue;
		}
		style = chosen->from[i]->cell(&text, cells, row);
		table_add(table, style, buf_str(&text));
	}
	buf_release(&text);
}

static bool is_asked_for(const struct flat *flat, const struct flat_row *row)
{
	const bool *functions = flat->weights->selection->functions;

	return functions && row->label != FLAT_NONE && functions[row->label];
}

/* Functions that only call others would be many rows of zeros after those with self. */
static bool is_worth_a_row(const struct flat *flat, const struct flat_row *row)
{
	return row->self.weight || row->times.cpu_ns || row->counted || is_asked_for(flat, row);
}

/* The rows to show. The caller frees the array. */
static const struct flat_row **choose_rows(const struct flat *flat, size_t limit, size_t *nr)
{
	const struct flat_row **rows = xcalloc(flat->nr, sizeof(const struct flat_row *));

	*nr = 0;
	for (size_t i = 0; i < flat->nr && (!limit || *nr < limit); i++) {
		if (!limit || !flat->by_self || flat->phases ||
		    is_worth_a_row(flat, &flat->rows[i]))
			rows[(*nr)++] = &flat->rows[i];
	}
	return rows;
}

static void print_left_out(const struct flat *flat, const struct view *view,
			   const struct flat_row *const *rows, size_t shown, bool shows_calls,
			   struct sink *sink)
{
	struct tally rest = {0};
	struct buf text = {0};

	if (shown >= flat->nr)
		return;
	for (size_t i = 0, at = 0; i < flat->nr; i++) {
		if (at < shown && rows[at] == &flat->rows[i])
			at++;
		else
			tally_add(&rest, &flat->rows[i].self);
	}
	buf_append_str(&text, "and ");
	append_count(&text, flat->nr - shown);
	buf_append_str(&text, " more with ");
	if (rest.weight) {
		append_percent(&text, tally_percent(&rest, &flat->weights->total));
		buf_append_str(&text, "% of self (-n 0 shows all)");
	} else {
		buf_append_str(&text, "no self (-n 0 shows all)");
	}
	paragraph_print_styled(view, STYLE_DIM, "", buf_str(&text), sink);
	if (flat_has_counts(flat) && !shows_calls && !view->rate_ns)
		line_print(sink, view, STYLE_DIM, "none of these was counted: see --sort calls");
	buf_release(&text);
}

#define GROUPS_SHOWN 20

/* Add groups, each with at most `limit` rows below it. Returns the number of rows not shown. */
static size_t add_groups(struct table *table, const struct chosen *chosen, struct cells *cells,
			 size_t limit)
{
	const struct flat *flat = cells->flat;
	size_t nr_groups = limit ? min_u64(GROUPS_SHOWN, flat->groups->nr) : flat->groups->nr;
	size_t next = 0, nr_shown = 0;

	for (size_t group = 0; group < nr_groups; group++) {
		cells->of_group = true;
		add_row(table, chosen, cells, &flat->groups->rows[group]);
		cells->of_group = false;
		for (size_t nr = 0; next < flat->nr && flat->rows[next].group == group; next++) {
			if (limit && nr++ >= limit)
				continue;
			add_row(table, chosen, cells, &flat->rows[next]);
			nr_shown++;
		}
	}
	return flat->nr + flat->nr_left_out - nr_shown;
}

static void print_groups_left_out(const struct flat *flat, const struct view *view, size_t nr_rows,
				  struct sink *sink)
{
	struct buf text = {0};

	if (nr_rows == 0)
		return;
	buf_append_str(&text, "and ");
	append_count(&text, nr_rows);
	buf_append_str(&text, " more");
	if (flat->groups->nr > GROUPS_SHOWN) {
		buf_append_str(&text, ", with ");
		append_count(&text, flat->groups->nr - GROUPS_SHOWN);
		buf_append_str(&text, " more groups");
	}
	buf_append_str(&text, " (-n 0 shows all)");
	paragraph_print_styled(view, STYLE_DIM, "", buf_str(&text), sink);
	buf_release(&text);
}

void flat_print_text(const struct flat *flat, const struct view *view, size_t limit,
		     struct sink *sink)
{
	struct cells cells = {.flat = flat, .view = view};
	size_t shown;
	cleanup_free const struct flat_row **rows = choose_rows(flat, limit, &shown);
	uint64_t largest = 0, largest_cpu = 0;
	size_t nr_left_out = 0;
	struct chosen chosen;
	struct table *table;

	for (size_t i = 0; i < shown; i++) {
		largest = max_u64(largest, rows[i]->total.weight);
		largest_cpu = max_u64(largest_cpu, rows[i]->times.cpu_ns);
		largest_cpu = max_u64(largest_cpu, rows[i]->times.runq_ns);
		largest_cpu = max_u64(largest_cpu, rows[i]->times.blocked_ns);
		cells.has_calls = cells.has_calls || rows[i]->counted;
		cells.has_waits = cells.has_waits || (rows[i]->wait_function != FLAT_NONE &&
						      rows[i]->wait_function != rows[i]->label);
	}
	for (size_t i = 0; flat->groups && i < flat->groups->nr; i++)
		largest = max_u64(largest, flat->groups->rows[i].total.weight);
	cells.unit = unit_chosen(view->unit, flat->weights->metric, largest);
	cells.cpu_unit = unit_chosen(view->unit, METRIC_CPU, largest_cpu);
	choose_columns(&chosen, &cells);
	table = table_new(chosen.columns, chosen.nr);
	if (flat->groups) {
		nr_left_out = add_groups(table, &chosen, &cells, limit);
	} else {
		for (size_t i = 0; i < shown; i++)
			add_row(table, &chosen, &cells, rows[i]);
	}
	table_print(table, view, sink);
	table_free(table);
	if (flat->groups)
		print_groups_left_out(flat, view, nr_left_out, sink);
	else
		print_left_out(flat, view, rows, shown, cells.has_calls, sink);
}

/* C++ allocates through this function on behalf of all callers. */
static bool is_operator_new(const struct flat *flat, const struct flat_row *row)
{
	static const char name[] = "operator new";
	struct buf text = {0};
	bool is;

	flat_append_name(&text, flat, row, NAME_FULL);
	is = strncmp(buf_str(&text), name, sizeof(name) - 1) == 0;
	buf_release(&text);
	return is;
}

#define MOST_PERCENT 50

static void note_operator_new(const struct flat *flat, struct buf *note)
{
	struct tally asked = {0};

	if (flat->dimension != BY_FUNCTION || !metric_is_memory(flat->weights->metric))
		return;
	for (size_t i = 0; i < flat->nr; i++) {
		if (is_operator_new(flat, &flat->rows[i]))
			tally_add(&asked, &flat->rows[i].self);
	}
	if (tally_percent(&asked, &flat->weights->total) < MOST_PERCENT)
		return;
	append_percent(note, tally_percent(&asked, &flat->weights->total));
	buf_append_str(note, "% is allocated by operator new for its callers: see --tree");
}

/* The table says where threads waited; the note names the tables of the awaited objects. */
static void note_waits(const struct flat *flat, struct buf *note)
{
	const struct profile_waits *waits = profile_waits(flat_expansion(flat)->profile);
	bool has_locks = false, has_files = false;

	if (flat->weights->metric != METRIC_BLOCKED || flat->groups ||
	    !(BIT(flat->dimension) & (FUNCTIONS | BIT(BY_SYSCALL))))
		return;
	for (size_t i = 0; i < waits->nr; i++) {
		if (wait_is_of_memory((enum wait_kind)waits->rows[i].kind))
			has_locks = true;
		else
			has_files = true;
	}
	if (!has_locks && !has_files)
		return;
	if (has_locks)
		buf_append_str(note, "--by lock shows which locks threads waited for, and their "
				     "owners");
	buf_append_str(note, has_locks && has_files ? "; " : "");
	if (has_files)
		buf_append_str(note, has_locks ? "--by fd which files, pipes and sockets"
					       : "--by fd shows which files, pipes and sockets "
						 "threads waited for");
}

void flat_print_notes(const struct flat *flat, const struct view *view, struct sink *sink)
{
	struct buf note = {0};

	note_operator_new(flat, &note);
	note_waits(flat, &note);
	if (note.nr_bytes) {
		sink_str(sink, "\n");
		paragraph_print(view, "note: ", buf_str(&note), sink);
	}
	buf_release(&note);
}
