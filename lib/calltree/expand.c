// SPDX-License-Identifier: GPL-2.0-or-later
/* Expands the frames of a profile into named levels. */
#include "calltree/expand.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/demangled_name.h"
#include "base/index_set.h"

/* An expansion under construction: the sets are needed only until all frames are done. */
struct expander {
	struct expansion *out;
	struct index_set label_set, place_set;
};

static uint64_t label_hash(const struct profile *profile, const struct label *label)
{
	uint64_t hash = hash_mix(hash_u64(label->kind), label->module.v);

	if (label->kind == LABEL_FUNCTION) {
		const struct function *function = &profile->symbols.functions[label->function.v];

		hash = hash_mix(hash, function->name.v);
		return hash_mix(hash, function->file.v);
	}
	return hash_mix(hash, label->number);
}

static bool is_script(const struct profile *profile, struct module_id module)
{
	return module_table_get(profile->modules, module)->kind == MODULE_KIND_SCRIPT;
}

static bool label_equal(const void *owner, uint32_t index, const void *key)
{
	const struct expansion *expansion = owner;
	const struct label *have = &expansion->labels[index], *want = key;
	const struct function *a, *b;

	if (have->kind != want->kind || have->module.v != want->module.v ||
	    have->number != want->number)
		return false;
	if (have->kind != LABEL_FUNCTION || have->function.v == want->function.v)
		return true;
	a = &expansion->profile->symbols.functions[have->function.v];
	b = &expansion->profile->symbols.functions[want->function.v];
	return a->name.v == b->name.v && a->file.v == b->file.v &&
	       (a->line == b->line || !is_script(expansion->profile, have->module));
}

static uint32_t intern_label(struct expander *expander, const struct label *label)
{
	struct expansion *out = expander->out;
	uint64_t hash = label_hash(out->profile, label);
	uint32_t id = index_set_find(&expander->label_set, hash, label_equal, out, label);

	if (id != INDEX_NONE)
		return id;
	id = (uint32_t)out->nr_labels;
	ARRAY_GROW(out->labels, out->nr_labels, out->cap_labels);
	out->labels[out->nr_labels++] = *label;
	index_set_add(&expander->label_set, hash, id);
	return id;
}

static bool place_equal(const void *owner, uint32_t index, const void *key)
{
	const struct place *have = &((const struct expansion *)owner)->places[index];
	const struct place *want = key;

	return have->label == want->label && have->file.v == want->file.v &&
	       have->line == want->line;
}

static struct level make_level(struct expander *expander, const struct label *label,
			       struct str_id file, uint32_t line)
{
	struct expansion *out = expander->out;
	struct place place = {.label = intern_label(expander, label), .file = file, .line = line};
	uint64_t hash = hash_mix(hash_mix(hash_u64(place.label), file.v), line);
	uint32_t id = index_set_find(&expander->place_set, hash, place_equal, out, &place);

	if (id == INDEX_NONE) {
		id = (uint32_t)out->nr_places;
		ARRAY_GROW(out->places, out->nr_places, out->cap_places);
		out->places[out->nr_places++] = place;
		index_set_add(&expander->place_set, hash, id);
	}
	return (struct level){.label = place.label, .place = id};
}

static void append_level(struct expansion *out, struct level level)
{
	ARRAY_GROW(out->levels, out->nr_levels, out->cap_levels);
	out->levels[out->nr_levels++] = level;
}

/* A frame without a chain is still code in some module, or a mark left by the unwinder. */
static struct level nameless_level(struct expander *expander, struct code_address where,
				   bool is_awaited)
{
	const struct module_table *modules = expander->out->profile->modules;
	struct label label = {.kind = LABEL_ADDRESS,
			      .module = module_table_first(modules, where.module)};

	switch (module_table_get(modules, where.module)->kind) {
	case MODULE_KIND_UNKNOWN:
		label = (struct label){.kind = LABEL_UNKNOWN};
		break;
	case MODULE_KIND_ELIDED:
		label = (struct label){.kind = LABEL_ELIDED, .number = where.address};
		break;
	case MODULE_KIND_BETWEEN:
		label = (struct label){.kind = LABEL_BETWEEN};
		break;
	case MODULE_KIND_FILE:
	case MODULE_KIND_VDSO:
	case MODULE_KIND_VSYSCALL:
	case MODULE_KIND_KERNEL:
	case MODULE_KIND_SCRIPT:
		label.number = is_awaited ? LABEL_AWAITED : where.address;
		break;
	case MODULE_KIND_JIT:
		/*
		 * The starts of its functions are unknown: every address would be a row of its own,
		 * hundreds of them, without a sum of their time.
		 */
		break;
	}
	return make_level(expander, &label, STR_EMPTY, 0);
}

static void expand_frame(struct expander *expander, uint32_t frame, bool fold_inlines)
{
	struct expansion *out = expander->out;
	const struct profile *profile = out->profile;
	struct code_address where = profile->frames[frame].where;
	struct frame_symbols chain = {0};
	uint32_t first = (uint32_t)out->nr_levels;

	if (frame < profile->symbols.nr_frames)
		chain = profile->symbols.frames[frame];
	if (chain.nr == 0)
		append_level(out, nameless_level(expander, where,
						 frame < profile->symbols.nr_frames &&
							 frame >= profile->symbols.nr_asked));
	for (uint32_t i = chain.nr; i-- > 0;) {
		const struct location *location = &profile->symbols.locations[chain.first + i];
		struct label label = {.kind = LABEL_FUNCTION,
				      .module = module_table_first(profile->modules, where.module),
				      .function = location->function};
		struct level level = make_level(expander, &label, location->file, location->line);

		level.inlined = i + 1 < chain.nr;
		append_level(out, level);
		if (fold_inlines)
			break;
	}
	out->frames[frame] =
		(struct frame_levels){.first = first, .nr = (uint32_t)out->nr_levels - first};
}

static struct level pseudo_level(struct expander *expander, enum label_kind kind, uint64_t number)
{
	struct label label = {.kind = kind, .number = number};

	return make_level(expander, &label, STR_EMPTY, 0);
}

/* Which frames are in stacks or waits; the caller frees it. */
static bool *frames_of_samples(const struct profile *profile)
{
	const struct profile_waits *waits = profile_waits(profile);
	uint32_t nr = stack_trie_nr(profile->stacks);
	bool *is_used = xcalloc(profile->nr_frames + 1, sizeof(*is_used));

	for (uint32_t id = 1; id < nr; id++)
		is_used[stack_trie_frame(profile->stacks, (struct stack_id){id}).v] = true;
	for (size_t i = 0; i < waits->nr; i++) {
		if (waits->rows[i].place.v != WAIT_NO_PLACE.v)
			is_used[waits->rows[i].place.v] = true;
	}
	return is_used;
}

/* `is_wanted`: by frame; NULL: all. */
static struct expansion *expand(const struct profile *profile, bool fold_inlines,
				const bool *is_wanted)
{
	struct expansion *out = xcalloc(1, sizeof(*out));
	struct expander expander = {.out = out};

	out->profile = profile;
	out->is_of_samples = is_wanted != NULL;
	out->frames = xcalloc(profile->nr_frames, sizeof(*out->frames));
	out->unattributed = pseudo_level(&expander, LABEL_UNATTRIBUTED, 0);
	out->no_stack = pseudo_level(&expander, LABEL_NO_STACK, 0);
	out->indirect = pseudo_level(&expander, LABEL_INDIRECT, 0);
	out->unsampled = pseudo_level(&expander, LABEL_UNSAMPLED, 0);
	out->hidden = pseudo_level(&expander, LABEL_HIDDEN, 0);
	out->native = pseudo_level(&expander, LABEL_NATIVE, 0);
	out->page_fault = pseudo_level(&expander, LABEL_PAGE_FAULT, 0);
	for (int end = 0; end < STACK_END_COUNT; end++)
		out->truncated[end] = pseudo_level(&expander, LABEL_TRUNCATED, (uint64_t)end);
	for (uint32_t frame = 0; frame < profile->nr_frames; frame++) {
		if (!is_wanted || is_wanted[frame])
			expand_frame(&expander, frame, fold_inlines);
	}
	index_set_release(&expander.label_set);
	index_set_release(&expander.place_set);
	return out;
}

struct expansion *expansion_new(const struct profile *profile, bool fold_inlines)
{
	return expand(profile, fold_inlines, NULL);
}

struct expansion *expansion_new_of_samples(const struct profile *profile)
{
	cleanup_free bool *is_used = frames_of_samples(profile);

	return expand(profile, false, is_used);
}

void expansion_free(struct expansion *expansion)
{
	if (!expansion)
		return;
	free(expansion->labels);
	free(expansion->places);
	free(expansion->levels);
	free(expansion->frames);
	free(expansion);
}

const struct level *expansion_root_level(const struct expansion *expansion,
					 const struct sample *sample)
{
	if (sample->kind == SAMPLE_UNATTRIBUTED)
		return &expansion->unattributed;
	if (sample->stack.v == STACK_EMPTY.v)
		return &expansion->no_stack;
	/* A stack beyond the depth limit keeps its root: only its middle is missing. */
	if (stack_end_is_complete(sample->end))
		return NULL;
	return &expansion->truncated[sample->end];
}

const struct level *expansion_outermost(const struct expansion *expansion, struct frame_id frame)
{
	return &expansion->levels[expansion->frames[frame.v].first];
}

const struct level *expansion_innermost(const struct expansion *expansion, struct frame_id frame)
{
	struct frame_levels levels = expansion->frames[frame.v];

	return &expansion->levels[levels.first + levels.nr - 1];
}

void level_list_release(struct level_list *list)
{
	free(list->levels);
	*list = (struct level_list){0};
}

/* The levels of one stack (without a root level), written backwards from its leaf. */
static void fill_levels(const struct expansion *expansion, struct stack_id stack,
			struct level *levels, size_t nr)
{
	const struct stack_trie *trie = expansion->profile->stacks;

	for (; stack.v != STACK_EMPTY.v; stack = stack_trie_parent(trie, stack)) {
		struct frame_levels frame = expansion->frames[stack_trie_frame(trie, stack).v];

		nr -= frame.nr;
		memcpy(levels + nr, expansion->levels + frame.first, frame.nr * sizeof(*levels));
	}
}

void expansion_stack(const struct expansion *expansion, const struct sample *sample,
		     struct level_list *list)
{
	const struct stack_trie *trie = expansion->profile->stacks;
	const struct level *root = expansion_root_level(expansion, sample);
	size_t nr = root ? 1 : 0;

	for (struct stack_id at = sample->stack; at.v != STACK_EMPTY.v;
	     at = stack_trie_parent(trie, at))
		nr += expansion->frames[stack_trie_frame(trie, at).v].nr;
	ARRAY_RESERVE(list->levels, nr, list->cap);
	if (root)
		list->levels[0] = *root;
	fill_levels(expansion, sample->stack, list->levels, nr);
	list->nr = nr;
}

const struct function *label_function(const struct expansion *expansion, uint32_t label)
{
	const struct label *row = &expansion->labels[label];

	return row->kind == LABEL_FUNCTION ? &expansion->profile->symbols.functions[row->function.v]
					   : NULL;
}

/* A pattern would find something in almost any mangled name. */
static bool is_mangled(const char *name)
{
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R' || name[1] == 'D');
}

const char *label_shared_names(const struct expansion *expansion, uint32_t label)
{
	const struct function *function = label_function(expansion, label);

	return function ? profile_str(expansion->profile, function->shared) : "";
}

static bool function_is_meant(const struct expansion *expansion, const struct function *function,
			      bool (*is_meant)(const void *context, const char *name),
			      const void *context)
{
	const char *linkage_name = profile_str(expansion->profile, function->linkage_name);
	cleanup_free char *shared = xstrdup(profile_str(expansion->profile, function->shared));
	char *rest = shared, *name;

	if (*linkage_name && !is_mangled(linkage_name) && is_meant(context, linkage_name))
		return true;
	while ((name = strsep(&rest, "\n"))) {
		if (*name && demangled_name_is_meant(name, is_meant, context))
			return true;
	}
	return false;
}

bool label_is_meant(const struct expansion *expansion, uint32_t label,
		    bool (*is_meant)(const void *context, const char *name), const void *context)
{
	const struct function *function = label_function(expansion, label);
	struct buf name = {0};
	bool passes;

	if (function && function_is_meant(expansion, function, is_meant, context))
		return true;
	label_append_name(&name, expansion, label, NAME_FULL);
	passes = demangled_name_is_meant(buf_str(&name), is_meant, context);
	buf_release(&name);
	return passes;
}

/* Resolution calls a function without a symbol by its first address, in brackets. */
bool label_is_nameless(const struct expansion *expansion, uint32_t label)
{
	const struct function *function = label_function(expansion, label);

	if (!function)
		return expansion->labels[label].kind == LABEL_ADDRESS;
	if (label_module(expansion, label)->kind == MODULE_KIND_KERNEL)
		return false;
	return profile_str(expansion->profile, function->name)[0] == '[';
}

bool label_is_code(const struct expansion *expansion, uint32_t label)
{
	enum label_kind kind = expansion->labels[label].kind;

	return kind == LABEL_FUNCTION || kind == LABEL_ADDRESS;
}

bool label_is_script(const struct expansion *expansion, uint32_t label)
{
	const struct module *module = label_module(expansion, label);

	return module && module->kind == MODULE_KIND_SCRIPT;
}

const struct module *label_module(const struct expansion *expansion, uint32_t label)
{
	if (!label_is_code(expansion, label))
		return NULL;
	return module_table_get(expansion->profile->modules, expansion->labels[label].module);
}

/*
 * [libc.so.6+0x1234]; a pseudo name like [vdso] loses its own brackets. JIT-compiled code is [jit].
 */
static void append_address(struct buf *out, const struct expansion *expansion, uint32_t label)
{
	const struct module *module = label_module(expansion, label);
	const char *name = module_short_name(module);
	size_t length = strlen(name);

	if (module->kind == MODULE_KIND_JIT) {
		buf_append_str(out, name);
		return;
	}
	if (length >= 2 && name[0] == '[' && name[length - 1] == ']') {
		name++;
		length -= 2;
	}
	buf_append_byte(out, '[');
	buf_append(out, name, length);
	if (expansion->labels[label].number == LABEL_AWAITED)
		buf_append_byte(out, ']');
	else
		buf_printf(out, "+0x%" PRIx64 "]", expansion->labels[label].number);
}

static void append_function(struct buf *out, const struct expansion *expansion, uint32_t label,
			    enum name_style style)
{
	const struct function *function = label_function(expansion, label);
	const struct module *module =
		module_table_get(expansion->profile->modules, expansion->labels[label].module);
	const char *name = profile_str(expansion->profile, function->name);
	char *short_name;

	/* Names of scripts, of JIT-compiled code, and the kernel's do not follow the rules of C++.
	 */
	if (style == NAME_FULL || module->kind == MODULE_KIND_JIT ||
	    module->kind == MODULE_KIND_KERNEL || module->kind == MODULE_KIND_SCRIPT) {
		buf_append_str(out, name);
		return;
	}
	short_name = demangled_name_shorten(name);
	buf_append_str(out, short_name);
	free(short_name);
}

void label_append_place(struct buf *out, const struct expansion *expansion, uint32_t label)
{
	const struct function *function = label_function(expansion, label);
	const char *file, *slash;

	if (!function || !label_is_script(expansion, label) || function->file.v == STR_EMPTY.v)
		return;
	file = profile_str(expansion->profile, function->file);
	slash = strrchr(file, '/');
	buf_printf(out, " (%s", slash ? slash + 1 : file);
	if (function->line)
		buf_printf(out, ":%" PRIu32, function->line);
	buf_append_byte(out, ')');
}

/* The label in place of the missing callers of an incomplete stack. */
static void append_missing_root(struct buf *out, enum stack_end end)
{
	bool is_class = end == STACK_END_OTHER_STACK || end == STACK_END_UNPROVED;

	buf_printf(out, is_class ? "[%s]" : "[truncated: %s]", stack_end_name(end));
}

void label_append_name(struct buf *out, const struct expansion *expansion, uint32_t label,
		       enum name_style style)
{
	const struct label *row = &expansion->labels[label];

	switch (row->kind) {
	case LABEL_FUNCTION:
		append_function(out, expansion, label, style);
		break;
	case LABEL_ADDRESS:
		append_address(out, expansion, label);
		break;
	case LABEL_UNKNOWN:
		buf_append_str(out, "[unknown]");
		break;
	case LABEL_ELIDED:
		buf_printf(out, "[%" PRIu64 " frames left out]", row->number);
		break;
	case LABEL_UNATTRIBUTED:
		buf_append_str(out, "[unattributed]");
		break;
	case LABEL_NO_STACK:
		buf_append_str(out, "[no stack]");
		break;
	case LABEL_TRUNCATED:
		append_missing_root(out, (enum stack_end)row->number);
		break;
	case LABEL_INDIRECT:
		buf_append_str(out, "[indirect calls]");
		break;
	case LABEL_UNSAMPLED:
		buf_append_str(out, "[without samples]");
		break;
	case LABEL_PAGE_FAULT:
		buf_append_str(out, "[page fault]");
		break;
	case LABEL_HIDDEN:
		buf_append_str(out, "[hidden]");
		break;
	case LABEL_NATIVE:
		buf_append_str(out, "[native]");
		break;
	case LABEL_BETWEEN:
		buf_append_str(out, "[between samples]");
		break;
	}
}
