// SPDX-License-Identifier: GPL-2.0-or-later
/* Typed values of the rows of flat tables. */
#include "view/flat_values.h"

#include "base/buf.h"
#include "base/minmax.h"
#include "calltree/blame.h"
#include "calltree/filter.h"
#include "calltree/flat.h"
#include "calltree/lifetime.h"
#include "calltree/per_call.h"
#include "calltree/phases.h"
#include "calltree/weights.h"
#include "view/blame_text.h"
#include "view/cut.h"

/* A row, and how its texts are written. */
struct row_value {
	const struct flat *flat;
	const struct flat_row *row;
	enum name_style style;
	struct buf *scratch;
};

static struct value text_value(const char *text)
{
	return (struct value){.type = VALUE_TEXT, .text = text};
}

static struct value integer_value(uint64_t value)
{
	return (struct value){.type = VALUE_INTEGER, .integer = (int64_t)value};
}

static struct value real_value(double value)
{
	return (struct value){.type = VALUE_REAL, .real = value};
}

/* NULL for an empty text: what is not known is null, not "". */
static const char *known_text(const struct flat *flat, struct str_id id)
{
	return id.v == STR_EMPTY.v ? NULL : profile_str(flat_expansion(flat)->profile, id);
}

static struct value get_name(const struct row_value *of)
{
	flat_append_name(of->scratch, of->flat, of->row, of->style);
	return text_value(buf_str(of->scratch));
}

static struct value key_value(const struct row_value *of, enum dimension dimension)
{
	flat_append_key(of->scratch, of->flat, of->row, dimension, of->style);
	return text_value(buf_str(of->scratch));
}

static struct value get_function(const struct row_value *of)
{
	return key_value(of, BY_FUNCTION);
}

static struct value get_thread(const struct row_value *of)
{
	return key_value(of, BY_THREAD);
}

static struct value get_first_key(const struct row_value *of)
{
	return key_value(of, of->flat->dimension);
}

static struct value get_second_key(const struct row_value *of)
{
	return key_value(of, of->flat->second);
}

static struct value get_mark(const struct row_value *of)
{
	return flat_row_phase(of->flat, of->row)->is_first ? text_value(NULL)
							   : key_value(of, BY_MARK);
}

/* The function whose place in the source a row has; of other rows it is that of their line or file.
 */
static const struct function *function_of(const struct flat *flat, const struct flat_row *row)
{
	if (!flat_is_of_functions(flat) || flat_has_key(flat, BY_FILE))
		return NULL;
	return label_function(flat_expansion(flat), row->label);
}

static struct value get_file(const struct row_value *of)
{
	const struct function *function = function_of(of->flat, of->row);

	return text_value(known_text(of->flat, function ? function->file : of->row->file));
}

static struct value get_line(const struct row_value *of)
{
	const struct function *function = function_of(of->flat, of->row);
	uint32_t line;

	line = function ? function->line : of->row->line;
	if (line == 0)
		return (struct value){.type = VALUE_ABSENT};
	return integer_value(line);
}

static struct value get_module(const struct row_value *of)
{
	const struct expansion *expansion = flat_expansion(of->flat);
	const struct module *module = NULL;
	struct module_id id = {of->row->module};

	if (of->row->label != FLAT_NONE)
		module = label_module(expansion, of->row->label);
	else if (of->row->module != FLAT_NONE)
		module = module_table_get(expansion->profile->modules, id);
	return text_value(module ? module->path : NULL);
}

static struct value get_inlined(const struct row_value *of)
{
	return (struct value){.type = VALUE_BOOL, .integer = of->row->inlined};
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

static struct value get_pid(const struct row_value *of)
{
	const struct profile_process *process = process_of(of->flat, of->row);

	if (of->row->program.nr > 1 || !process)
		return (struct value){.type = VALUE_ABSENT};
	return integer_value((uint64_t)process->pid);
}

static struct value get_tid(const struct row_value *of)
{
	return integer_value(
		(uint64_t)flat_expansion(of->flat)->profile->threads[of->row->thread].tid);
}

static struct value get_process_name(const struct row_value *of)
{
	return text_value(known_text(of->flat, process_of(of->flat, of->row)->name));
}

static struct value get_command(const struct row_value *of)
{
	if (of->row->program.nr > 1 && !of->row->program.one_command)
		return text_value(NULL);
	return text_value(known_text(of->flat, process_of(of->flat, of->row)->command));
}

static struct value get_processes(const struct row_value *of)
{
	return integer_value(of->row->program.nr);
}

static struct value get_syscall_nr(const struct row_value *of)
{
	int32_t nr = (int32_t)flat_row_fact(of->flat, of->row, BY_SYSCALL);

	if (nr < 0)
		return (struct value){.type = VALUE_ABSENT};
	return integer_value((uint64_t)nr);
}

static enum lifetime lifetime_of_row(const struct row_value *of)
{
	return (enum lifetime)flat_row_fact(of->flat, of->row, BY_LIFETIME);
}

static struct value get_from(const struct row_value *of)
{
	uint64_t ns;

	if (!lifetime_from_ns(lifetime_of_row(of), &ns))
		return (struct value){.type = VALUE_ABSENT};
	return integer_value(ns);
}

static struct value get_to(const struct row_value *of)
{
	uint64_t ns;

	if (!lifetime_to_ns(lifetime_of_row(of), &ns))
		return (struct value){.type = VALUE_ABSENT};
	return integer_value(ns);
}

static struct value get_begin(const struct row_value *of)
{
	return integer_value(flat_row_phase(of->flat, of->row)->from_ns);
}

static struct value get_end(const struct row_value *of)
{
	return integer_value(flat_row_phase(of->flat, of->row)->end_ns);
}

static struct value get_self(const struct row_value *of)
{
	return integer_value(of->row->self.weight);
}

static struct value get_total(const struct row_value *of)
{
	return integer_value(of->row->total.weight);
}

static struct value get_error(const struct row_value *of)
{
	return integer_value((uint64_t)tally_error(&of->row->self, &of->flat->weights->total));
}

static struct value get_total_error(const struct row_value *of)
{
	return integer_value((uint64_t)tally_error(&of->row->total, &of->flat->weights->total));
}

static struct value get_self_blocks(const struct row_value *of)
{
	return integer_value(tally_blocks(&of->row->self));
}

static struct value get_total_blocks(const struct row_value *of)
{
	return integer_value(tally_blocks(&of->row->total));
}

static struct value get_self_samples(const struct row_value *of)
{
	return integer_value(of->row->self.samples);
}

static struct value get_total_samples(const struct row_value *of)
{
	return integer_value(of->row->total.samples);
}

static struct value get_self_percent(const struct row_value *of)
{
	return real_value(tally_percent(&of->row->self, &of->flat->weights->total));
}

static struct value get_total_percent(const struct row_value *of)
{
	return real_value(tally_percent(&of->row->total, &of->flat->weights->total));
}

static struct value get_interval(const struct row_value *of)
{
	return real_value(tally_interval(&of->row->self, &of->flat->weights->total));
}

static struct value get_total_interval(const struct row_value *of)
{
	return real_value(tally_interval(&of->row->total, &of->flat->weights->total));
}

static struct value get_cpu(const struct row_value *of)
{
	return integer_value(of->row->times.cpu_ns);
}

static struct value get_runq(const struct row_value *of)
{
	return integer_value(of->row->times.runq_ns);
}

static struct value get_blocked(const struct row_value *of)
{
	return integer_value(of->row->times.blocked_ns);
}

static struct value get_user(const struct row_value *of)
{
	struct cpu_split split;

	if (!flat_row_split(of->flat, of->row, &split))
		return (struct value){.type = VALUE_ABSENT};
	return integer_value(split.user_ns);
}

static struct value get_system(const struct row_value *of)
{
	struct cpu_split split;

	if (!flat_row_split(of->flat, of->row, &split))
		return (struct value){.type = VALUE_ABSENT};
	return integer_value(split.system_ns);
}

static struct value get_system_error(const struct row_value *of)
{
	if (!flat_has_modes(of->flat))
		return (struct value){.type = VALUE_ABSENT};
	return integer_value((uint64_t)tally_system_error(&of->row->self));
}

static struct value get_calls(const struct row_value *of)
{
	if (!of->row->counted)
		return (struct value){.type = VALUE_ABSENT};
	return integer_value(of->row->calls);
}

static struct value get_per_call(const struct row_value *of)
{
	struct per_call per_call;

	if (!flat_row_per_call(of->flat, of->row, &per_call))
		return (struct value){.type = VALUE_ABSENT};
	return real_value(per_call.ns);
}

static struct value get_per_call_interval(const struct row_value *of)
{
	struct per_call per_call;

	if (!flat_row_per_call(of->flat, of->row, &per_call))
		return (struct value){.type = VALUE_ABSENT};
	return real_value(per_call.ci_ns);
}

static struct value get_wall_per_call(const struct row_value *of)
{
	struct per_call per_call;

	if (!flat_row_wall_per_call(of->flat, of->row, &per_call))
		return (struct value){.type = VALUE_ABSENT};
	return real_value(per_call.ns);
}

static struct value get_wall_per_call_interval(const struct row_value *of)
{
	struct per_call per_call;

	if (!flat_row_wall_per_call(of->flat, of->row, &per_call))
		return (struct value){.type = VALUE_ABSENT};
	return real_value(per_call.ci_ns);
}

/* The metric of the time per call that tables show. */
static struct value get_per_call_of(const struct row_value *of)
{
	struct per_call per_call;

	if (flat_row_wall_per_call(of->flat, of->row, &per_call))
		return text_value(metric_name(METRIC_WALL));
	if (flat_row_per_call(of->flat, of->row, &per_call))
		return text_value(metric_name(of->flat->weights->metric));
	return text_value(NULL);
}

static struct value get_call_rate(const struct row_value *of)
{
	uint64_t duration_ns = flat_expansion(of->flat)->profile->meta.duration_ns;

	if (!of->row->counted || !duration_ns)
		return (struct value){.type = VALUE_ABSENT};
	return integer_value((uint64_t)((double)of->row->calls * 1e9 / (double)duration_ns + 0.5));
}

static struct value get_per_cycle(const struct row_value *of)
{
	double instructions;

	if (!flat_row_per_cycle(of->flat, of->row, &instructions))
		return (struct value){.type = VALUE_ABSENT};
	return real_value(instructions);
}

static struct value get_wait_function(const struct row_value *of)
{
	if (of->row->wait_function == FLAT_NONE)
		return text_value(NULL);
	label_append_name(of->scratch, flat_expansion(of->flat), of->row->wait_function, of->style);
	return text_value(buf_str(of->scratch));
}

static struct value get_wait_functions(const struct row_value *of)
{
	return integer_value(of->row->nr_other_waits + (of->row->wait_function != FLAT_NONE));
}

/* A text that is not known is null, not "". */
static struct value scratch_value(struct buf *scratch)
{
	return text_value(scratch->nr_bytes ? buf_str(scratch) : NULL);
}

static struct value get_kind(const struct row_value *of)
{
	append_lock_kind(of->scratch, of->flat->blame, of->row->object);
	return scratch_value(of->scratch);
}

/* The address, as text: it is no number to reckon with. */
static struct value get_address(const struct row_value *of)
{
	uint64_t address;

	if (blame_number(of->flat->blame, of->row->object, &address))
		buf_printf(of->scratch, "0x%llx", (unsigned long long)address);
	return scratch_value(of->scratch);
}

static struct value get_fd(const struct row_value *of)
{
	uint64_t fd;

	if (!blame_number(of->flat->blame, of->row->object, &fd))
		return (struct value){.type = VALUE_ABSENT};
	return integer_value(fd);
}

static struct value get_object(const struct row_value *of)
{
	return text_value(blame_descriptor(of->flat->blame, of->row->object));
}

static struct value get_nr_threads(const struct row_value *of)
{
	return integer_value(blame_nr_threads(of->flat->blame, of->row->object));
}

static struct value get_waiting_in(const struct row_value *of)
{
	append_waiting_in(of->scratch, of->flat->blame, of->row->object, of->style);
	return scratch_value(of->scratch);
}

static struct value get_start(const struct row_value *of)
{
	flat_append_start(of->scratch, of->flat, of->row, of->style, false);
	return scratch_value(of->scratch);
}

static struct value get_owner_tid(const struct row_value *of)
{
	struct blame_owner owner;

	if (!blame_owner(of->flat->blame, of->row->object, 0, &owner))
		return (struct value){.type = VALUE_ABSENT};
	return integer_value(
		(uint64_t)flat_expansion(of->flat)->profile->threads[owner.thread].tid);
}

static struct value get_owner_in(const struct row_value *of)
{
	append_owner_in(of->scratch, of->flat->blame, of->row->object, of->style);
	return scratch_value(of->scratch);
}

static struct value get_owner_leaf(const struct row_value *of)
{
	append_owner_leaf(of->scratch, of->flat->blame, of->row->object, of->style);
	return scratch_value(of->scratch);
}

static struct value get_held_in(const struct row_value *of)
{
	append_held_in(of->scratch, of->flat->blame, of->row->object, of->style);
	return scratch_value(of->scratch);
}

static struct value get_length(const struct row_value *of)
{
	const struct phase *phase = flat_row_phase(of->flat, of->row);

	return integer_value(phase->end_ns > phase->from_ns ? phase->end_ns - phase->from_ns : 0);
}

static struct value get_location(const struct row_value *of)
{
	flat_append_location(of->scratch, of->flat, of->row);
	return text_value(cut_directories(buf_str(of->scratch)));
}

static struct value get_short_module(const struct row_value *of)
{
	const struct expansion *expansion = flat_expansion(of->flat);
	const struct module *module = label_module(expansion, of->row->label);

	if (!module || label_is_nameless(expansion, of->row->label))
		return text_value(NULL);
	return text_value(module_short_name(module));
}

static struct value get_wait(const struct row_value *of)
{
	flat_append_wait(of->scratch, of->flat, of->row, of->style);
	return scratch_value(of->scratch);
}

static struct value get_owners(const struct row_value *of)
{
	append_owners(of->scratch, of->flat->blame, of->row->object);
	return scratch_value(of->scratch);
}

typedef struct value (*get_value)(const struct row_value *of);

static const get_value values[FLAT_VALUE_COUNT] = {
	[FLAT_NAME] = get_name,
	[FLAT_FUNCTION] = get_function,
	[FLAT_THREAD] = get_thread,
	[FLAT_FIRST_KEY] = get_first_key,
	[FLAT_SECOND_KEY] = get_second_key,
	[FLAT_MARK] = get_mark,
	[FLAT_FILE] = get_file,
	[FLAT_LINE] = get_line,
	[FLAT_MODULE] = get_module,
	[FLAT_INLINED] = get_inlined,
	[FLAT_PID] = get_pid,
	[FLAT_TID] = get_tid,
	[FLAT_PROCESS_NAME] = get_process_name,
	[FLAT_COMMAND] = get_command,
	[FLAT_PROCESSES] = get_processes,
	[FLAT_SYSCALL_NR] = get_syscall_nr,
	[FLAT_FROM] = get_from,
	[FLAT_TO] = get_to,
	[FLAT_BEGIN] = get_begin,
	[FLAT_END] = get_end,
	[FLAT_SELF] = get_self,
	[FLAT_TOTAL] = get_total,
	[FLAT_ERROR] = get_error,
	[FLAT_TOTAL_ERROR] = get_total_error,
	[FLAT_SELF_BLOCKS] = get_self_blocks,
	[FLAT_TOTAL_BLOCKS] = get_total_blocks,
	[FLAT_SELF_SAMPLES] = get_self_samples,
	[FLAT_TOTAL_SAMPLES] = get_total_samples,
	[FLAT_SELF_PERCENT] = get_self_percent,
	[FLAT_TOTAL_PERCENT] = get_total_percent,
	[FLAT_INTERVAL] = get_interval,
	[FLAT_TOTAL_INTERVAL] = get_total_interval,
	[FLAT_CPU] = get_cpu,
	[FLAT_RUNQ] = get_runq,
	[FLAT_BLOCKED] = get_blocked,
	[FLAT_USER] = get_user,
	[FLAT_SYSTEM] = get_system,
	[FLAT_SYSTEM_ERROR] = get_system_error,
	[FLAT_CALLS] = get_calls,
	[FLAT_CALL_RATE] = get_call_rate,
	[FLAT_PER_CALL] = get_per_call,
	[FLAT_PER_CALL_OF] = get_per_call_of,
	[FLAT_WALL_PER_CALL] = get_wall_per_call,
	[FLAT_WALL_PER_CALL_INTERVAL] = get_wall_per_call_interval,
	[FLAT_PER_CALL_INTERVAL] = get_per_call_interval,
	[FLAT_PER_CYCLE] = get_per_cycle,
	[FLAT_WAIT_FUNCTION] = get_wait_function,
	[FLAT_WAIT_FUNCTIONS] = get_wait_functions,
	[FLAT_KIND] = get_kind,
	[FLAT_ADDRESS] = get_address,
	[FLAT_FD] = get_fd,
	[FLAT_OBJECT] = get_object,
	[FLAT_NR_THREADS] = get_nr_threads,
	[FLAT_WAITING_IN] = get_waiting_in,
	[FLAT_START] = get_start,
	[FLAT_OWNER_TID] = get_owner_tid,
	[FLAT_OWNER_IN] = get_owner_in,
	[FLAT_OWNER_LEAF] = get_owner_leaf,
	[FLAT_HELD_IN] = get_held_in,
	[FLAT_LENGTH] = get_length,
	[FLAT_LOCATION] = get_location,
	[FLAT_SHORT_MODULE] = get_short_module,
	[FLAT_WAIT] = get_wait,
	[FLAT_OWNERS] = get_owners,
};

struct value flat_value(const struct flat *flat, const struct flat_row *row, enum flat_value value,
			enum name_style style, struct buf *scratch)
{
	const struct row_value of = {flat, row, style, scratch};

	return values[value](&of);
}
