// SPDX-License-Identifier: GPL-2.0-or-later
/* Flat tables as text. */
#include "view/flat_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/minmax.h"
#include "base/sink.h"
#include "calltree/blame.h"
#include "calltree/filter.h"
#include "calltree/flat.h"
#include "calltree/per_call.h"
#include "calltree/weights.h"
#include "view/blame_text.h"
#include "view/flat_values.h"
#include "view/line.h"
#include "view/machine_text.h"
#include "view/number.h"
#include "view/paragraph.h"
#include "view/per_call_text.h"
#include "view/shared_code_text.h"
#include "view/table.h"

/* Facts about the rows of a table: these decide which columns it has. */
struct facts {
	const struct flat *flat;
	bool has_calls;	 /* is any row counted? */
	bool has_walls;	 /* has the time per call of any row another metric? */
	bool has_waits;	 /* has any row a wait function? */
	bool has_splits; /* is the user and system time of any row known? */
};

/* How the values of one table become text. */
struct forms {
	struct unit unit, cpu_unit;
	enum time_unit time_unit; /* of times per call */
	enum name_style names;
	uint64_t rate_ns; /* not 0: calls are shown per second, and this is their time */
};

/* The form of the values of a column. */
enum column_form {
	AS_TEXT,
	AS_ID,
	AS_COUNT,
	AS_CALLS, /* a count, or a rate */
	AS_PERCENT,
	AS_TIME,
	AS_PER_CALL,
	AS_RATIO,
	IN_UNIT, /* of the metric */
	IN_CPU_UNIT,
};

/* A column that a table may have: uniform over dimensions, chosen by the bits of `dimensions`. */
struct flat_column {
	unsigned int dimensions; /* a bit for each enum dimension it belongs to */
	struct table_column column;
	enum flat_value value;
	enum column_form form;
	enum style style; /* unless its value or its share decides */
};

#define BIT	  DIMENSION_BIT
#define WHOLE	  DIMENSIONS_OF_WHOLE_FUNCTIONS
#define FUNCTIONS DIMENSIONS_OF_FUNCTIONS
#define CODE	  DIMENSIONS_OF_CODE
#define WAITS	  (BIT(BY_LOCK) | BIT(BY_FD))
#define PROCESSES (BIT(BY_PROCESS) | BIT(BY_PID))
#define FACTS	  (~(CODE | WAITS | PROCESSES | BIT(BY_THREAD)))
#define NOT_CODE  (~CODE)
#define ALL	  (~0u)

/* After a group's name: the details that distinguish groups of that name. */
static void append_members(struct buf *out, const struct flat *flat, const struct flat_row *row)
{
	const struct profile *profile = flat_expansion(flat)->profile;

	if (flat->dimension == BY_THREAD)
		buf_printf(out, " (tid %d)", (int)profile->threads[row->thread].tid);
	else if (flat->dimension == BY_PID)
		buf_printf(out, " (pid %d)", (int)profile->processes[row->process].pid);
	else if (row->program.nr > 1)
		buf_printf(out, " (%" PRIu64 " processes)", row->program.nr);
}

/* The name of a row; with two keys that of the second, below its group. */
static enum style append_name(struct buf *out, const struct flat *flat, const struct flat_row *row,
			      enum name_style names)
{
	size_t start;

	buf_append_str(out, flat->groups ? "  " : "");
	start = out->nr_bytes;
	flat_append_key(out, flat, row, flat->second, names);
	flat_append_start(out, flat, row, names, true);
	return buf_str(out)[start] == '[' ? STYLE_SPECIAL : STYLE_PLAIN;
}

static void append_calls(struct buf *out, uint64_t calls, uint64_t rate_ns)
{
	if (rate_ns)
		append_rate(out, calls, rate_ns);
	else
		append_count(out, calls);
}

/* A value that is not known is empty, not 0. */
static void append_value(struct buf *out, const struct forms *forms,
			 const struct flat_column *column, const struct value *value)
{
	uint64_t number = (uint64_t)value->integer;

	if (value->type == VALUE_ABSENT)
		return;
	switch (column->form) {
	case AS_TEXT:
		buf_append_str(out, value->text ? value->text : "");
		break;
	case AS_ID:
		buf_append_decimal(out, number);
		break;
	case AS_COUNT:
		append_count(out, number);
		break;
	case AS_CALLS:
		append_calls(out, number, forms->rate_ns);
		break;
	case AS_PERCENT:
		append_percent(out, value->real);
		break;
	case AS_TIME:
		append_weight(out, METRIC_WALL, number);
		break;
	case AS_RATIO:
		buf_printf(out, "%.2f", value->real);
		break;
	case IN_UNIT:
		append_in_unit(out, number, &forms->unit);
		break;
	case IN_CPU_UNIT:
		append_in_unit(out, number, &forms->cpu_unit);
		break;
	case AS_PER_CALL:
		break;
	}
}

static enum style append_call_time(struct buf *out, const struct flat *flat,
				   const struct flat_row *row, enum flat_value value,
				   enum time_unit unit)
{
	struct per_call per_call;

	if (!flat_row_wall_per_call(flat, row, &per_call) &&
	    !flat_row_per_call(flat, row, &per_call))
		return STYLE_PLAIN;
	if (value == FLAT_PER_CALL)
		append_per_call(out, &per_call, unit);
	else
		append_per_call_interval(out, &per_call, unit);
	return value == FLAT_PER_CALL && per_call_is_measured(&per_call) ? STYLE_PLAIN : STYLE_DIM;
}

/* Append the cell's raw text; returns its style. */
static enum style append_cell(struct buf *out, const struct forms *forms,
			      const struct flat_column *column, const struct flat *flat,
			      const struct flat_row *row)
{
	struct buf scratch = {0};
	struct value value;

	if (column->value == FLAT_NAME)
		return append_name(out, flat, row, forms->names);
	if (column->form == AS_PER_CALL)
		return append_call_time(out, flat, row, column->value, forms->time_unit);
	value = flat_value(flat, row, column->value, forms->names, &scratch);
	append_value(out, forms, column, &value);
	buf_release(&scratch);
	if (column->value == FLAT_SELF || column->value == FLAT_SELF_PERCENT)
		return style_of_percent(tally_percent(&row->self, &flat->weights->total));
	return column->style;
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
	{ALL, NUMBER("self"), FLAT_SELF, IN_UNIT, STYLE_PLAIN},
	{ALL, NUMBER("%"), FLAT_SELF_PERCENT, AS_PERCENT, STYLE_PLAIN},
	{ALL & ~WAITS, SPARE_NUMBER("\xc2\xb1", 1), FLAT_INTERVAL, AS_PERCENT, STYLE_DIM},
	{WAITS, SPARE_NUMBER("\xc2\xb1", 5), FLAT_INTERVAL, AS_PERCENT, STYLE_DIM},
	{CODE, NUMBER("total"), FLAT_TOTAL, IN_UNIT, STYLE_PLAIN},
	{CODE, NUMBER("%"), FLAT_TOTAL_PERCENT, AS_PERCENT, STYLE_PLAIN},
	{ALL, SPARE_NUMBER("blocks", 2), FLAT_SELF_BLOCKS, AS_COUNT, STYLE_PLAIN},
	{BIT(BY_FUNCTION), NUMBER("calls"), FLAT_CALLS, AS_CALLS, STYLE_PLAIN},
	{BIT(BY_FUNCTION), SPARE_NUMBER("calls/s", 7), FLAT_CALL_RATE, AS_COUNT, STYLE_DIM},
	{BIT(BY_FUNCTION), NUMBER("per call"), FLAT_PER_CALL, AS_PER_CALL, STYLE_PLAIN},
	{BIT(BY_FUNCTION), SPARE_NUMBER("\xc2\xb1", 2), FLAT_PER_CALL_INTERVAL, AS_PER_CALL,
	 STYLE_DIM},
	{BIT(BY_FUNCTION), SPARE_NUMBER("of", 3), FLAT_PER_CALL_OF, AS_TEXT, STYLE_DIM},
	{BIT(BY_THREAD) | PROCESSES | BIT(BY_MARK), NUMBER("per cycle"), FLAT_PER_CYCLE, AS_RATIO,
	 STYLE_PLAIN},
	{NOT_CODE & ~WAITS, SPARE_NUMBER("samples", 2), FLAT_SELF_SAMPLES, AS_COUNT, STYLE_DIM},
	{WAITS, SPARE_NUMBER("samples", 6), FLAT_SELF_SAMPLES, AS_COUNT, STYLE_DIM},
	{BIT(BY_SYSCALL) | BIT(BY_MARK) | BIT(BY_LABEL), SPARE_NUMBER("cpu", 3), FLAT_CPU,
	 IN_CPU_UNIT, STYLE_PLAIN},
	{BIT(BY_MARK) | BIT(BY_LABEL), SPARE_NUMBER("runq", 3), FLAT_RUNQ, IN_CPU_UNIT,
	 STYLE_PLAIN},
	{BIT(BY_MARK) | BIT(BY_LABEL), SPARE_NUMBER("blocked", 3), FLAT_BLOCKED, IN_CPU_UNIT,
	 STYLE_PLAIN},
	{BIT(BY_THREAD) | PROCESSES, SPARE_NUMBER("user", 1), FLAT_USER, IN_UNIT, STYLE_PLAIN},
	{BIT(BY_THREAD) | PROCESSES, SPARE_NUMBER("system", 1), FLAT_SYSTEM, IN_UNIT, STYLE_PLAIN},
	{CODE, SPARE_NUMBER("user", 9), FLAT_USER, IN_UNIT, STYLE_PLAIN},
	{CODE, SPARE_NUMBER("system", 8), FLAT_SYSTEM, IN_UNIT, STYLE_PLAIN},
	{CODE, SPARE_NUMBER("\xc2\xb1", 9), FLAT_SYSTEM_ERROR, IN_UNIT, STYLE_DIM},
	{BIT(BY_THREAD), NUMBER("tid"), FLAT_TID, AS_ID, STYLE_DIM},
	{BIT(BY_PID), NUMBER("pid"), FLAT_PID, AS_ID, STYLE_DIM},
	{BIT(BY_PROCESS), NUMBER("processes"), FLAT_PROCESSES, AS_COUNT, STYLE_DIM},
	{BIT(BY_MARK), NUMBER("begins"), FLAT_BEGIN, AS_TIME, STYLE_DIM},
	{BIT(BY_MARK), NUMBER("lasts"), FLAT_LENGTH, AS_TIME, STYLE_DIM},
	{WHOLE, KEPT_NAME("function", CUT_MIDDLE, 16, 5, 32), FLAT_NAME, AS_TEXT, STYLE_PLAIN},
	{BIT(BY_LINE), KEPT_NAME("function", CUT_MIDDLE, 16, 4, 24), FLAT_NAME, AS_TEXT,
	 STYLE_PLAIN},
	{FUNCTIONS, KEPT_NAME("wait function", CUT_MIDDLE, 12, 4, 20), FLAT_WAIT, AS_TEXT,
	 STYLE_PLAIN},
	{BIT(BY_FUNCTION), SPARE_NAME("location", CUT_MIDDLE, 12, 3, 5), FLAT_LOCATION, AS_TEXT,
	 STYLE_DIM},
	/* It has the script's name, and tells functions of one name apart: the module goes first.
	 */
	{BIT(BY_SCRIPT), SPARE_NAME("location", CUT_MIDDLE, 12, 3, 4), FLAT_LOCATION, AS_TEXT,
	 STYLE_DIM},
	{BIT(BY_LINE), KEPT_NAME("location", CUT_MIDDLE, 12, 3, 18), FLAT_LOCATION, AS_TEXT,
	 STYLE_DIM},
	{FUNCTIONS & ~BIT(BY_SCRIPT), SPARE_NAME("module", CUT_END, 8, 2, 4), FLAT_SHORT_MODULE,
	 AS_TEXT, STYLE_DIM},
	{BIT(BY_SCRIPT), SPARE_NAME("module", CUT_END, 8, 2, 5), FLAT_SHORT_MODULE, AS_TEXT,
	 STYLE_DIM},
	{BIT(BY_SOURCE_LINE), NAME("line", CUT_START, 12, 1), FLAT_NAME, AS_TEXT, STYLE_PLAIN},
	{BIT(BY_FILE), NAME("file", CUT_START, 12, 1), FLAT_NAME, AS_TEXT, STYLE_PLAIN},
	{BIT(BY_MODULE), NAME("module", CUT_START, 12, 1), FLAT_NAME, AS_TEXT, STYLE_PLAIN},
	{BIT(BY_THREAD), NAME("thread", CUT_END, 12, 1), FLAT_NAME, AS_TEXT, STYLE_PLAIN},
	{BIT(BY_THREAD), SPARE_NUMBER("pid", 3), FLAT_PID, AS_ID, STYLE_DIM},
	{BIT(BY_THREAD), SPARE_NAME("process", CUT_END, 12, 1, 4), FLAT_PROCESS_NAME, AS_TEXT,
	 STYLE_DIM},
	{PROCESSES, NAME("process", CUT_END, 12, 1), FLAT_NAME, AS_TEXT, STYLE_PLAIN},
	{PROCESSES, SPARE_NAME("command", CUT_END, 12, 2, 4), FLAT_COMMAND, AS_TEXT, STYLE_DIM},
	{FACTS, NAME(NULL, CUT_END, 12, 1), FLAT_NAME, AS_TEXT, STYLE_PLAIN},
	{BIT(BY_SYSCALL), NAME("wait function", CUT_MIDDLE, 12, 1), FLAT_WAIT, AS_TEXT,
	 STYLE_PLAIN},
	{WAITS, SPARE_NUMBER("threads", 4), FLAT_NR_THREADS, AS_COUNT, STYLE_PLAIN},
	{WAITS, SPARE_NUMBER("pid", 3), FLAT_PID, AS_ID, STYLE_DIM},
	{BIT(BY_FD), NAME("descriptor", CUT_MIDDLE, 28, 4), FLAT_NAME, AS_TEXT, STYLE_PLAIN},
	{BIT(BY_LOCK), NAME("lock", CUT_END, 16, 3), FLAT_NAME, AS_TEXT, STYLE_PLAIN},
	{BIT(BY_LOCK), SPARE_NAME("kind", CUT_END, 5, 1, 4), FLAT_KIND, AS_TEXT, STYLE_DIM},
	{WAITS, NAME("waiting in", CUT_MIDDLE, 10, 2), FLAT_WAITING_IN, AS_TEXT, STYLE_PLAIN},
	{BIT(BY_LOCK), NAME("held by", CUT_END, 13, 3), FLAT_OWNERS, AS_TEXT, STYLE_PLAIN},
	{BIT(BY_LOCK), NAME("held in", CUT_MIDDLE, 12, 3), FLAT_HELD_IN, AS_TEXT, STYLE_PLAIN},
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
	return column->value == FLAT_USER || column->value == FLAT_SYSTEM;
}

/* Do the values come from samples, as for rows of code? Others come from the kernel. */
static bool is_of_modes(const struct flat_column *column)
{
	return (column->dimensions & CODE) &&
	       (is_split(column) || column->value == FLAT_SYSTEM_ERROR);
}

/* Is a column in a list of names, by its header? */
static bool is_listed(const char *list, const char *header)
{
	size_t length = header ? strlen(header) : 0;

	for (const char *at = list; at && *at; at += strcspn(at, ","), at += *at == ',')
		if (length && strcspn(at, ",") == length && strncmp(at, header, length) == 0)
			return true;
	return false;
}

/*
 * Does the user want to keep the column? Columns without a header have the names of rows, which
 * always stay.
 */
static bool is_kept(const struct flat_column *column, const struct view *view)
{
	return is_listed(view->kept_columns,
			 column->value == FLAT_SYSTEM_ERROR ? "system" : column->column.header);
}

/*
 * Narrower tables have user and system times, and rates of calls, only if the user asks for them.
 */
#define WIDE_COLUMNS 120

static bool is_wide(const struct flat_column *column, const struct view *view)
{
	return view->columns >= WIDE_COLUMNS || is_kept(column, view);
}

static bool is_per_call(const struct flat_column *column)
{
	return column->value == FLAT_PER_CALL || column->value == FLAT_PER_CALL_INTERVAL;
}

/* Narrower tables show shares only, since amounts of time would leave no room for names. */
#define COLUMNS_OF_AMOUNTS 60

static bool is_narrow(const struct flat *flat, const struct view *view)
{
	return view->columns < COLUMNS_OF_AMOUNTS && (BIT(flat->second) & (CODE | WAITS)) != 0;
}

/* On narrow screens locks keep name and owner; their waiters have their own table. */
static bool is_left_out_where_narrow(const struct flat_column *column, const struct flat *flat)
{
	if (column->value == FLAT_WAITING_IN)
		return flat->second == BY_LOCK;
	return column->value == FLAT_SELF || column->value == FLAT_TOTAL ||
	       column->value == FLAT_NR_THREADS;
}

/* Has the view room for a column, and a use? */
static bool is_wanted(const struct flat_column *column, const struct flat *flat,
		      const struct view *view)
{
	if (is_narrow(flat, view) && is_left_out_where_narrow(column, flat))
		return false;
	if (column->value == FLAT_CALL_RATE)
		return !view->rate_ns && is_wide(column, view);
	return !is_of_modes(column) || is_wide(column, view);
}

static const char *second_heading(const struct flat *flat)
{
	const struct dimension_info *second = dimension_info(flat->second);

	return second->second_heading ? second->second_heading : second->heading;
}

static const char *header_of(const struct flat_column *column, const struct flat *flat,
			     const struct view *view)
{
	if (is_narrow(flat, view) && column->value == FLAT_SELF_PERCENT)
		return "self%";
	if (is_narrow(flat, view) && column->value == FLAT_TOTAL_PERCENT)
		return "total%";
	if (!column->column.header)
		return second_heading(flat);
	return column->column.header;
}

/* The unit of a column's cells. */
static const char *unit_of(const struct flat_column *column, const struct forms *forms)
{
	if (column->value == FLAT_CPU || column->value == FLAT_RUNQ ||
	    column->value == FLAT_BLOCKED)
		return forms->cpu_unit.name;
	if (column->value == FLAT_CALLS)
		return forms->rate_ns ? "/s" : "";
	if (column->value == FLAT_PER_CALL)
		return per_call_unit_name(forms->time_unit);
	if (column->value == FLAT_SELF || column->value == FLAT_TOTAL || is_split(column))
		return forms->unit.name;
	return "";
}

static void choose_column(struct chosen *chosen, const struct flat_column *from, const char *header,
			  const char *unit, bool is_kept)
{
	size_t i = chosen->nr++;

	chosen->from[i] = from;
	chosen->columns[i] = from->column;
	snprintf(chosen->headers[i], sizeof(chosen->headers[i]), "%s%s%s", header,
		 *unit && *unit != '/' ? " " : "", unit);
	chosen->columns[i].header = chosen->headers[i];
	if (is_kept)
		chosen->columns[i].drop = 0;
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

/* Does a column belong to this table, of those of its dimension? */
static bool is_shown(const struct flat_column *column, const struct facts *facts)
{
	const struct flat *flat = facts->flat;
	enum metric metric = flat->weights->metric;
	bool is_grouped = flat->groups != NULL;

	if (is_of_modes(column))
		return flat_has_modes(flat);
	if (is_split(column))
		return facts->has_splits;
	if (column->value == FLAT_CPU)
		return metric != METRIC_CPU && !is_grouped && metric_is_of_samples(metric);
	if (column->value == FLAT_RUNQ)
		return metric != METRIC_RUNQ && !is_grouped && metric_is_of_samples(metric);
	if (column->value == FLAT_BLOCKED)
		return metric != METRIC_BLOCKED && !is_grouped && metric_is_of_samples(metric);
	if (column->value == FLAT_PROCESSES)
		return !is_grouped;
	if (column->value == FLAT_COMMAND)
		return !is_grouped || flat->second == BY_PID;
	if (column->value == FLAT_WAIT)
		return facts->has_waits;
	if (column->value == FLAT_CALLS || column->value == FLAT_CALL_RATE)
		return facts->has_calls;
	if (column->value == FLAT_PER_CYCLE)
		return flat->cycles != NULL;
	if (column->value == FLAT_SELF_BLOCKS)
		return metric_is_bytes(metric) && metric_is_memory(metric);
	if (column->value == FLAT_PID && dimension_is_of_waits(flat->second))
		return flat_expansion(flat)->profile->nr_processes > 1;
	if (column->value == FLAT_PER_CALL_OF)
		return facts->has_walls;
	if (is_per_call(column))
		return facts->has_calls && metric_is_time(metric);
	return true;
}

/* With two keys the columns are those of the second; but code as the first key has a total. */
static bool is_of_table(const struct flat_column *column, const struct flat *flat)
{
	unsigned int keys = BIT(flat->second);

	if (column->value == FLAT_TOTAL || column->value == FLAT_TOTAL_PERCENT)
		keys |= BIT(flat->dimension);
	return (column->dimensions & keys) != 0;
}

/* "thread, function" above the names of both. */
static void head_names(struct chosen *chosen, const struct flat *flat)
{
	const char *first = dimension_info(flat->dimension)->heading;

	for (size_t i = 0; i < chosen->nr; i++)
		if (chosen->from[i]->value == FLAT_NAME)
			snprintf(chosen->headers[i], sizeof(chosen->headers[i]), "%s, %s", first,
				 second_heading(flat));
}

static void choose_columns(struct chosen *chosen, const struct facts *facts,
			   const struct forms *forms, const struct view *view)
{
	const struct flat *flat = facts->flat;

	chosen->nr = 0;
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		const struct flat_column *column = &columns[i];

		if (is_of_table(column, flat) && is_shown(column, facts) &&
		    is_wanted(column, flat, view))
			choose_column(chosen, column, header_of(column, flat, view),
				      unit_of(column, forms), is_kept(column, view));
	}
	if (flat->groups)
		head_names(chosen, flat);
	for (size_t i = 0; i < chosen->nr && facts->has_calls; i++) {
		if (chosen->from[i]->value == FLAT_TOTAL_PERCENT)
			chosen->columns[i].drop = 2;
		else if (chosen->from[i]->value == FLAT_TOTAL)
			chosen->columns[i].drop = 1;
	}
}

/* The other columns are about the second key. */
static bool is_of_groups(const struct flat_column *column)
{
	return column->value == FLAT_SELF || column->value == FLAT_SELF_PERCENT ||
	       column->value == FLAT_INTERVAL || column->value == FLAT_TOTAL ||
	       column->value == FLAT_TOTAL_PERCENT || column->value == FLAT_SELF_BLOCKS ||
	       column->value == FLAT_SELF_SAMPLES || column->value == FLAT_NAME;
}

static void add_row(struct table *table, const struct chosen *chosen, const struct forms *forms,
		    const struct flat *flat, const struct flat_row *row)
{
	struct buf text = {0};

	for (size_t i = 0; i < chosen->nr; i++) {
		enum style style;

		buf_clear(&text);
		style = append_cell(&text, forms, chosen->from[i], flat, row);
		table_add(table, style, buf_str(&text));
	}
	buf_release(&text);
}

/* The row of a group, above those of the second key. */
static void add_group(struct table *table, const struct chosen *chosen, const struct forms *forms,
		      const struct flat *flat, const struct flat_row *row)
{
	struct buf text = {0};

	for (size_t i = 0; i < chosen->nr; i++) {
		enum style style = STYLE_PLAIN;

		buf_clear(&text);
		if (chosen->from[i]->value == FLAT_NAME) {
			style = STYLE_HEADING;
			flat_append_key(&text, flat, row, flat->dimension, forms->names);
			flat_append_start(&text, flat, row, forms->names, true);
			append_members(&text, flat, row);
		} else if (is_of_groups(chosen->from[i])) {
			style = append_cell(&text, forms, chosen->from[i], flat, row);
		}
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
static size_t add_groups(struct table *table, const struct chosen *chosen,
			 const struct forms *forms, const struct flat *flat, size_t limit)
{
	size_t nr_groups = limit ? min_u64(GROUPS_SHOWN, flat->groups->nr) : flat->groups->nr;
	size_t next = 0, nr_shown = 0;

	for (size_t group = 0; group < nr_groups; group++) {
		add_group(table, chosen, forms, flat, &flat->groups->rows[group]);
		for (size_t nr = 0; next < flat->nr && flat->rows[next].group == group; next++) {
			if (limit && nr++ >= limit)
				continue;
			add_row(table, chosen, forms, flat, &flat->rows[next]);
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

int flat_check_columns(const char *list, struct err *err)
{
	for (const char *at = list; *at; at += strcspn(at, ","), at += *at == ',') {
		size_t length = strcspn(at, ",");
		bool is_known = false;

		for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
			is_known =
				is_known || (columns[i].column.drop && columns[i].column.header &&
					     strlen(columns[i].column.header) == length &&
					     strncmp(columns[i].column.header, at, length) == 0);
		if (is_known)
			continue;
		err_set(err, ERR_INVALID, "there is no column '%.*s' to keep", (int)length, at);
		err_hint(err, "columns that narrow tables lack: user, system, location, module, "
			      "samples, blocks, calls/s, cpu, runq, blocked, pid, process, "
			      "command, kind, threads");
		return ERR_INVALID;
	}
	return 0;
}

/* The units are chosen for the rows to show. */
static struct forms forms_for(const struct flat *flat, const struct flat_row *const *rows,
			      size_t nr, const struct view *view)
{
	uint64_t largest = 0, largest_cpu = 0;

	for (size_t i = 0; i < nr; i++) {
		largest = max_u64(largest, rows[i]->total.weight);
		largest_cpu = max_u64(largest_cpu, rows[i]->times.cpu_ns);
		largest_cpu = max_u64(largest_cpu, rows[i]->times.runq_ns);
		largest_cpu = max_u64(largest_cpu, rows[i]->times.blocked_ns);
	}
	for (size_t i = 0; flat->groups && i < flat->groups->nr; i++)
		largest = max_u64(largest, flat->groups->rows[i].total.weight);
	return (struct forms){
		.unit = unit_chosen(view->unit, flat->weights->metric, largest),
		.cpu_unit = unit_chosen(view->unit, METRIC_CPU, largest_cpu),
		.time_unit = view->unit,
		.names = view->names,
		.rate_ns = view->rate_ns,
	};
}

static struct facts facts_of(const struct flat *flat, const struct flat_row *const *rows, size_t nr)
{
	struct facts facts = {.flat = flat, .has_splits = has_any_split(flat)};
	struct per_call per_call;

	for (size_t i = 0; i < nr; i++) {
		facts.has_calls = facts.has_calls || rows[i]->counted;
		facts.has_walls =
			facts.has_walls || flat_row_wall_per_call(flat, rows[i], &per_call);
		facts.has_waits = facts.has_waits || (rows[i]->wait_function != FLAT_NONE &&
						      rows[i]->wait_function != rows[i]->label);
	}
	return facts;
}

void flat_print_text(const struct flat *flat, const struct view *view, size_t limit,
		     struct sink *sink)
{
	size_t shown;
	cleanup_free const struct flat_row **rows = choose_rows(flat, limit, &shown);
	const struct facts facts = facts_of(flat, rows, shown);
	const struct forms forms = forms_for(flat, rows, shown, view);
	size_t nr_left_out = 0;
	struct chosen chosen;
	struct table *table;

	choose_columns(&chosen, &facts, &forms, view);
	table = table_new(chosen.columns, chosen.nr);
	if (flat->groups) {
		nr_left_out = add_groups(table, &chosen, &forms, flat, limit);
	} else {
		for (size_t i = 0; i < shown; i++)
			add_row(table, &chosen, &forms, flat, rows[i]);
	}
	table_print(table, view, sink);
	table_free(table);
	if (flat->groups)
		print_groups_left_out(flat, view, nr_left_out, sink);
	else
		print_left_out(flat, view, rows, shown, facts.has_calls, sink);
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

#define SHARED_FUNCTIONS_MAX 3

/* Did the user ask for the function? Then it matters which other functions its numbers include. */
static bool is_of_request(const struct flat *flat, const struct flat_row *row)
{
	const struct selection *selection = flat->weights->selection;

	return row->label != FLAT_NONE &&
	       (row->counted || (selection->functions && selection->functions[row->label]));
}

static void note_shared_code(const struct flat *flat, struct buf *note)
{
	const struct expansion *expansion = flat_expansion(flat);
	unsigned int nr = 0;

	if (!(BIT(flat->dimension) & FUNCTIONS))
		return;
	for (size_t i = 0; i < flat->nr && nr < SHARED_FUNCTIONS_MAX; i++) {
		const struct flat_row *row = &flat->rows[i];

		if (!is_of_request(flat, row) || !*label_shared_names(expansion, row->label))
			continue;
		buf_append_str(note, note->nr_bytes ? "; " : "");
		shared_code_append(note, expansion, row->label);
		nr++;
	}
}

/* The table has what waited for a CPU; the note what had them. */
static void note_machine(const struct flat *flat, struct buf *note)
{
	struct buf text = {0};

	if (flat->weights->metric == METRIC_RUNQ &&
	    machine_append(&text, flat_expansion(flat)->profile))
		buf_printf(note, "%s%s", note->nr_bytes ? "; " : "", buf_str(&text));
	buf_release(&text);
}

void flat_print_notes(const struct flat *flat, const struct view *view, struct sink *sink)
{
	struct buf note = {0};

	note_operator_new(flat, &note);
	note_waits(flat, &note);
	note_shared_code(flat, &note);
	note_machine(flat, &note);
	if (note.nr_bytes) {
		sink_str(sink, "\n");
		paragraph_print(view, "note: ", buf_str(&note), sink);
	}
	buf_release(&note);
}
