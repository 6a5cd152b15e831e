// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * pprof's profile.proto, gzipped. One sample for each distinct stack, with its values in all
 * metrics that were recorded; one location for each address, with the whole inline chain; addresses
 * are those of the module's file, as if it were mapped at 0.
 *
 * pprof draws a box beside each node of its graph for each label of its samples. So stacks have
 * labels, and a sample for each thread, only where threads are to be told apart. Labels that the
 * program gives to its threads (OTEP 4947) are always there.
 *
 * Exact counts are samples of another value, of two frames: a function as it lies in memory, and
 * the call. The function has a location of its own for that, at its first instruction, since
 * functions inlined there were not called.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/index_set.h"
#include "base/sink.h"
#include "base/strtab.h"
#include "calltree/counts.h"
#include "export/count_stacks_priv.h"
#include "export/extract_priv.h"
#include "export/gzip_priv.h"
#include "export/metric_sums_priv.h"
#include "export/numbering_priv.h"
#include "export/protobuf_priv.h"
#include "mapping/module.h"
#include "profile/heap_survey.h"

/* Field numbers of profile.proto, by message. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING_TABLE = 6,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_SAMPLE_TYPE = 14,
	VALUE_TYPE_TYPE = 1,
	VALUE_TYPE_UNIT = 2,
	SAMPLE_LOCATION_ID = 1,
	SAMPLE_VALUE = 2,
	SAMPLE_LABEL = 3,
	LABEL_KEY = 1,
	LABEL_STR = 2,
	LABEL_NUM = 3,
	MAPPING_ID = 1,
	MAPPING_MEMORY_LIMIT = 3,
	MAPPING_FILENAME = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILENAMES = 8,
	MAPPING_HAS_LINE_NUMBERS = 9,
	MAPPING_HAS_INLINE_FRAMES = 10,
	LOCATION_ID = 1,
	LOCATION_MAPPING_ID = 2,
	LOCATION_ADDRESS = 3,
	LOCATION_LINE = 4,
	LINE_FUNCTION_ID = 1,
	LINE_LINE = 2,
	FUNCTION_ID = 1,
	FUNCTION_NAME = 2,
	FUNCTION_SYSTEM_NAME = 3,
	FUNCTION_FILENAME = 4,
	FUNCTION_START_LINE = 5,
};

struct pprof {
	const struct extract *extract;
	struct buf out;
	struct strtab *strings;	   /* the file's string table: id 0 is "" as the format demands */
	uint64_t *limit_of_module; /* one past the highest address used; 0: not used */
	/* Labels, then unknown_callee(), then places in another file than their label's. */
	struct numbering functions;
	uint32_t *function_of_place; /* by place, among those */
	struct metric_sums sums;
	bool counted; /* samples have calls, too, after the values of sums */
	/*
	 * Nodes of paths, then the frames of functions that were counted where they begin, then
	 * unknown_location(). Parca refuses a file if its ids are not 1, 2, 3, … in order.
	 */
	struct numbering locations;
	struct numbering mappings;	 /* of modules */
	struct buf message, inner, text; /* scratch */
};

/* The index in the string table; escaped, because strings must be UTF-8. */
static uint64_t string(struct pprof *pprof, const char *raw)
{
	buf_clear(&pprof->text);
	escape_terminal(&pprof->text, raw);
	return strtab_intern(pprof->strings, buf_str(&pprof->text)).v;
}

static void end_message(struct pprof *pprof, unsigned int field)
{
	protobuf_message(&pprof->out, field, &pprof->message);
	buf_clear(&pprof->message);
}

static void write_value_type(struct pprof *pprof, unsigned int field, const char *type,
			     const char *unit)
{
	protobuf_uint(&pprof->message, VALUE_TYPE_TYPE, string(pprof, type));
	protobuf_uint(&pprof->message, VALUE_TYPE_UNIT, string(pprof, unit));
	end_message(pprof, field);
}

/* --- samples --- */

/* Ids count from 1, as 0 means "none". */
static uint64_t location_id(struct pprof *pprof, uint32_t location)
{
	return (uint64_t)numbering_of(&pprof->locations, location) + 1;
}

/* Callers first. */
static void number_path_locations(struct pprof *pprof)
{
	const struct stack_trie *paths = pprof->extract->paths;
	uint32_t nr_paths = stack_trie_nr(paths);

	for (uint32_t path = 1; path < nr_paths; path++)
		numbering_of(&pprof->locations, stack_trie_frame(paths, (struct stack_id){path}).v);
}

/* Leaf first. */
static void append_locations(struct pprof *pprof, struct stack_id path)
{
	const struct stack_trie *paths = pprof->extract->paths;

	for (; path.v != STACK_EMPTY.v; path = stack_trie_parent(paths, path))
		buf_append_uleb(&pprof->inner, location_id(pprof, stack_trie_frame(paths, path).v));
	protobuf_message(&pprof->message, SAMPLE_LOCATION_ID, &pprof->inner);
	buf_clear(&pprof->inner);
}

/* Omit empty texts, which readers would take for the number 0. */
static void append_text_label(struct pprof *pprof, struct buf *labels, const char *key,
			      const char *value)
{
	if (!*value)
		return;
	protobuf_uint(&pprof->inner, LABEL_KEY, string(pprof, key));
	protobuf_uint(&pprof->inner, LABEL_STR, string(pprof, value));
	protobuf_message(labels, SAMPLE_LABEL, &pprof->inner);
	buf_clear(&pprof->inner);
}

static void append_number_label(struct pprof *pprof, struct buf *labels, const char *key,
				uint64_t value)
{
	protobuf_uint(&pprof->inner, LABEL_KEY, string(pprof, key));
	protobuf_uint(&pprof->inner, LABEL_NUM, value);
	protobuf_message(labels, SAMPLE_LABEL, &pprof->inner);
	buf_clear(&pprof->inner);
}

static void append_process_labels(struct pprof *pprof, struct buf *labels, struct str_id name)
{
	append_text_label(pprof, labels, "process", profile_str(pprof->extract->profile, name));
}

static void append_thread_labels(struct pprof *pprof, struct buf *labels, uint32_t row)
{
	const struct profile *profile = pprof->extract->profile;
	const struct profile_thread *thread = &profile->threads[row];
	const struct profile_process *process = &profile->processes[thread->process];

	append_process_labels(pprof, labels, process->name);
	append_text_label(pprof, labels, "thread", profile_str(profile, thread->name));
	append_number_label(pprof, labels, "pid", (uint64_t)process->pid);
	append_number_label(pprof, labels, "tid", (uint64_t)thread->tid);
}

/* The labels of a group, in the way that struct metric_sums groups threads. */
static void append_group_labels(struct pprof *pprof, struct buf *labels, uint32_t group)
{
	switch (pprof->extract->options->threads) {
	case EXPORT_THREADS_SPLIT:
		append_thread_labels(pprof, labels, group);
		break;
	case EXPORT_THREADS_MERGE:
		append_process_labels(pprof, labels, (struct str_id){group});
		break;
	case EXPORT_THREADS_DEFAULT:
		break;
	}
}

/* The program's own, of the threads that it says work on something. */
static void append_labels_of_program(struct pprof *pprof, struct buf *labels, uint32_t number)
{
	const struct profile *profile = pprof->extract->profile;

	while (number) {
		const struct profile_label *label = &profile_labels(profile)->rows[number - 1];

		append_text_label(pprof, labels, profile_str(profile, label->key),
				  profile_str(profile, label->value));
		number = label->outer;
	}
}

static void write_sample(struct pprof *pprof, size_t row)
{
	const struct metric_sums *sums = &pprof->sums;

	append_locations(pprof, sums->rows[row].path);
	for (unsigned int i = 0; i < sums->nr_columns; i++)
		buf_append_uleb(&pprof->inner, sums->values[row * sums->nr_columns + i]);
	if (pprof->counted)
		buf_append_uleb(&pprof->inner, 0);
	protobuf_message(&pprof->message, SAMPLE_VALUE, &pprof->inner);
	buf_clear(&pprof->inner);
}

static void write_samples(struct pprof *pprof)
{
	struct buf labels = {0};

	for (size_t i = 0; i < pprof->sums.nr_rows; i++) {
		buf_clear(&labels);
		append_group_labels(pprof, &labels, pprof->sums.rows[i].group);
		append_labels_of_program(pprof, &labels, pprof->sums.rows[i].labels);
		write_sample(pprof, i);
		buf_append(&pprof->message, labels.bytes, labels.nr_bytes);
		end_message(pprof, PROFILE_SAMPLE);
	}
	buf_release(&labels);
}

/* --- counts --- */

/* The label, after all others, of a called but unknown function. */
static uint32_t unknown_callee(const struct pprof *pprof)
{
	return (uint32_t)pprof->extract->expansion->nr_labels;
}

/* These follow the nodes of paths. */
static uint32_t entry_location(const struct pprof *pprof, uint32_t frame)
{
	return path_nr_frame_nodes(pprof->extract->expansion) + frame;
}

/* The last one, after those of all frames. */
static uint32_t unknown_location(const struct pprof *pprof)
{
	return entry_location(pprof, (uint32_t)pprof->extract->profile->nr_frames);
}

static void append_count_locations(struct pprof *pprof, const struct count_stack *stack)
{
	uint32_t callee = stack->callee.v == COUNT_NO_CALLEE.v
				  ? unknown_location(pprof)
				  : entry_location(pprof, stack->callee.v);

	buf_append_uleb(&pprof->inner, location_id(pprof, callee));
	if (stack->caller.v != COUNT_NO_CALLER.v)
		buf_append_uleb(&pprof->inner, location_id(pprof, stack->caller.v));
	protobuf_message(&pprof->message, SAMPLE_LOCATION_ID, &pprof->inner);
	buf_clear(&pprof->inner);
}

static void write_count(struct pprof *pprof, const struct count_stack *stack,
			const struct buf *labels)
{
	append_count_locations(pprof, stack);
	for (unsigned int i = 0; i < pprof->sums.nr_columns; i++)
		buf_append_uleb(&pprof->inner, 0);
	buf_append_uleb(&pprof->inner, stack->calls);
	protobuf_message(&pprof->message, SAMPLE_VALUE, &pprof->inner);
	buf_clear(&pprof->inner);
	buf_append(&pprof->message, labels->bytes, labels->nr_bytes);
	end_message(pprof, PROFILE_SAMPLE);
}

/* Counts are of no thread. */
static void append_count_labels(struct pprof *pprof, struct buf *labels, uint32_t row)
{
	const struct profile_process *process = &pprof->extract->profile->processes[row];
	enum export_threads threads = pprof->extract->options->threads;

	if (threads != EXPORT_THREADS_DEFAULT)
		append_process_labels(pprof, labels, process->name);
	if (threads == EXPORT_THREADS_SPLIT)
		append_number_label(pprof, labels, "pid", (uint64_t)process->pid);
}

static void write_counts(struct pprof *pprof)
{
	struct count_stacks stacks;
	struct buf labels = {0};

	count_stacks_init(&stacks, pprof->extract);
	for (size_t i = 0; i < stacks.nr; i++) {
		buf_clear(&labels);
		append_count_labels(pprof, &labels, stacks.stacks[i].process);
		write_count(pprof, &stacks.stacks[i], &labels);
	}
	count_stacks_release(&stacks);
	buf_release(&labels);
}

/* --- locations, functions, mappings --- */

/* In the numbering of functions. */
static uint32_t first_place(const struct pprof *pprof)
{
	return unknown_callee(pprof) + 1;
}

static bool is_of_file(const void *owner, uint32_t index, const void *key)
{
	const struct place *have = &((const struct expansion *)owner)->places[index], *want = key;

	return have->label == want->label && have->file.v == want->file.v;
}

/*
 * The lines of a function are in its own file for all readers. Those of code that it includes from
 * another file belong to a function of the same name there.
 */
static void find_functions_of_places(struct pprof *pprof)
{
	const struct expansion *expansion = pprof->extract->expansion;
	struct index_set set = {.nr = 0};

	pprof->function_of_place = xcalloc(expansion->nr_places, sizeof(*pprof->function_of_place));
	for (uint32_t i = 0; i < expansion->nr_places; i++) {
		const struct place *place = &expansion->places[i];
		const struct function *function = label_function(expansion, place->label);
		uint64_t hash = hash_mix(place->label, place->file.v);
		uint32_t same;

		pprof->function_of_place[i] = place->label;
		if (!function || place->file.v == STR_EMPTY.v || place->file.v == function->file.v)
			continue;
		same = index_set_find(&set, hash, is_of_file, expansion, place);
		if (same == INDEX_NONE)
			index_set_add(&set, hash, i);
		pprof->function_of_place[i] = first_place(pprof) + (same == INDEX_NONE ? i : same);
	}
	index_set_release(&set);
}

/* Ids count from 1. */
static uint64_t function_id(struct pprof *pprof, uint32_t function)
{
	return (uint64_t)numbering_of(&pprof->functions, function) + 1;
}

static void append_line(struct pprof *pprof, const struct level *level)
{
	const struct expansion *expansion = pprof->extract->expansion;

	protobuf_uint(&pprof->inner, LINE_FUNCTION_ID,
		      function_id(pprof, pprof->function_of_place[level->place]));
	protobuf_uint(&pprof->inner, LINE_LINE, expansion->places[level->place].line);
	protobuf_message(&pprof->message, LOCATION_LINE, &pprof->inner);
	buf_clear(&pprof->inner);
}

static uint64_t mapping_id(struct pprof *pprof, struct module_id module)
{
	return (uint64_t)numbering_of(&pprof->mappings, module.v) + 1;
}

/* NULL: there is no code. */
static const struct code_address *location_address(const struct pprof *pprof, uint32_t location)
{
	const struct extract *extract = pprof->extract;
	uint32_t nr_nodes = path_nr_frame_nodes(extract->expansion);

	if (location < nr_nodes)
		return path_frame_address(extract->expansion, location);
	return location == unknown_location(pprof)
		       ? NULL
		       : &extract->profile->frames[location - nr_nodes].where;
}

/* The module of an address; false: none that is known. */
static bool find_module(const struct pprof *pprof, const struct code_address *where,
			struct module_id *module)
{
	const struct module_table *modules = pprof->extract->profile->modules;

	if (!where)
		return false;
	*module = module_table_first(modules, where->module);
	return module_table_get(modules, *module)->kind != MODULE_KIND_UNKNOWN;
}

static void append_address(struct pprof *pprof, const struct code_address *where)
{
	struct module_id module;

	protobuf_uint(&pprof->message, LOCATION_ADDRESS, where->address);
	if (find_module(pprof, where, &module))
		protobuf_uint(&pprof->message, LOCATION_MAPPING_ID, mapping_id(pprof, module));
}

static void write_location(struct pprof *pprof, uint32_t node)
{
	const struct expansion *expansion = pprof->extract->expansion;
	const struct code_address *where = path_frame_address(expansion, node);
	const struct level *levels;
	uint32_t nr_levels;

	protobuf_uint(&pprof->message, LOCATION_ID, location_id(pprof, node));
	if (where)
		append_address(pprof, where);
	levels = path_frame_levels(expansion, node, &nr_levels);
	while (nr_levels)
		append_line(pprof, &levels[--nr_levels]); /* innermost first */
	end_message(pprof, PROFILE_LOCATION);
}

/* The function itself at the line of its definition, whatever is inlined at its beginning. */
static void write_entry_location(struct pprof *pprof, uint32_t frame)
{
	const struct expansion *expansion = pprof->extract->expansion;
	uint32_t label = expansion_outermost(expansion, (struct frame_id){frame})->label;

	protobuf_uint(&pprof->message, LOCATION_ID,
		      location_id(pprof, entry_location(pprof, frame)));
	append_address(pprof, &pprof->extract->profile->frames[frame].where);
	protobuf_uint(&pprof->inner, LINE_FUNCTION_ID, function_id(pprof, label));
	protobuf_uint(&pprof->inner, LINE_LINE, extract_function_line(pprof->extract, label));
	protobuf_message(&pprof->message, LOCATION_LINE, &pprof->inner);
	buf_clear(&pprof->inner);
	end_message(pprof, PROFILE_LOCATION);
}

static void write_unknown_location(struct pprof *pprof)
{
	protobuf_uint(&pprof->message, LOCATION_ID, location_id(pprof, unknown_location(pprof)));
	protobuf_uint(&pprof->inner, LINE_FUNCTION_ID, function_id(pprof, unknown_callee(pprof)));
	protobuf_message(&pprof->message, LOCATION_LINE, &pprof->inner);
	buf_clear(&pprof->inner);
	end_message(pprof, PROFILE_LOCATION);
}

/* The process that used most, or the first where threads are merged. */
static const struct profile_process *main_process(const struct extract *extract)
{
	const struct lane *heaviest = &extract->lanes[extract_heaviest_lane(extract)];
	uint32_t process = heaviest->process == PROCESS_NONE ? 0 : heaviest->process;

	return &extract->profile->processes[process];
}

/* Its program, if any sample was taken there: readers take the first mapping for it. */
static uint32_t main_module(const struct extract *extract)
{
	const struct profile *profile = extract->profile;
	const char *exe = profile_str(profile, main_process(extract)->exe);
	uint32_t nr = module_table_nr(profile->modules);

	for (uint32_t id = 0; id < nr; id++) {
		if (strcmp(module_table_get(profile->modules, (struct module_id){id})->path, exe) ==
		    0)
			return id;
	}
	return 0;
}

/* Number the mappings of all locations, the program's first. */
static void number_mappings(struct pprof *pprof)
{
	uint32_t nr = module_table_nr(pprof->extract->profile->modules);
	uint32_t first = main_module(pprof->extract);

	for (uint32_t i = 0; i < pprof->locations.nr; i++) {
		const struct code_address *where = location_address(pprof, pprof->locations.ids[i]);
		struct module_id module;

		if (!find_module(pprof, where, &module))
			continue;
		if (where->address >= pprof->limit_of_module[module.v])
			pprof->limit_of_module[module.v] =
				where->address == UINT64_MAX ? UINT64_MAX : where->address + 1;
	}
	if (nr && pprof->limit_of_module[first])
		numbering_of(&pprof->mappings, first);
	for (uint32_t id = 0; id < nr; id++) {
		if (pprof->limit_of_module[id])
			numbering_of(&pprof->mappings, id);
	}
}

static void write_locations(struct pprof *pprof)
{
	uint32_t nr_nodes = path_nr_frame_nodes(pprof->extract->expansion);

	for (uint32_t i = 0; i < pprof->locations.nr; i++) {
		uint32_t location = pprof->locations.ids[i];

		if (location < nr_nodes)
			write_location(pprof, location);
		else if (location < unknown_location(pprof))
			write_entry_location(pprof, location - nr_nodes);
		else
			write_unknown_location(pprof);
	}
}

/*
 * The name in the object file; if unknown, the full name. Functions of scripts have none: pprof
 * takes names that are the same as these for C++, and shows <module> as nothing.
 */
static uint64_t system_name_string(struct pprof *pprof, uint32_t label)
{
	const struct extract *extract = pprof->extract;
	const struct function *function = label_function(extract->expansion, label);
	struct str_id name;

	if (!function)
		return string(pprof, extract_name(extract, label));
	if (label_is_script(extract->expansion, label))
		return string(pprof, "");
	name = function->linkage_name.v != STR_EMPTY.v ? function->linkage_name : function->name;
	return string(pprof, profile_str(extract->profile, name));
}

static void write_function(struct pprof *pprof, uint32_t function)
{
	const struct extract *extract = pprof->extract;
	const struct place *place =
		function < first_place(pprof)
			? NULL
			: &extract->expansion->places[function - first_place(pprof)];
	uint32_t label = place ? place->label : function;
	const char *file = place ? profile_str(extract->profile, place->file)
				 : extract_function_file(extract, label);
	uint64_t name = string(pprof, extract_name(extract, label));
	uint64_t system_name = system_name_string(pprof, label);

	protobuf_uint(&pprof->message, FUNCTION_ID, function_id(pprof, function));
	protobuf_uint(&pprof->message, FUNCTION_NAME, name);
	protobuf_uint(&pprof->message, FUNCTION_SYSTEM_NAME, system_name);
	if (file)
		protobuf_uint(&pprof->message, FUNCTION_FILENAME, string(pprof, file));
	if (!place)
		protobuf_uint(&pprof->message, FUNCTION_START_LINE,
			      extract_function_line(extract, label));
	end_message(pprof, PROFILE_FUNCTION);
}

static uint64_t build_id_string(struct pprof *pprof, const struct module *module)
{
	struct buf hex = {0};
	uint64_t id;

	for (size_t i = 0; i < module->nr_build_id_bytes; i++)
		buf_printf(&hex, "%02x", module->build_id[i]);
	id = string(pprof, buf_str(&hex));
	buf_release(&hex);
	return id;
}

static void write_mapping(struct pprof *pprof, uint32_t id)
{
	const struct module *module =
		module_table_get(pprof->extract->profile->modules, (struct module_id){id});

	protobuf_uint(&pprof->message, MAPPING_ID, mapping_id(pprof, (struct module_id){id}));
	protobuf_uint(&pprof->message, MAPPING_MEMORY_LIMIT, pprof->limit_of_module[id]);
	protobuf_uint(&pprof->message, MAPPING_FILENAME, string(pprof, module->path));
	protobuf_uint(&pprof->message, MAPPING_BUILD_ID, build_id_string(pprof, module));
	/* Set all of them, else readers try to resolve the addresses themselves. */
	for (unsigned int field = MAPPING_HAS_FUNCTIONS; field <= MAPPING_HAS_INLINE_FRAMES;
	     field++)
		protobuf_uint(&pprof->message, field, 1);
	end_message(pprof, PROFILE_MAPPING);
}

static void write_mappings(struct pprof *pprof)
{
	for (uint32_t i = 0; i < pprof->mappings.nr; i++)
		write_mapping(pprof, pprof->mappings.ids[i]);
}

/* --- the whole --- */

static void write_comment(struct pprof *pprof, struct buf *text)
{
	protobuf_uint(&pprof->out, PROFILE_COMMENT, string(pprof, buf_str(text)));
}

/* The lines that `pprof -comments` prints. */
static void write_comments(struct pprof *pprof)
{
	const struct extract *extract = pprof->extract;
	struct buf text = {0};

	extract_append_title(&text, extract);
	write_comment(pprof, &text);
	for (size_t i = 0; i < extract->nr_marks; i++) {
		buf_clear(&text);
		extract_append_mark(&text, extract, &extract->marks[i]);
		write_comment(pprof, &text);
	}
	buf_release(&text);
}

static void write_types(struct pprof *pprof)
{
	for (unsigned int i = 0; i < pprof->sums.nr_columns; i++)
		write_value_type(pprof, PROFILE_SAMPLE_TYPE, pprof->sums.columns[i].type,
				 pprof->sums.columns[i].unit);
	if (pprof->counted)
		write_value_type(pprof, PROFILE_SAMPLE_TYPE, "calls", "count");
}

/* From one sample to the next. */
static void write_period(struct pprof *pprof)
{
	const struct profile *profile = pprof->extract->profile;
	const struct metric_column *only =
		pprof->extract->options->only_metric ? &pprof->sums.columns[0] : NULL;

	if (extract_is_memory(pprof->extract)) {
		write_value_type(pprof, PROFILE_PERIOD_TYPE, "space", "bytes");
		protobuf_uint(&pprof->out, PROFILE_PERIOD, heap_survey_mean(profile));
		return;
	}
	if (only && !metric_is_time(only->metric)) {
		write_value_type(pprof, PROFILE_PERIOD_TYPE, only->type, only->unit);
		protobuf_uint(&pprof->out, PROFILE_PERIOD, 1);
		return;
	}
	/* Profile servers know CPU time by this: process_cpu:cpu:nanoseconds:cpu:nanoseconds. */
	write_value_type(pprof, PROFILE_PERIOD_TYPE, only ? only->type : "wall", "nanoseconds");
	if (profile->meta.frequency_hz)
		protobuf_uint(&pprof->out, PROFILE_PERIOD, NS_PER_SEC / profile->meta.frequency_hz);
}

static void write_default_type(struct pprof *pprof)
{
	const struct metric_sums *sums = &pprof->sums;

	protobuf_uint(&pprof->out, PROFILE_DEFAULT_SAMPLE_TYPE,
		      string(pprof, sums->columns[sums->default_column].type));
}

static void write_head(struct pprof *pprof)
{
	const struct extract *extract = pprof->extract;
	const struct profile_meta *meta = &extract->profile->meta;

	write_types(pprof);
	protobuf_uint(&pprof->out, PROFILE_TIME_NANOS, meta->start_realtime_ns);
	protobuf_uint(&pprof->out, PROFILE_DURATION_NANOS, meta->duration_ns);
	write_period(pprof);
	write_comments(pprof);
	write_default_type(pprof);
}

static void write_unknown_callee(struct pprof *pprof)
{
	uint64_t name = string(pprof, "[unknown callee]");

	protobuf_uint(&pprof->message, FUNCTION_ID, function_id(pprof, unknown_callee(pprof)));
	protobuf_uint(&pprof->message, FUNCTION_NAME, name);
	protobuf_uint(&pprof->message, FUNCTION_SYSTEM_NAME, name);
	end_message(pprof, PROFILE_FUNCTION);
}

static void write_functions(struct pprof *pprof)
{
	for (uint32_t i = 0; i < pprof->functions.nr; i++) {
		if (pprof->functions.ids[i] == unknown_callee(pprof))
			write_unknown_callee(pprof);
		else
			write_function(pprof, pprof->functions.ids[i]);
	}
}

static void write_strings(struct pprof *pprof)
{
	struct buf *out = &pprof->out;

	for (uint32_t i = 0; i < strtab_nr(pprof->strings); i++) {
		struct str_id id = {i};
		struct buf text = {0};

		buf_append(&text, strtab_get(pprof->strings, id),
			   strtab_length(pprof->strings, id));
		protobuf_message(out, PROFILE_STRING_TABLE, &text); /* the empty one too */
		buf_release(&text);
	}
}

void write_pprof(const struct extract *extract, struct sink *sink)
{
	uint32_t nr_modules = module_table_nr(extract->profile->modules);
	struct pprof pprof = {.extract = extract, .strings = strtab_new()};

	pprof.limit_of_module = xcalloc(nr_modules, sizeof(*pprof.limit_of_module));
	find_functions_of_places(&pprof);
	numbering_init(&pprof.functions,
		       first_place(&pprof) + (uint32_t)extract->expansion->nr_places);
	numbering_init(&pprof.locations, (size_t)unknown_location(&pprof) + 1);
	numbering_init(&pprof.mappings, nr_modules);
	pprof.counted = !extract->options->only_metric && extract->counts->state == COUNTS_KNOWN;
	metric_sums_init(&pprof.sums, extract);
	write_head(&pprof);
	number_path_locations(&pprof);
	write_samples(&pprof);
	if (pprof.counted)
		write_counts(&pprof);
	number_mappings(&pprof);
	write_locations(&pprof);
	write_functions(&pprof);
	write_mappings(&pprof);
	write_strings(&pprof);
	gzip_write(sink, pprof.out.bytes, pprof.out.nr_bytes);
	strtab_free(pprof.strings);
	free(pprof.limit_of_module);
	free(pprof.function_of_place);
	numbering_release(&pprof.functions);
	numbering_release(&pprof.locations);
	numbering_release(&pprof.mappings);
	metric_sums_release(&pprof.sums);
	buf_release(&pprof.out);
	buf_release(&pprof.message);
	buf_release(&pprof.inner);
	buf_release(&pprof.text);
}
