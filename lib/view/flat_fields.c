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
#include "base/syscall_name.h"
#include "calltree/blame.h"
#include "calltree/filter.h"
#include "calltree/flat.h"
#include "calltree/lifetime.h"
#include "calltree/per_call.h"
#include "calltree/phases.h"
#include "calltree/weights.h"
#include "profile/heap_estimate.h"
#include "view/blame_text.h"

/* The version of the JSON form: raised when a member changes its meaning. */
#define JSON_VERSION 1

enum field_type {
	FIELD_TEXT, /* NULL: unknown */
	FIELD_INTEGER,
	FIELD_ABSENT, /* a number that is not known */
	FIELD_REAL,
	FIELD_BOOL,
};

struct field_value {
	enum field_type type;
	const char *text; /* borrowed from the profile or from the scratch buffer */
	int64_t integer;
	double real;
};

/* Of which metrics a field is. */
enum field_measure {
	IN_ANY,
	IN_NS,
	IN_BYTES,
	IN_MEMORY, /* bytes or blocks */
	IN_BLOCKED,
};

struct flat_field {
	const char *name;
	unsigned int dimensions; /* a bit for each enum dimension it belongs to */
	enum field_measure measure;
	struct field_value (*get)(const struct flat *flat, const struct flat_row *row,
				  struct buf *scratch);
};

#define BIT(dimension) (1u << (dimension))
/* Beside those bits: of tables by one key, or by two, alone. */
#define OF_ONE_KEY  (1u << 30)
#define OF_TWO_KEYS (1u << 31)
#define WAITS	    (BIT(BY_LOCK) | BIT(BY_FD))
#define FUNCTIONS   (BIT(BY_FUNCTION) | BIT(BY_LINE))
#define ALL	    (~(OF_ONE_KEY | OF_TWO_KEYS))

static struct field_value text_value(const char *text)
{
	return (struct field_value){.type = FIELD_TEXT, .text = text};
}

static struct field_value integer_value(uint64_t value)
{
	return (struct field_value){.type = FIELD_INTEGER, .integer = (int64_t)value};
}

static struct field_value real_value(double value)
{
	return (struct field_value){.type = FIELD_REAL, .real = value};
}

/* NULL for an empty text: what is not known is null, not "". */
static const char *known_text(const struct flat *flat, struct str_id id)
{
	return id.v == STR_EMPTY.v ? NULL : profile_str(flat_expansion(flat)->profile, id);
}

static struct field_value get_name(const struct flat *flat, const struct flat_row *row,
				   struct buf *scratch)
{
	flat_append_name(scratch, flat, row, NAME_FULL);
	return text_value(buf_str(scratch));
}

static struct field_value key_value(const struct flat *flat, const struct flat_row *row,
				    enum dimension dimension, struct buf *scratch)
{
	flat_append_key(scratch, flat, row, dimension, NAME_FULL);
	return text_value(buf_str(scratch));
}

static struct field_value get_function(const struct flat *flat, const struct flat_row *row,
				       struct buf *scratch)
{
	return key_value(flat, row, BY_FUNCTION, scratch);
}

static struct field_value get_thread(const struct flat *flat, const struct flat_row *row,
				     struct buf *scratch)
{
	return key_value(flat, row, BY_THREAD, scratch);
}

static struct field_value get_state(const struct flat *flat, const struct flat_row *row,
				    struct buf *scratch)
{
	return key_value(flat, row, BY_STATE, scratch);
}

static struct field_value get_syscall(const struct flat *flat, const struct flat_row *row,
				      struct buf *scratch)
{
	return key_value(flat, row, BY_SYSCALL, scratch);
}

static struct field_value get_lifetime(const struct flat *flat, const struct flat_row *row,
				       struct buf *scratch)
{
	return key_value(flat, row, BY_LIFETIME, scratch);
}

static struct field_value get_mark(const struct flat *flat, const struct flat_row *row,
				   struct buf *scratch)
{
	return row->phase == 0 ? text_value(NULL) : key_value(flat, row, BY_MARK, scratch);
}

/* The function whose place in the source a row has; of other rows it is that of their line or file.
 */
static const struct function *function_of(const struct flat *flat, const struct flat_row *row)
{
	if (!flat_has_key(flat, BY_FUNCTION) || flat_has_key(flat, BY_LINE) ||
	    flat_has_key(flat, BY_FILE))
		return NULL;
	return label_function(flat_expansion(flat), row->label);
}

static struct field_value get_file(const struct flat *flat, const struct flat_row *row,
				   struct buf *scratch)
{
	const struct function *function = function_of(flat, row);

	(void)scratch;
	return text_value(known_text(flat, function ? function->file : row->file));
}

static struct field_value get_line(const struct flat *flat, const struct flat_row *row,
				   struct buf *scratch)
{
	const struct function *function = function_of(flat, row);
	uint32_t line;

	(void)scratch;
	line = function ? function->line : row->line;
	if (line == 0)
		return (struct field_value){.type = FIELD_ABSENT};
	return integer_value(line);
}

static struct field_value get_module(const struct flat *flat, const struct flat_row *row,
				     struct buf *scratch)
{
	const struct expansion *expansion = flat_expansion(flat);
	const struct module *module = NULL;
	struct module_id id = {row->module};

	(void)scratch;
	if (row->label != FLAT_NONE)
		module = label_module(expansion, row->label);
	else if (row->module != FLAT_NONE)
		module = module_table_get(expansion->profile->modules, id);
	return text_value(module ? module->path : NULL);
}

static struct field_value get_inlined(const struct flat *flat, const struct flat_row *row,
				      struct buf *scratch)
{
	(void)flat;
	(void)scratch;
	return (struct field_value){.type = FIELD_BOOL, .integer = row->inlined};
}

static const struct profile_process *process_of(const struct flat *flat, const struct flat_row *row)
{
	const struct profile *profile = flat_expansion(flat)->profile;

	if (flat_has_key(flat, BY_THREAD))
		return &profile->processes[profile->threads[row->thread].process];
	if (dimension_is_of_waits(flat->dimension))
		return blame_process(flat->blame, row->object);
	return &profile->processes[row->program.nr ? row->program.heaviest : row->process];
}

static struct field_value get_pid(const struct flat *flat, const struct flat_row *row,
				  struct buf *scratch)
{
	const struct profile_process *process = process_of(flat, row);

	(void)scratch;
	if (row->program.nr > 1 || !process)
		return (struct field_value){.type = FIELD_ABSENT};
	return integer_value((uint64_t)process->pid);
}

static struct field_value get_tid(const struct flat *flat, const struct flat_row *row,
				  struct buf *scratch)
{
	(void)scratch;
	return integer_value((uint64_t)flat_expansion(flat)->profile->threads[row->thread].tid);
}

static struct field_value get_process_name(const struct flat *flat, const struct flat_row *row,
					   struct buf *scratch)
{
	(void)scratch;
	return text_value(known_text(flat, process_of(flat, row)->name));
}

static struct field_value get_command(const struct flat *flat, const struct flat_row *row,
				      struct buf *scratch)
{
	(void)scratch;
	if (row->program.nr > 1 && !row->program.one_command)
		return text_value(NULL);
	return text_value(known_text(flat, process_of(flat, row)->command));
}

static struct field_value get_processes(const struct flat *flat, const struct flat_row *row,
					struct buf *scratch)
{
	(void)flat;
	(void)scratch;
	return integer_value(row->program.nr);
}

static struct field_value get_syscall_nr(const struct flat *flat, const struct flat_row *row,
					 struct buf *scratch)
{
	(void)flat;
	(void)scratch;
	if (row->syscall_nr < 0)
		return (struct field_value){.type = FIELD_ABSENT};
	return integer_value((uint64_t)row->syscall_nr);
}

static struct field_value get_from(const struct flat *flat, const struct flat_row *row,
				   struct buf *scratch)
{
	uint64_t ns;

	(void)flat;
	(void)scratch;
	if (!lifetime_from_ns((enum lifetime)row->lifetime, &ns))
		return (struct field_value){.type = FIELD_ABSENT};
	return integer_value(ns);
}

static struct field_value get_to(const struct flat *flat, const struct flat_row *row,
				 struct buf *scratch)
{
	uint64_t ns;

	(void)flat;
	(void)scratch;
	if (!lifetime_to_ns((enum lifetime)row->lifetime, &ns))
		return (struct field_value){.type = FIELD_ABSENT};
	return integer_value(ns);
}

static struct field_value get_begin(const struct flat *flat, const struct flat_row *row,
				    struct buf *scratch)
{
	(void)scratch;
	return integer_value(flat_row_phase(flat, row)->from_ns);
}

static struct field_value get_end(const struct flat *flat, const struct flat_row *row,
				  struct buf *scratch)
{
	uint64_t end_ns = flat_row_phase(flat, row)->to_ns;

	(void)scratch;
	if (end_ns == UINT64_MAX)
		end_ns = flat_expansion(flat)->profile->meta.duration_ns;
	return integer_value(end_ns);
}

static struct field_value get_self(const struct flat *flat, const struct flat_row *row,
				   struct buf *scratch)
{
	(void)flat;
	(void)scratch;
	return integer_value(row->self.weight);
}

static struct field_value get_total(const struct flat *flat, const struct flat_row *row,
				    struct buf *scratch)
{
	(void)flat;
	(void)scratch;
	return integer_value(row->total.weight);
}

static struct field_value get_error(const struct flat *flat, const struct flat_row *row,
				    struct buf *scratch)
{
	(void)scratch;
	return integer_value((uint64_t)tally_error(&row->self, &flat->weights->total));
}

static struct field_value get_total_error(const struct flat *flat, const struct flat_row *row,
					  struct buf *scratch)
{
	(void)scratch;
	return integer_value((uint64_t)tally_error(&row->total, &flat->weights->total));
}

static struct field_value get_self_blocks(const struct flat *flat, const struct flat_row *row,
					  struct buf *scratch)
{
	(void)flat;
	(void)scratch;
	return integer_value(tally_blocks(&row->self));
}

static struct field_value get_total_blocks(const struct flat *flat, const struct flat_row *row,
					   struct buf *scratch)
{
	(void)flat;
	(void)scratch;
	return integer_value(tally_blocks(&row->total));
}

static struct field_value get_self_samples(const struct flat *flat, const struct flat_row *row,
					   struct buf *scratch)
{
	(void)flat;
	(void)scratch;
	return integer_value(row->self.samples);
}

static struct field_value get_total_samples(const struct flat *flat, const struct flat_row *row,
					    struct buf *scratch)
{
	(void)flat;
	(void)scratch;
	return integer_value(row->total.samples);
}

static struct field_value get_self_percent(const struct flat *flat, const struct flat_row *row,
					   struct buf *scratch)
{
	(void)scratch;
	return real_value(tally_percent(&row->self, &flat->weights->total));
}

static struct field_value get_total_percent(const struct flat *flat, const struct flat_row *row,
					    struct buf *scratch)
{
	(void)scratch;
	return real_value(tally_percent(&row->total, &flat->weights->total));
}

static struct field_value get_interval(const struct flat *flat, const struct flat_row *row,
				       struct buf *scratch)
{
	(void)scratch;
	return real_value(tally_interval(&row->self, &flat->weights->total));
}

static struct field_value get_total_interval(const struct flat *flat, const struct flat_row *row,
					     struct buf *scratch)
{
	(void)scratch;
	return real_value(tally_interval(&row->total, &flat->weights->total));
}

static struct field_value get_cpu(const struct flat *flat, const struct flat_row *row,
				  struct buf *scratch)
{
	(void)flat;
	(void)scratch;
	return integer_value(row->times.cpu_ns);
}

static struct field_value get_runq(const struct flat *flat, const struct flat_row *row,
				   struct buf *scratch)
{
	(void)flat;
	(void)scratch;
	return integer_value(row->times.runq_ns);
}

static struct field_value get_blocked(const struct flat *flat, const struct flat_row *row,
				      struct buf *scratch)
{
	(void)flat;
	(void)scratch;
	return integer_value(row->times.blocked_ns);
}

static struct field_value get_user(const struct flat *flat, const struct flat_row *row,
				   struct buf *scratch)
{
	struct cpu_split split;

	(void)scratch;
	if (!flat_row_split(flat, row, &split))
		return (struct field_value){.type = FIELD_ABSENT};
	return integer_value(split.user_ns);
}

static struct field_value get_system(const struct flat *flat, const struct flat_row *row,
				     struct buf *scratch)
{
	struct cpu_split split;

	(void)scratch;
	if (!flat_row_split(flat, row, &split))
		return (struct field_value){.type = FIELD_ABSENT};
	return integer_value(split.system_ns);
}

static struct field_value get_calls(const struct flat *flat, const struct flat_row *row,
				    struct buf *scratch)
{
	(void)flat;
	(void)scratch;
	if (!row->counted)
		return (struct field_value){.type = FIELD_ABSENT};
	return integer_value(row->calls);
}

static struct field_value get_per_call(const struct flat *flat, const struct flat_row *row,
				       struct buf *scratch)
{
	struct per_call per_call;

	(void)scratch;
	if (!flat_row_per_call(flat, row, &per_call))
		return (struct field_value){.type = FIELD_ABSENT};
	return real_value(per_call.ns);
}

static struct field_value get_per_call_interval(const struct flat *flat, const struct flat_row *row,
						struct buf *scratch)
{
	struct per_call per_call;

	(void)scratch;
	if (!flat_row_per_call(flat, row, &per_call))
		return (struct field_value){.type = FIELD_ABSENT};
	return real_value(per_call.ci_ns);
}

static struct field_value get_wait_function(const struct flat *flat, const struct flat_row *row,
					    struct buf *scratch)
{
	if (row->wait_function == FLAT_NONE)
		return text_value(NULL);
	label_append_name(scratch, flat_expansion(flat), row->wait_function, NAME_FULL);
	return text_value(buf_str(scratch));
}

static struct field_value get_wait_functions(const struct flat *flat, const struct flat_row *row,
					     struct buf *scratch)
{
	(void)flat;
	(void)scratch;
	return integer_value(row->nr_other_waits + (row->wait_function != FLAT_NONE));
}

/* What is not known is null, not "". */
static struct field_value scratch_value(struct buf *scratch)
{
	return text_value(scratch->nr_bytes ? buf_str(scratch) : NULL);
}

static struct field_value get_kind(const struct flat *flat, const struct flat_row *row,
				   struct buf *scratch)
{
	append_lock_kind(scratch, flat->blame, row->object);
	return scratch_value(scratch);
}

/* The address, as text: it is no number to reckon with. */
static struct field_value get_address(const struct flat *flat, const struct flat_row *row,
				      struct buf *scratch)
{
	uint64_t address;

	if (blame_number(flat->blame, row->object, &address))
		buf_printf(scratch, "0x%llx", (unsigned long long)address);
	return scratch_value(scratch);
}

static struct field_value get_fd(const struct flat *flat, const struct flat_row *row,
				 struct buf *scratch)
{
	uint64_t fd;

	(void)scratch;
	if (!blame_number(flat->blame, row->object, &fd))
		return (struct field_value){.type = FIELD_ABSENT};
	return integer_value(fd);
}

static struct field_value get_object(const struct flat *flat, const struct flat_row *row,
				     struct buf *scratch)
{
	(void)scratch;
	return text_value(blame_descriptor(flat->blame, row->object));
}

static struct field_value get_nr_threads(const struct flat *flat, const struct flat_row *row,
					 struct buf *scratch)
{
	(void)scratch;
	return integer_value(blame_nr_threads(flat->blame, row->object));
}

static struct field_value get_waiting_in(const struct flat *flat, const struct flat_row *row,
					 struct buf *scratch)
{
	append_waiting_in(scratch, flat->blame, row->object, NAME_FULL);
	return scratch_value(scratch);
}

static struct field_value get_owner_tid(const struct flat *flat, const struct flat_row *row,
					struct buf *scratch)
{
	struct blame_owner owner;

	(void)scratch;
	if (!blame_owner(flat->blame, row->object, 0, &owner))
		return (struct field_value){.type = FIELD_ABSENT};
	return integer_value((uint64_t)flat_expansion(flat)->profile->threads[owner.thread].tid);
}

static struct field_value get_owner_in(const struct flat *flat, const struct flat_row *row,
				       struct buf *scratch)
{
	append_owner_in(scratch, flat->blame, row->object, NAME_FULL);
	return scratch_value(scratch);
}

static const struct flat_field fields[] = {
	{"function", FUNCTIONS, IN_ANY, get_function},
	{"file", FUNCTIONS | BIT(BY_FILE) | BIT(BY_SOURCE_LINE), IN_ANY, get_file},
	{"line", FUNCTIONS | BIT(BY_SOURCE_LINE), IN_ANY, get_line},
	{"module", FUNCTIONS | BIT(BY_FILE) | BIT(BY_MODULE), IN_ANY, get_module},
	{"inlined", FUNCTIONS, IN_ANY, get_inlined},
	{"pid", BIT(BY_THREAD) | BIT(BY_PID) | WAITS, IN_ANY, get_pid},
	{"pid", BIT(BY_PROCESS) | OF_ONE_KEY, IN_ANY, get_pid},
	{"tid", BIT(BY_THREAD), IN_ANY, get_tid},
	{"name", (ALL & ~FUNCTIONS & ~BIT(BY_SOURCE_LINE)) | OF_ONE_KEY, IN_ANY, get_name},
	{"thread", BIT(BY_THREAD) | OF_TWO_KEYS, IN_ANY, get_thread},
	{"process", BIT(BY_THREAD) | OF_ONE_KEY, IN_ANY, get_process_name},
	{"process", BIT(BY_THREAD) | BIT(BY_PROCESS) | BIT(BY_PID) | OF_TWO_KEYS, IN_ANY,
	 get_process_name},
	{"processes", BIT(BY_PROCESS) | OF_ONE_KEY, IN_ANY, get_processes},
	{"command", BIT(BY_PROCESS) | BIT(BY_PID) | OF_ONE_KEY, IN_ANY, get_command},
	{"state", BIT(BY_STATE) | OF_TWO_KEYS, IN_ANY, get_state},
	{"syscall", BIT(BY_SYSCALL) | OF_TWO_KEYS, IN_ANY, get_syscall},
	{"syscall_nr", BIT(BY_SYSCALL), IN_ANY, get_syscall_nr},
	{"lifetime", BIT(BY_LIFETIME) | OF_TWO_KEYS, IN_ANY, get_lifetime},
	{"kind", BIT(BY_LOCK), IN_ANY, get_kind},
	{"address", BIT(BY_LOCK), IN_ANY, get_address},
	{"fd", BIT(BY_FD), IN_ANY, get_fd},
	{"object", BIT(BY_FD), IN_ANY, get_object},
	{"threads", WAITS, IN_ANY, get_nr_threads},
	{"waiting_in", WAITS, IN_ANY, get_waiting_in},
	{"owner_tid", BIT(BY_LOCK), IN_ANY, get_owner_tid},
	{"owner_in", BIT(BY_LOCK), IN_ANY, get_owner_in},
	{"from_ns", BIT(BY_LIFETIME), IN_ANY, get_from},
	{"to_ns", BIT(BY_LIFETIME), IN_ANY, get_to},
	{"mark", BIT(BY_MARK), IN_ANY, get_mark},
	{"begin_ns", BIT(BY_MARK), IN_ANY, get_begin},
	{"end_ns", BIT(BY_MARK), IN_ANY, get_end},
	{"self_ns", ALL, IN_NS, get_self},
	{"total_ns", ALL, IN_NS, get_total},
	{"self_bytes", ALL, IN_BYTES, get_self},
	{"total_bytes", ALL, IN_BYTES, get_total},
	{"ci_bytes", ALL, IN_BYTES, get_error},
	{"total_ci_bytes", ALL, IN_BYTES, get_total_error},
	{"self_blocks", ALL, IN_MEMORY, get_self_blocks},
	{"total_blocks", ALL, IN_MEMORY, get_total_blocks},
	{"self_samples", ALL, IN_ANY, get_self_samples},
	{"total_samples", ALL, IN_ANY, get_total_samples},
	{"self_pct", ALL, IN_ANY, get_self_percent},
	{"total_pct", ALL, IN_ANY, get_total_percent},
	{"ci_pct", ALL, IN_ANY, get_interval},
	{"total_ci_pct", ALL, IN_ANY, get_total_interval},
	{"cpu_ns", BIT(BY_SYSCALL) | BIT(BY_MARK) | OF_ONE_KEY, IN_NS, get_cpu},
	{"runq_ns", BIT(BY_MARK) | OF_ONE_KEY, IN_NS, get_runq},
	{"blocked_ns", BIT(BY_MARK) | OF_ONE_KEY, IN_NS, get_blocked},
	{"user_ns", BIT(BY_THREAD) | BIT(BY_PROCESS) | BIT(BY_PID) | OF_ONE_KEY, IN_NS, get_user},
	{"system_ns", BIT(BY_THREAD) | BIT(BY_PROCESS) | BIT(BY_PID) | OF_ONE_KEY, IN_NS,
	 get_system},
	{"calls", ALL, IN_ANY, get_calls},
	{"per_call_ns", ALL, IN_NS, get_per_call},
	{"per_call_ci_ns", ALL, IN_NS, get_per_call_interval},
	{"wait_function", FUNCTIONS | BIT(BY_SYSCALL), IN_BLOCKED, get_wait_function},
	{"wait_functions", FUNCTIONS | BIT(BY_SYSCALL), IN_BLOCKED, get_wait_functions},
};

static bool is_measured(enum field_measure measure, enum metric metric)
{
	switch (measure) {
	case IN_ANY:
		break;
	case IN_NS:
		return metric_is_time(metric);
	case IN_BYTES:
		return metric_is_bytes(metric);
	case IN_MEMORY:
		return metric_is_memory(metric);
	case IN_BLOCKED:
		return metric == METRIC_BLOCKED;
	}
	return true;
}

static bool has_field(const struct flat *flat, const struct flat_field *field)
{
	unsigned int keys = field->dimensions & (OF_ONE_KEY | OF_TWO_KEYS);

	if (keys && !(keys & (flat_has_two_keys(flat) ? OF_TWO_KEYS : OF_ONE_KEY)))
		return false;
	return (field->dimensions & (BIT(flat->dimension) | BIT(flat->second))) &&
	       is_measured(field->measure, flat->weights->metric);
}

static void json_value(struct json *json, const struct field_value *value)
{
	switch (value->type) {
	case FIELD_TEXT:
		json_str(json, value->text);
		break;
	case FIELD_INTEGER:
		json_i64(json, value->integer);
		break;
	case FIELD_ABSENT:
		json_null(json);
		break;
	case FIELD_REAL:
		json_double(json, value->real, 4);
		break;
	case FIELD_BOOL:
		json_bool(json, value->integer != 0);
		break;
	}
}

/* Of the recording as a whole, where it is known. */
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
	if (metric_info(metric)->kind != METRIC_OF_COUNT)
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
		struct field_value value;

		if (!has_field(flat, &fields[i]))
			continue;
		buf_clear(scratch);
		value = fields[i].get(flat, row, scratch);
		json_key(json, fields[i].name);
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

/* RFC 4180: quoted where it holds a quote or a comma. Line breaks are escaped: it may be a terminal
 * that reads. */
static void csv_text(struct buf *out, const char *text)
{
	struct buf plain = {0};
	bool quoted;

	if (!text)
		return;
	escape_terminal(&plain, text);
	text = buf_str(&plain);
	quoted = text[strcspn(text, "\",")] != '\0';
	buf_append_str(out, quoted ? "\"" : "");
	for (; *text; text++)
		buf_append_str(out, *text == '"' ? "\"\"" : (const char[]){*text, '\0'});
	buf_append_str(out, quoted ? "\"" : "");
	buf_release(&plain);
}

static void csv_value(struct buf *out, const struct field_value *value)
{
	switch (value->type) {
	case FIELD_TEXT:
		csv_text(out, value->text);
		break;
	case FIELD_INTEGER:
		buf_printf(out, "%lld", (long long)value->integer);
		break;
	case FIELD_ABSENT:
		break;
	case FIELD_REAL:
		buf_printf(out, "%.4f", value->real);
		break;
	case FIELD_BOOL:
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
		struct field_value value = text_value(fields[i].name);

		if (!has_field(flat, &fields[i]))
			continue;
		if (line.nr_bytes > 0)
			buf_append_byte(&line, ',');
		buf_clear(scratch);
		if (row)
			value = fields[i].get(flat, row, scratch);
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
