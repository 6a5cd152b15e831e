// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the labels of threads that publish a context. */
#include "context/context.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "context/thread_variable.h"
#include "elf/elf_image.h"
#include "mapping/space.h"
#include "snapshot/snapshot.h"
#include "snapshot/wanted.h"

#define VARIABLE "otel_thread_ctx_v1"

/* --- modules --- */

struct known_module {
	bool is_known, has_variable;
	struct elf_thread_variable variable;
};

struct context_modules {
	struct known_module *at; /* owned; by module_id */
	size_t nr, cap;
};

struct context_modules *context_modules_new(void)
{
	return xcalloc(1, sizeof(struct context_modules));
}

void context_modules_free(struct context_modules *modules)
{
	if (!modules)
		return;
	free(modules->at);
	free(modules);
}

static const struct known_module *module_of(struct context_modules *modules, struct space *space,
					    const struct mapping *mapping)
{
	struct module_id id = mapping->module;
	struct known_module *known;
	struct elf_image *image;

	ARRAY_RESERVE(modules->at, (size_t)id.v + 1, modules->cap);
	for (; modules->nr <= id.v; modules->nr++)
		modules->at[modules->nr] = (struct known_module){.is_known = false};
	known = &modules->at[id.v];
	if (known->is_known)
		return known;
	known->is_known = true;
	image = space_module(space, mapping)->kind == MODULE_KIND_FILE ? space_image(space, mapping)
								       : NULL;
	known->has_variable = image &&
			      elf_image_thread_variable(image, VARIABLE, &known->variable) &&
			      known->variable.nr_bytes - known->variable.offset >= sizeof(uint64_t);
	return known;
}

/* --- processes --- */

/* Its process context is read again so often; to read the memory map takes a large process longer.
 */
#define LOOK_NS	      (NS_PER_SEC / 2)
#define FIND_NS	      (100 * NS_PER_MS)
#define FIND_COST_MAX 200 /* a part of the time */
/* A key that has no name yet has the names read again, but not at each sample. */
#define REFRESH_NS NS_PER_MS

struct context_process {
	struct context_modules *modules; /* borrowed, as is the next */
	struct space *space;
	uint32_t generation; /* of the space, when it was last looked at */
	bool has_variable;
	struct module_id module; /* that has it, and */
	uint64_t bias;		 /* where */
	struct context_place place;
	struct process_context names;
	uint64_t look_again_ns, refresh_again_ns; /* CLOCK_MONOTONIC: not before */
	const char *problem;
};

struct context_process *context_process_new(struct context_modules *modules, struct space *space)
{
	struct context_process *process = xcalloc(1, sizeof(*process));

	process->modules = modules;
	process->space = space;
	return process;
}

void context_process_free(struct context_process *process)
{
	if (!process)
		return;
	process_context_release(&process->names);
	free(process);
}

const struct context_place *context_process_place(const struct context_process *process)
{
	return &process->place;
}

const char *context_process_schema(const struct context_process *process)
{
	return process->has_variable ? process->names.schema : NULL;
}

const char *context_process_problem(const struct context_process *process)
{
	return process->problem;
}

/* The executable comes first, as for the loader. */
static const struct mapping *find_module(struct context_process *process)
{
	size_t nr = space_nr_mappings(process->space);

	for (size_t i = 0; i < nr; i++) {
		const struct mapping *mapping = space_mapping_at(process->space, i);

		if (mapping->executable &&
		    module_of(process->modules, process->space, mapping)->has_variable)
			return mapping;
	}
	return NULL;
}

/* The library may have been unloaded, and be in another place now. */
static void look_at_modules(struct context_process *process)
{
	const struct mapping *mapping = find_module(process);

	if (mapping && process->has_variable && mapping->module.v == process->module.v &&
	    mapping->bias == process->bias)
		return;
	process->has_variable = mapping;
	process->place.access = CONTEXT_ACCESS_NONE;
	if (!mapping)
		return;
	process->module = mapping->module;
	process->bias = mapping->bias;
	process->look_again_ns = 0;
}

static void look_at_names(struct context_process *process, uint64_t now_ns)
{
	uint64_t cost_ns;

	if (process->names.header_at) {
		process_context_refresh(&process->names, process->space);
		process->look_again_ns = now_ns + LOOK_NS;
		return;
	}
	process_context_find(&process->names, process->space);
	cost_ns = clock_monotonic_ns() - now_ns;
	process->look_again_ns = now_ns + max_u64(FIND_NS, FIND_COST_MAX * cost_ns);
}

/* The first one is that of experiments, which writers still have. */
static bool is_known_schema(const char *schema)
{
	return strcmp(schema, "tlsdesc_v1_dev") == 0 || strcmp(schema, "tls_v1") == 0;
}

static void find_place(struct context_process *process)
{
	const struct mapping *mapping = find_module(process);

	if (!is_known_schema(process->names.schema))
		process->problem = "its schema is not known";
	else if (mapping && thread_variable_find(
				    process->space, mapping,
				    &module_of(process->modules, process->space, mapping)->variable,
				    &process->place))
		process->problem = NULL;
	else
		process->problem = "where its threads have the variable is not known";
}

bool context_process_look(struct context_process *process)
{
	enum context_access former = process->place.access;
	uint64_t now_ns;
	bool has_moved = false;

	if (process->generation != space_generation(process->space)) {
		process->generation = space_generation(process->space);
		look_at_modules(process);
		has_moved = former != process->place.access;
	}
	if (!process->has_variable)
		return has_moved;
	now_ns = clock_monotonic_ns();
	if (now_ns < process->look_again_ns)
		return has_moved;
	look_at_names(process, now_ns);
	if (!process->names.schema || process->place.access)
		return has_moved;
	find_place(process);
	return has_moved || process->place.access;
}

/* --- records --- */

const char *context_outcome_name(enum context_outcome outcome)
{
	static const char *const names[] = {
		[CONTEXT_NONE] = "none",
		[CONTEXT_READ] = "read",
		[CONTEXT_NO_RECORD] = "absent",
		[CONTEXT_NOT_COPIED] = "not copied",
		[CONTEXT_INVALID] = "being changed",
		[CONTEXT_REFUSED] = "refused",
		[CONTEXT_DAMAGED] = "damaged",
	};

	return names[outcome];
}

/* The layout of the OTEP: packed, numbers as the processor has them. */
#define TRACE_BYTES 16
#define SPAN_AT	    16
#define SPAN_BYTES  8
#define VALID_AT    24
#define VALID	    1

/* An attribute of the record: its last occurrence. */
struct attribute {
	const uint8_t *value; /* NULL: there is none */
	uint8_t length;
};

/* The attributes by key; false: a last one is not whole. */
static bool take_attributes(const uint8_t *at, size_t left,
			    struct attribute attributes[CONTEXT_KEYS_MAX])
{
	while (left >= 2) {
		size_t length = at[1];

		if (length > left - 2)
			return false;
		attributes[at[0]] = (struct attribute){.value = at + 2, .length = at[1]};
		at += 2 + length;
		left -= 2 + length;
	}
	return !left;
}

/* Labels have room for all texts that a record can have. */
static void add_label(struct context_labels *labels, const char *key, const void *value,
		      size_t length)
{
	char *text = labels->texts + labels->nr_text_bytes;
	struct context_label *label = &labels->at[labels->nr];

	for (size_t i = 0; i < labels->nr; i++) {
		if (strcmp(labels->at[i].key, key) == 0)
			label = &labels->at[i];
	}
	memcpy(text, value, length);
	text[length] = '\0';
	labels->nr_text_bytes += length + 1;
	labels->nr += label == &labels->at[labels->nr];
	*label = (struct context_label){.key = key, .value = text};
}

/* Zeros: there is none. */
static void add_id(struct context_labels *labels, const char *key, const uint8_t *id,
		   size_t nr_bytes)
{
	static const char digits[] = "0123456789abcdef";
	char text[2 * TRACE_BYTES];
	bool is_any = false;

	for (size_t i = 0; i < nr_bytes; i++) {
		text[2 * i] = digits[id[i] >> 4];
		text[2 * i + 1] = digits[id[i] & 15];
		is_any |= id[i];
	}
	if (is_any)
		add_label(labels, key, text, 2 * nr_bytes);
}

enum context_outcome context_parse(const struct process_context *names, const void *record,
				   size_t nr_bytes, struct context_labels *labels)
{
	struct attribute attributes[CONTEXT_KEYS_MAX] = {{.value = NULL}};
	const uint8_t *bytes = record;
	bool is_whole;

	labels->nr = labels->nr_text_bytes = 0;
	if (nr_bytes < CONTEXT_HEADER_BYTES || nr_bytes > CONTEXT_BYTES_MAX)
		return CONTEXT_REFUSED;
	if (bytes[VALID_AT] != VALID)
		return CONTEXT_INVALID;
	is_whole = take_attributes(bytes + CONTEXT_HEADER_BYTES, nr_bytes - CONTEXT_HEADER_BYTES,
				   attributes);
	for (size_t i = 0; i < names->nr_keys; i++) {
		const struct attribute *found = &attributes[i];

		if (!found->value || !names->keys[i])
			continue;
		if (memchr(found->value, '\0', found->length))
			is_whole = false;
		else
			add_label(labels, names->keys[i], found->value, found->length);
	}
	add_id(labels, "trace_id", bytes, TRACE_BYTES);
	add_id(labels, "span_id", bytes + SPAN_AT, SPAN_BYTES);
	return is_whole ? CONTEXT_READ : CONTEXT_DAMAGED;
}

/* Is there a key that the process has no name for, as far as was read? */
static bool has_unnamed(const struct process_context *names, const uint8_t *record, size_t nr_bytes)
{
	struct attribute attributes[CONTEXT_KEYS_MAX] = {{.value = NULL}};

	take_attributes(record + CONTEXT_HEADER_BYTES, nr_bytes - CONTEXT_HEADER_BYTES, attributes);
	for (size_t i = names->nr_keys; i < CONTEXT_KEYS_MAX; i++) {
		if (attributes[i].value)
			return true;
	}
	return false;
}

static void refresh_names(struct context_process *process)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (now_ns < process->refresh_again_ns)
		return;
	process->refresh_again_ns = now_ns + REFRESH_NS;
	process_context_refresh(&process->names, process->space);
}

enum context_outcome context_read(struct context_process *process, const struct snapshot *snapshot,
				  struct context_labels *labels)
{
	struct wanted_memory ignored = {.nr = 0};
	struct context_record at = {.address = 0};
	uint8_t record[CONTEXT_BYTES_MAX];

	labels->nr = 0;
	if (!process->place.access)
		return CONTEXT_NONE;
	if (!snapshot->data_pointer)
		return CONTEXT_NOT_COPIED;
	switch (context_find(&process->place, snapshot, &ignored, &at)) {
	case CONTEXT_FOUND:
		break;
	case CONTEXT_MISSING:
		return CONTEXT_NOT_COPIED;
	case CONTEXT_ABSENT:
		return CONTEXT_NO_RECORD;
	case CONTEXT_TOO_LONG:
	case CONTEXT_WRONG:
		return CONTEXT_REFUSED;
	}
	if (!snapshot_read_any(snapshot, at.address, record, at.nr_bytes))
		return CONTEXT_NOT_COPIED;
	if (record[VALID_AT] == VALID && has_unnamed(&process->names, record, at.nr_bytes))
		refresh_names(process);
	return context_parse(&process->names, record, at.nr_bytes, labels);
}
