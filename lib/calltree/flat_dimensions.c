// SPDX-License-Identifier: GPL-2.0-or-later
/* The dimensions of flat tables. */
#include "calltree/dimension.h"

#include "base/buf.h"
#include "base/syscall_name.h"
#include "calltree/blame.h"
#include "calltree/flat_division_priv.h"
#include "calltree/lifetime.h"
#include "calltree/phases.h"
#include "calltree/weights.h"

#define BIT DIMENSION_BIT

/* clang-format off */
#define LIVE_NAMES                                                                                 \
	[BY_FUNCTION] = "function", [BY_LINE] = "line", [BY_SCRIPT] = "script",                    \
	[BY_FILE] = "file",                        \
	[BY_MODULE] = "module", [BY_THREAD] = "thread", [BY_PROCESS] = "process",                  \
	[BY_PID] = "pid", [BY_STATE] = "state", [BY_SYSCALL] = "syscall",                          \
	[BY_LOCK] = "lock", [BY_FD] = "fd", [BY_LIFETIME] = "lifetime"
/* clang-format on */

const char *const dimension_names[] = {
	LIVE_NAMES, [BY_MARK] = "mark", [BY_PARALLELISM] = "parallelism", [BY_LABEL] = "label",
	NULL};
const char *const dimension_names_live[] = {LIVE_NAMES, NULL};

/* Levels of code. */

static const struct place *place_of(const struct expansion *expansion, const struct level *level)
{
	return &expansion->places[level->place];
}

static bool of_function(const struct expansion *expansion, const struct level *level,
			struct flat_row *key)
{
	(void)expansion;
	key->label = level->label;
	return true;
}

static bool of_source_line(const struct expansion *expansion, const struct level *level,
			   struct flat_row *key)
{
	key->file = place_of(expansion, level)->file;
	key->line = place_of(expansion, level)->line;
	return key->line != 0;
}

static bool of_line(const struct expansion *expansion, const struct level *level,
		    struct flat_row *key)
{
	of_source_line(expansion, level, key);
	return of_function(expansion, level, key);
}

static bool of_script(const struct expansion *expansion, const struct level *level,
		      struct flat_row *key)
{
	return label_is_script(expansion, level->label) && of_function(expansion, level, key);
}

static bool of_module(const struct expansion *expansion, const struct level *level,
		      struct flat_row *key)
{
	key->module = expansion->labels[level->label].module.v;
	return true;
}

static bool of_file(const struct expansion *expansion, const struct level *level,
		    struct flat_row *key)
{
	if (place_of(expansion, level)->file.v == STR_EMPTY.v)
		return of_module(expansion, level, key);
	key->file = place_of(expansion, level)->file;
	return true;
}

/* A level is inlined into the one before it in its chain. */
static bool of_inline_site(const struct expansion *expansion, const struct level *level,
			   struct flat_row *key)
{
	return level->inlined && of_source_line(expansion, level - 1, key) &&
	       of_function(expansion, level, key);
}

/* Facts of observations. */

static void of_thread(struct flat_division *division, const struct observation *observation,
		      struct flat_row *key, uint32_t *fact)
{
	(void)division;
	(void)fact;
	key->thread = observation->sample.thread.v;
}

static void of_process(struct flat_division *division, const struct observation *observation,
		       struct flat_row *key, uint32_t *fact)
{
	const struct profile *profile = division->expansion->profile;

	(void)fact;
	key->process = profile->threads[observation->sample.thread.v].process;
}

static void of_program(struct flat_division *division, const struct observation *observation,
		       struct flat_row *key, uint32_t *fact)
{
	of_process(division, observation, key, fact);
	key->process = division->programs[key->process];
}

static void of_object(struct flat_division *division, const struct observation *observation,
		      struct flat_row *key, uint32_t *fact)
{
	(void)fact;
	key->object = blame_add(division->flat->blame, observation);
}

static void of_syscall(struct flat_division *division, const struct observation *observation,
		       struct flat_row *key, uint32_t *fact)
{
	const struct profile *profile = division->expansion->profile;
	const struct sample *sample = &observation->sample;

	(void)key;
	if (sample->kind == SAMPLE_UNATTRIBUTED)
		*fact = (uint32_t)FLAT_SYSCALL_UNATTRIBUTED;
	else if (sample->syscall_nr >= 0 || sample->syscall_nr == SAMPLE_PAGE_FAULT)
		*fact = (uint32_t)sample->syscall_nr;
	else if (sample->kind == SAMPLE_RUNNING && !profile->meta.knows_calls)
		*fact = (uint32_t)FLAT_SYSCALL_NOT_KNOWN;
}

static void of_lifetime(struct flat_division *division, const struct observation *observation,
			struct flat_row *key, uint32_t *fact)
{
	struct heap_life life =
		heap_life_of(observation_walk_lives(&division->walk), observation->row);

	(void)key;
	*fact = lifetime_of(&life);
}

static void of_parallelism(struct flat_division *division, const struct observation *observation,
			   struct flat_row *key, uint32_t *fact)
{
	(void)division;
	(void)key;
	*fact = observation->parallelism;
}

/* One more than the number of a text; or one of these. */
#define VALUE_NONE    0
#define VALUE_UNKNOWN (UINT32_MAX - 1)

static void of_label(struct flat_division *division, const struct observation *observation,
		     struct flat_row *key, uint32_t *fact)
{
	const struct sample *sample = &observation->sample;

	(void)key;
	*fact = sample->kind == SAMPLE_UNATTRIBUTED ? VALUE_UNKNOWN
						    : division->flat->label.values[sample->labels];
}

/* Names. */

static void append_function(struct buf *out, const struct flat *flat, const struct flat_row *row,
			    enum name_style style)
{
	if (row->label != FLAT_NONE)
		label_append_name(out, flat_expansion(flat), row->label, style);
}

/* Beside its own members a row may have those of another key. */
static void append_module(struct buf *out, const struct flat *flat, const struct flat_row *row,
			  enum name_style style)
{
	const struct module_table *modules = flat_expansion(flat)->profile->modules;

	if (row->module == FLAT_NONE)
		append_function(out, flat, row, style);
	else
		buf_append_str(out,
			       module_table_get(modules, (struct module_id){row->module})->path);
}

static void append_file(struct buf *out, const struct flat *flat, const struct flat_row *row,
			enum name_style style)
{
	if (row->file.v == STR_EMPTY.v)
		append_module(out, flat, row, style);
	else
		flat_append_file_line(out, flat_expansion(flat)->profile, row->file, 0);
}

static void append_source_line(struct buf *out, const struct flat *flat, const struct flat_row *row,
			       enum name_style style)
{
	if (row->file.v == STR_EMPTY.v)
		append_module(out, flat, row, style);
	else
		flat_append_file_line(out, flat_expansion(flat)->profile, row->file, row->line);
}

static void append_thread(struct buf *out, const struct flat *flat, const struct flat_row *row,
			  enum name_style style)
{
	const struct profile *profile = flat_expansion(flat)->profile;

	(void)style;
	buf_append_str(out, profile_str(profile, profile->threads[row->thread].name));
}

static void append_process(struct buf *out, const struct flat *flat, const struct flat_row *row,
			   enum name_style style)
{
	const struct profile *profile = flat_expansion(flat)->profile;

	(void)style;
	buf_append_str(out, profile_str(profile, profile->processes[row->process].name));
}

static void append_state(struct buf *out, const struct flat *flat, const struct flat_row *row,
			 enum name_style style)
{
	(void)style;
	buf_append_str(out, flat_state_name((enum flat_state)flat_row_fact(flat, row, BY_STATE)));
}

static void append_syscall(struct buf *out, const struct flat *flat, const struct flat_row *row,
			   enum name_style style)
{
	const struct profile *profile = flat_expansion(flat)->profile;
	int32_t nr = (int32_t)flat_row_fact(flat, row, BY_SYSCALL);
	const char *name = syscall_name(profile_str(profile, profile->meta.arch), nr);

	(void)style;
	if (nr == FLAT_SYSCALL_UNATTRIBUTED)
		buf_append_str(out, flat_state_name(STATE_UNATTRIBUTED));
	else if (nr == FLAT_SYSCALL_NOT_KNOWN)
		buf_append_str(out, "[running, system call unknown]");
	else if (nr == SAMPLE_PAGE_FAULT)
		buf_append_str(out, "[page fault]");
	else if (nr < 0)
		buf_append_str(out, "[no system call]");
	else if (name)
		buf_append_str(out, name);
	else
		buf_printf(out, "system call %d", nr);
}

static void append_object(struct buf *out, const struct flat *flat, const struct flat_row *row,
			  enum name_style style)
{
	(void)style;
	blame_append_name(out, flat->blame, row->object);
}

static void append_lifetime(struct buf *out, const struct flat *flat, const struct flat_row *row,
			    enum name_style style)
{
	(void)style;
	buf_append_str(out, lifetime_name((enum lifetime)flat_row_fact(flat, row, BY_LIFETIME)));
}

static void append_phase(struct buf *out, const struct flat *flat, const struct flat_row *row,
			 enum name_style style)
{
	const struct phase *phase = flat_row_phase(flat, row);

	(void)style;
	if (phase->is_first)
		buf_append_str(out, "[before the first mark]");
	else
		buf_append_str(out, profile_str(flat_expansion(flat)->profile, phase->text));
}

static void append_parallelism(struct buf *out, const struct flat *flat, const struct flat_row *row,
			       enum name_style style)
{
	(void)style;
	buf_printf(out, "%u", flat_row_fact(flat, row, BY_PARALLELISM));
}

static void append_label(struct buf *out, const struct flat *flat, const struct flat_row *row,
			 enum name_style style)
{
	uint32_t fact = flat_row_fact(flat, row, BY_LABEL);

	(void)style;
	if (fact == VALUE_NONE)
		buf_append_str(out, "[no label]");
	else if (fact == VALUE_UNKNOWN)
		buf_append_str(out, flat_state_name(STATE_UNATTRIBUTED));
	else
		buf_append_str(
			out, profile_str(flat_expansion(flat)->profile, (struct str_id){fact - 1}));
}

const struct dimension_info dimensions[DIMENSION_COUNT] = {
	[BY_FUNCTION] = {.heading = "function",
			 .kind = DIMENSION_OF_FUNCTIONS,
			 .implies = BIT(BY_SCRIPT) | BIT(BY_MODULE),
			 .has_waits = true,
			 .of_level = of_function,
			 .append_name = append_function},
	[BY_LINE] = {.heading = "function",
		     .second_heading = "line",
		     .kind = DIMENSION_OF_FUNCTIONS,
		     .implies = BIT(BY_FUNCTION) | BIT(BY_SCRIPT) | BIT(BY_FILE) | BIT(BY_MODULE),
		     .has_waits = true,
		     .of_level = of_line,
		     .append_name = append_function},
	[BY_SCRIPT] = {.heading = "function",
		       .kind = DIMENSION_OF_FUNCTIONS,
		       .implies = BIT(BY_FUNCTION) | BIT(BY_FILE) | BIT(BY_MODULE),
		       .has_waits = true,
		       .needs_scripts = true,
		       .charges_callers = true,
		       .of_level = of_script,
		       .append_name = append_function},
	[BY_FILE] = {.heading = "file",
		     .kind = DIMENSION_OF_PLACES,
		     .is_path = true,
		     .of_level = of_file,
		     .append_name = append_file},
	[BY_MODULE] = {.heading = "module",
		       .kind = DIMENSION_OF_PLACES,
		       .is_path = true,
		       .of_level = of_module,
		       .append_name = append_module},
	[BY_THREAD] = {.heading = "thread",
		       .kind = DIMENSION_OF_TASKS,
		       .implies = BIT(BY_PROCESS) | BIT(BY_PID),
		       .of_observation = of_thread,
		       .append_name = append_thread},
	[BY_PROCESS] = {.heading = "process",
			.kind = DIMENSION_OF_TASKS,
			.of_observation = of_program,
			.append_name = append_process},
	[BY_PID] = {.heading = "process",
		    .kind = DIMENSION_OF_TASKS,
		    .implies = BIT(BY_PROCESS),
		    .of_observation = of_process,
		    .append_name = append_process},
	[BY_STATE] = {.heading = "state",
		      .kind = DIMENSION_OF_FACTS,
		      .divides = DIMENSION_DIVIDES_TIME,
		      .metric = METRIC_WALL,
		      .divide = flat_divide_by_state,
		      .append_name = append_state},
	[BY_SYSCALL] = {.heading = "system call",
			.kind = DIMENSION_OF_FACTS,
			.divides = DIMENSION_DIVIDES_TIME,
			.metric = METRIC_BLOCKED,
			.times = METRIC_HAS_CPU,
			.has_waits = true,
			.of_observation = of_syscall,
			.append_name = append_syscall},
	[BY_LOCK] = {.heading = "lock",
		     .kind = DIMENSION_OF_WAITS,
		     .divides = DIMENSION_DIVIDES_TIME,
		     .metric = METRIC_BLOCKED,
		     .of_observation = of_object,
		     .append_name = append_object},
	[BY_FD] = {.heading = "descriptor",
		   .kind = DIMENSION_OF_WAITS,
		   .divides = DIMENSION_DIVIDES_TIME,
		   .metric = METRIC_BLOCKED,
		   .of_observation = of_object,
		   .append_name = append_object},
	[BY_LIFETIME] = {.heading = "lifetime",
			 .kind = DIMENSION_OF_FACTS,
			 .divides = DIMENSION_DIVIDES_MEMORY,
			 .metric = METRIC_ALLOC,
			 .is_in_order = true,
			 .of_observation = of_lifetime,
			 .append_name = append_lifetime},
	[BY_MARK] = {.heading = "from mark",
		     .kind = DIMENSION_OF_FACTS,
		     .is_in_order = true,
		     .times = METRIC_HAS_CPU | METRIC_HAS_RUNQ | METRIC_HAS_BLOCKED,
		     .needs_marks = true,
		     .divide = flat_divide_by_phase,
		     .append_name = append_phase},
	[BY_PARALLELISM] = {.heading = "threads running",
			    .kind = DIMENSION_OF_FACTS,
			    .divides = DIMENSION_DIVIDES_ELAPSED,
			    .metric = METRIC_ELAPSED,
			    .is_in_order = true,
			    .of_observation = of_parallelism,
			    .append_name = append_parallelism},
	[BY_LABEL] = {.heading = "label",
		      .kind = DIMENSION_OF_FACTS,
		      .divides = DIMENSION_DIVIDES_TIME,
		      .times = METRIC_HAS_CPU | METRIC_HAS_RUNQ | METRIC_HAS_BLOCKED,
		      .of_observation = of_label,
		      .append_name = append_label},
	[BY_SOURCE_LINE] = {.heading = "line",
			    .kind = DIMENSION_OF_PLACES,
			    .implies = BIT(BY_FILE),
			    .is_path = true,
			    .needs_line = true,
			    .of_level = of_source_line,
			    .append_name = append_source_line},
	[BY_INLINE_SITE] = {.heading = "function",
			    .kind = DIMENSION_OF_FUNCTIONS,
			    .implies = BIT(BY_FUNCTION) | BIT(BY_FILE) | BIT(BY_MODULE),
			    .needs_line = true,
			    .of_level = of_inline_site,
			    .append_name = append_function},
};

bool dimension_divides(enum dimension dimension, enum metric metric)
{
	switch (dimensions[dimension].divides) {
	case DIMENSION_DIVIDES_ALL:
		break;
	case DIMENSION_DIVIDES_TIME:
		return metric_is_of_samples(metric) || metric == METRIC_ELAPSED;
	case DIMENSION_DIVIDES_MEMORY:
		return metric_is_memory(metric);
	case DIMENSION_DIVIDES_ELAPSED:
		return metric == METRIC_ELAPSED;
	}
	return true;
}

void flat_append_key(struct buf *out, const struct flat *flat, const struct flat_row *row,
		     enum dimension dimension, enum name_style style)
{
	dimension_info(dimension)->append_name(out, flat, row, style);
}

void flat_append_name(struct buf *out, const struct flat *flat, const struct flat_row *row,
		      enum name_style style)
{
	flat_append_key(out, flat, row, flat->second, style);
}

bool flat_code_key(const struct expansion *expansion, const struct dimension_info *info,
		   const struct level *level, struct flat_row *key)
{
	switch (expansion->labels[level->label].kind) {
	case LABEL_FUNCTION:
	case LABEL_ADDRESS:
		return info->of_level(expansion, level, key);
	case LABEL_UNKNOWN:
	case LABEL_BETWEEN:
		if (info->charges_callers)
			return false;
		key->label = level->label;
		return !info->needs_line;
	case LABEL_UNATTRIBUTED:
	case LABEL_NO_STACK:
	case LABEL_HIDDEN:
	case LABEL_NATIVE:
		key->label = level->label;
		return !info->needs_line;
	case LABEL_ELIDED:
	case LABEL_TRUNCATED:
	case LABEL_INDIRECT:
	case LABEL_UNSAMPLED:
	case LABEL_PAGE_FAULT:
		break; /* marks in a stack, not places where time is spent */
	}
	return false;
}

bool flat_has_waits(const struct flat *flat)
{
	return flat->weights->metric == METRIC_BLOCKED && !flat_has_two_keys(flat) &&
	       dimension_info(flat->dimension)->has_waits;
}
