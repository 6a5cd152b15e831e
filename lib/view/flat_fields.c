// SPDX-License-Identifier: GPL-2.0-or-later
/* Flat tables as JSON and CSV. */
#include "view/flat_fields.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/escape.h"
#include "base/json.h"
#include "base/sink.h"
#include "calltree/blame.h"
#include "calltree/filter.h"
#include "calltree/flat.h"
#include "calltree/weights.h"
#include "profile/heap_estimate.h"
#include "view/blame_text.h"
#include "view/flat_values.h"
#include "view/machine_text.h"

/* The version of the JSON form: raised when a member changes its meaning. */
#define JSON_VERSION 1

/* The metrics that have a field. */
enum field_measure {
	IN_ANY,
	IN_NS,
	IN_SAMPLES_NS, /* times that each sample has */
	IN_COUNT,      /* of a counter of the kernel */
	IN_BYTES,
	IN_MEMORY, /* bytes or blocks */
	IN_MEMORY_BYTES,
	IN_BLOCKED,
	OF_INSTRUCTIONS,
	OF_COUNTS, /* for rows with counted calls */
	OF_MODES,  /* for rows with user and system times from samples */
};

struct flat_field {
	const char *name;	 /* NULL: the name of the key */
	unsigned int dimensions; /* a bit for each enum dimension it belongs to */
	enum field_measure measure;
	enum flat_value value;
};

#define BIT DIMENSION_BIT
/* Beside those bits: of tables by one key, or by two, alone. */
#define OF_ONE_KEY  (1u << 30)
#define OF_TWO_KEYS (1u << 31)
#define WAITS	    (BIT(BY_LOCK) | BIT(BY_FD))
#define FUNCTIONS   DIMENSIONS_OF_FUNCTIONS
#define CODE	    DIMENSIONS_OF_CODE
#define ALL	    (~(OF_ONE_KEY | OF_TWO_KEYS))
/* Dimensions with rows that have only a name. */
#define FACTS                                                                                      \
	(ALL & ~(CODE | WAITS | BIT(BY_THREAD) | BIT(BY_PROCESS) | BIT(BY_PID) | BIT(BY_MARK)))

static const struct flat_field fields[] = {
	{"function", FUNCTIONS, IN_ANY, FLAT_FUNCTION},
	{"file", FUNCTIONS | BIT(BY_FILE) | BIT(BY_SOURCE_LINE), IN_ANY, FLAT_FILE},
	{"line", FUNCTIONS | BIT(BY_SOURCE_LINE), IN_ANY, FLAT_LINE},
	{"module", FUNCTIONS | BIT(BY_FILE) | BIT(BY_MODULE), IN_ANY, FLAT_MODULE},
	{"inlined", FUNCTIONS, IN_ANY, FLAT_INLINED},
	{"pid", BIT(BY_THREAD) | BIT(BY_PID) | WAITS, IN_ANY, FLAT_PID},
	{"pid", BIT(BY_PROCESS) | OF_ONE_KEY, IN_ANY, FLAT_PID},
	{"tid", BIT(BY_THREAD), IN_ANY, FLAT_TID},
	{"name", (ALL & ~FUNCTIONS & ~BIT(BY_SOURCE_LINE)) | OF_ONE_KEY, IN_ANY, FLAT_NAME},
	{"start_function", BIT(BY_THREAD) | OF_ONE_KEY, IN_ANY, FLAT_START},
	{"thread", BIT(BY_THREAD) | OF_TWO_KEYS, IN_ANY, FLAT_THREAD},
	{"process", BIT(BY_THREAD) | OF_ONE_KEY, IN_ANY, FLAT_PROCESS_NAME},
	{"process", BIT(BY_THREAD) | BIT(BY_PROCESS) | BIT(BY_PID) | OF_TWO_KEYS, IN_ANY,
	 FLAT_PROCESS_NAME},
	{"processes", BIT(BY_PROCESS) | OF_ONE_KEY, IN_ANY, FLAT_PROCESSES},
	{"command", BIT(BY_PROCESS) | BIT(BY_PID) | OF_ONE_KEY, IN_ANY, FLAT_COMMAND},
	{NULL, FACTS | OF_TWO_KEYS, IN_ANY, FLAT_FIRST_KEY},
	{NULL, FACTS | OF_TWO_KEYS, IN_ANY, FLAT_SECOND_KEY},
	{"syscall_nr", BIT(BY_SYSCALL), IN_ANY, FLAT_SYSCALL_NR},
	{"kind", BIT(BY_LOCK), IN_ANY, FLAT_KIND},
	{"address", BIT(BY_LOCK), IN_ANY, FLAT_ADDRESS},
	{"fd", BIT(BY_FD), IN_ANY, FLAT_FD},
	{"object", BIT(BY_FD), IN_ANY, FLAT_OBJECT},
	{"threads", WAITS, IN_ANY, FLAT_NR_THREADS},
	{"waiting_in", WAITS, IN_ANY, FLAT_WAITING_IN},
	{"owner_tid", BIT(BY_LOCK), IN_ANY, FLAT_OWNER_TID},
	{"owner_in", BIT(BY_LOCK), IN_ANY, FLAT_OWNER_IN},
	{"owner_leaf", BIT(BY_LOCK), IN_ANY, FLAT_OWNER_LEAF},
	{"from_ns", BIT(BY_LIFETIME), IN_ANY, FLAT_FROM},
	{"to_ns", BIT(BY_LIFETIME), IN_ANY, FLAT_TO},
	{"mark", BIT(BY_MARK), IN_ANY, FLAT_MARK},
	{"begin_ns", BIT(BY_MARK), IN_ANY, FLAT_BEGIN},
	{"end_ns", BIT(BY_MARK), IN_ANY, FLAT_END},
	{"self_ns", ALL, IN_NS, FLAT_SELF},
	{"total_ns", ALL, IN_NS, FLAT_TOTAL},
	{"self_bytes", ALL, IN_BYTES, FLAT_SELF},
	{"total_bytes", ALL, IN_BYTES, FLAT_TOTAL},
	{"self_count", ALL, IN_COUNT, FLAT_SELF},
	{"total_count", ALL, IN_COUNT, FLAT_TOTAL},
	{"ci_bytes", ALL, IN_MEMORY_BYTES, FLAT_ERROR},
	{"total_ci_bytes", ALL, IN_MEMORY_BYTES, FLAT_TOTAL_ERROR},
	{"self_blocks", ALL, IN_MEMORY, FLAT_SELF_BLOCKS},
	{"total_blocks", ALL, IN_MEMORY, FLAT_TOTAL_BLOCKS},
	{"self_samples", ALL, IN_ANY, FLAT_SELF_SAMPLES},
	{"total_samples", ALL, IN_ANY, FLAT_TOTAL_SAMPLES},
	{"self_pct", ALL, IN_ANY, FLAT_SELF_PERCENT},
	{"total_pct", ALL, IN_ANY, FLAT_TOTAL_PERCENT},
	{"ci_pct", ALL, IN_ANY, FLAT_INTERVAL},
	{"total_ci_pct", ALL, IN_ANY, FLAT_TOTAL_INTERVAL},
	{"cpu_ns", BIT(BY_SYSCALL) | BIT(BY_MARK) | BIT(BY_LABEL) | OF_ONE_KEY, IN_SAMPLES_NS,
	 FLAT_CPU},
	{"runq_ns", BIT(BY_MARK) | BIT(BY_LABEL) | OF_ONE_KEY, IN_SAMPLES_NS, FLAT_RUNQ},
	{"blocked_ns", BIT(BY_MARK) | BIT(BY_LABEL) | OF_ONE_KEY, IN_SAMPLES_NS, FLAT_BLOCKED},
	{"user_ns", BIT(BY_THREAD) | BIT(BY_PROCESS) | BIT(BY_PID) | OF_ONE_KEY, IN_NS, FLAT_USER},
	{"system_ns", BIT(BY_THREAD) | BIT(BY_PROCESS) | BIT(BY_PID) | OF_ONE_KEY, IN_NS,
	 FLAT_SYSTEM},
	{"user_ns", CODE | OF_ONE_KEY, OF_MODES, FLAT_USER},
	{"system_ns", CODE | OF_ONE_KEY, OF_MODES, FLAT_SYSTEM},
	{"system_ci_ns", CODE | OF_ONE_KEY, OF_MODES, FLAT_SYSTEM_ERROR},
	{"calls", ALL, IN_ANY, FLAT_CALLS},
	{"calls_per_s", FUNCTIONS, OF_COUNTS, FLAT_CALL_RATE},
	{"wall_per_call_ns", FUNCTIONS, OF_COUNTS, FLAT_WALL_PER_CALL},
	{"wall_per_call_ci_ns", FUNCTIONS, OF_COUNTS, FLAT_WALL_PER_CALL_INTERVAL},
	{"per_call_ns", ALL, IN_NS, FLAT_PER_CALL},
	{"per_call_ci_ns", ALL, IN_NS, FLAT_PER_CALL_INTERVAL},
	{"per_cycle", BIT(BY_THREAD) | BIT(BY_PROCESS) | BIT(BY_PID) | BIT(BY_MARK) | OF_ONE_KEY,
	 OF_INSTRUCTIONS, FLAT_PER_CYCLE},
	{"wait_function", FUNCTIONS | BIT(BY_SYSCALL), IN_BLOCKED, FLAT_WAIT_FUNCTION},
	{"wait_functions", FUNCTIONS | BIT(BY_SYSCALL), IN_BLOCKED, FLAT_WAIT_FUNCTIONS},
};

static bool is_measured(enum field_measure measure, const struct flat *flat)
{
	enum metric metric = flat->weights->metric;

	switch (measure) {
	case IN_ANY:
		break;
	case IN_NS:
		return metric_is_time(metric);
	case IN_SAMPLES_NS:
		return metric_is_time(metric) && metric_is_of_samples(metric);
	case IN_BYTES:
		return metric_is_bytes(metric);
	case IN_COUNT:
		return metric_is_counter(metric) && !metric_is_bytes(metric);
	case IN_MEMORY_BYTES:
		return metric_is_memory(metric) && metric_is_bytes(metric);
	case IN_MEMORY:
		return metric_is_memory(metric);
	case IN_BLOCKED:
		return metric == METRIC_BLOCKED;
	case OF_COUNTS:
		return flat_has_counts(flat);
	case OF_MODES:
		return flat_has_modes(flat);
	case OF_INSTRUCTIONS:
		return metric == metric_of_counter(KERNEL_COUNTER_INSTRUCTIONS);
	}
	return true;
}

/* The keys that a field may belong to. */
static unsigned int keys_of(const struct flat *flat, const struct flat_field *field)
{
	unsigned int first = BIT(flat->dimension), second = BIT(flat->second);

	return field->value == FLAT_FIRST_KEY	 ? first
	       : field->value == FLAT_SECOND_KEY ? second
						 : first | second;
}

static bool has_field(const struct flat *flat, const struct flat_field *field)
{
	unsigned int keys = field->dimensions & (OF_ONE_KEY | OF_TWO_KEYS);

	if (keys && !(keys & (flat_has_two_keys(flat) ? OF_TWO_KEYS : OF_ONE_KEY)))
		return false;
	return (field->dimensions & keys_of(flat, field)) && is_measured(field->measure, flat);
}

static const char *name_of(const struct flat *flat, const struct flat_field *field)
{
	if (field->name)
		return field->name;
	return dimension_names[field->value == FLAT_FIRST_KEY ? flat->dimension : flat->second];
}

static void json_value(struct json *json, const struct value *value)
{
	switch (value->type) {
	case VALUE_TEXT:
		json_str(json, value->text);
		break;
	case VALUE_INTEGER:
		json_i64(json, value->integer);
		break;
	case VALUE_ABSENT:
		json_null(json);
		break;
	case VALUE_REAL:
		json_double(json, value->real, 4);
		break;
	case VALUE_BOOL:
		json_bool(json, value->integer != 0);
		break;
	}
}

/* The split of the whole recording, if it is known. */
static void write_split(struct json *json, const struct selection *selection)
{
	struct cpu_split split;

	if (!selection->everything || !profile_cpu_split(selection->expansion->profile, &split))
		return;
	json_key_u64(json, "user_ns", split.user_ns);
	json_key_u64(json, "system_ns", split.system_ns);
}

void json_key_amount(struct json *json, const char *key, enum metric metric,
		     const struct tally *tally)
{
	char member[32];

	snprintf(member, sizeof(member), "%s_%s", key, metric_unit(metric));
	if (metric_info(metric)->kind != METRIC_OF_COUNT || metric_is_counter(metric))
		json_key_u64(json, member, tally->weight);
	if (!metric_is_memory(metric))
		return;
	snprintf(member, sizeof(member), "%s_blocks", key);
	json_key_u64(json, member, tally_blocks(tally));
}

void json_begin_view(struct json *json, const struct weights *weights)
{
	const struct profile *profile = weights->selection->expansion->profile;

	json_object_begin(json);
	json_key_u64(json, "version", JSON_VERSION);
	json_key_str(json, "metric", metric_name(weights->metric));
	json_key_str(json, "unit", metric_unit(weights->metric));
	json_key_amount(json, "total", weights->metric, &weights->total);
	json_key_u64(json, "samples", weights->total.samples);
	if (weights->metric != METRIC_SAMPLES)
		json_key_u64(json, "duration_ns", profile->meta.duration_ns);
	if (metric_is_time(weights->metric))
		write_split(json, weights->selection);
	if (metric_is_memory(weights->metric) && weights->at_ns != HEAP_AT_END)
		json_key_u64(json, "at_ns", weights->at_ns);
	if (weights->metric == METRIC_RUNQ)
		json_key_machine(json, profile);
	json_key_array_begin(json, "command");
	for (size_t i = 0; i < profile->meta.nr_command; i++)
		json_str(json, profile_str(profile, profile->meta.command[i]));
	json_array_end(json);
}

static void json_row(struct json *json, const struct flat *flat, const struct flat_row *row,
		     struct buf *scratch)
{
	json_object_begin(json);
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		struct value value;

		if (!has_field(flat, &fields[i]))
			continue;
		buf_clear(scratch);
		value = flat_value(flat, row, fields[i].value, NAME_FULL, scratch);
		json_key(json, name_of(flat, &fields[i]));
		json_value(json, &value);
	}
	if (flat->dimension == BY_LOCK)
		json_key_owners(json, flat->blame, row->object);
	json_object_end(json);
}

/* With two keys a limit is one of the rows of each group. */
static bool is_shown(const struct flat *flat, size_t row, size_t limit)
{
	if (!limit || row < limit)
		return true;
	return flat->groups && flat->rows[row - limit].group != flat->rows[row].group;
}

void flat_print_json(const struct flat *flat, size_t limit, struct sink *sink)
{
	struct buf scratch = {0};
	struct json json;

	json_init(&json, sink);
	json_begin_view(&json, flat->weights);
	json_key_array_begin(&json, "rows");
	for (size_t i = 0; i < flat->nr; i++)
		if (is_shown(flat, i, limit))
			json_row(&json, flat, &flat->rows[i], &scratch);
	json_array_end(&json);
	json_object_end(&json);
	json_finish(&json);
	buf_release(&scratch);
}

static void csv_value(struct buf *out, const struct value *value)
{
	switch (value->type) {
	case VALUE_TEXT:
		if (value->text)
			escape_csv(out, value->text);
		break;
	case VALUE_INTEGER:
		buf_printf(out, "%lld", (long long)value->integer);
		break;
	case VALUE_ABSENT:
		break;
	case VALUE_REAL:
		buf_printf(out, "%.4f", value->real);
		break;
	case VALUE_BOOL:
		buf_append_str(out, value->integer ? "true" : "false");
		break;
	}
}

/* The header line for row NULL. */
static void csv_line(const struct flat *flat, const struct flat_row *row, struct buf *scratch,
		     struct sink *sink)
{
	struct buf line = {0};

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		struct value value = {.type = VALUE_TEXT};

		if (!has_field(flat, &fields[i]))
			continue;
		value.text = name_of(flat, &fields[i]);
		if (line.nr_bytes > 0)
			buf_append_byte(&line, ',');
		buf_clear(scratch);
		if (row)
			value = flat_value(flat, row, fields[i].value, NAME_FULL, scratch);
		csv_value(&line, &value);
	}
	buf_append_byte(&line, '\n');
	sink_write(sink, line.bytes, line.nr_bytes);
	buf_release(&line);
}

void flat_print_csv(const struct flat *flat, size_t limit, struct sink *sink)
{
	struct buf scratch = {0};

	csv_line(flat, NULL, &scratch, sink);
	for (size_t i = 0; i < flat->nr; i++)
		if (is_shown(flat, i, limit))
			csv_line(flat, &flat->rows[i], &scratch, sink);
	buf_release(&scratch);
}
