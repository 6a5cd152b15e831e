// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/firefox_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strtab.h"
#include "export/extract_priv.h"
#include "mapping/module.h"

#define CATEGORY_NATIVE	 1 /* of meta.categories */
#define RESOURCE_LIBRARY 1
#define NONE		 UINT32_MAX

/* A row of frameTable: one level of the inline chain of one address. */
struct frame_row {
	const struct level *level;
	uint32_t node;	/* of the path */
	uint32_t depth; /* 0: not inlined */
};

/* A row of stackTable. */
struct stack_row {
	uint32_t frame, prefix; /* prefix NONE: a root */
};

static struct firefox_ids ids_new(size_t nr)
{
	return (struct firefox_ids){.ids = xcalloc(nr, sizeof(uint32_t)),
				    .used = xcalloc(nr, sizeof(uint32_t))};
}

static void ids_release(struct firefox_ids *ids)
{
	free(ids->ids);
	free(ids->used);
}

static uint32_t number(struct firefox_ids *ids, uint32_t thing)
{
	if (!ids->ids[thing]) {
		ids->used[ids->nr++] = thing;
		ids->ids[thing] = ids->nr;
	}
	return ids->ids[thing] - 1;
}

/* --- tables --- */

static void note_function(struct firefox *out, uint32_t label)
{
	const struct function *function = label_function(out->extract->expansion, label);

	number(&out->functions, label);
	if (function && function->file.v != STR_EMPTY.v)
		number(&out->sources, function->file.v);
	if (label_module(out->extract->expansion, label))
		number(&out->libraries, out->extract->expansion->labels[label].module.v);
}

static uint32_t frame_rows(struct firefox *out, uint32_t node)
{
	const struct level *levels;
	uint32_t nr;

	if (out->frame_of_node[node] != NONE)
		return out->frame_of_node[node];
	levels = path_frame_levels(out->extract->expansion, node, &nr);
	out->frame_of_node[node] = (uint32_t)out->nr_frames;
	for (uint32_t i = 0; i < nr; i++) {
		ARRAY_GROW(out->frames, out->nr_frames, out->cap_frames);
		out->frames[out->nr_frames++] = (struct frame_row){&levels[i], node, i};
		note_function(out, levels[i].label);
	}
	return out->frame_of_node[node];
}

static void add_stack_rows(struct firefox *out, struct stack_id path)
{
	const struct stack_trie *paths = out->extract->paths;
	uint32_t node = stack_trie_frame(paths, path).v;
	uint32_t frame = frame_rows(out, node);
	uint32_t prefix = out->stack_of_path[stack_trie_parent(paths, path).v];
	uint32_t nr;

	(void)path_frame_levels(out->extract->expansion, node, &nr);
	for (uint32_t i = 0; i < nr; i++) {
		ARRAY_GROW(out->stacks, out->nr_stacks, out->cap_stacks);
		out->stacks[out->nr_stacks] = (struct stack_row){frame + i, prefix};
		prefix = (uint32_t)out->nr_stacks++;
	}
	out->stack_of_path[path.v] = prefix;
}

static void make_tables(struct firefox *out)
{
	uint32_t nr_paths = stack_trie_nr(out->extract->paths);

	out->stack_of_path[STACK_EMPTY.v] = NONE;
	for (uint32_t path = 1; path < nr_paths; path++)
		add_stack_rows(out, (struct stack_id){path});
}

void firefox_init(struct firefox *out, const struct extract *extract)
{
	const struct profile *profile = extract->profile;
	uint32_t nr_nodes = path_nr_frame_nodes(extract->expansion);

	*out = (struct firefox){.extract = extract, .strings = strtab_new()};
	out->frame_of_node = xcalloc(nr_nodes, sizeof(*out->frame_of_node));
	memset(out->frame_of_node, 0xff, nr_nodes * sizeof(*out->frame_of_node));
	out->stack_of_path = xcalloc(stack_trie_nr(extract->paths), sizeof(*out->stack_of_path));
	out->functions = ids_new(extract->expansion->nr_labels);
	out->libraries = ids_new(module_table_nr(profile->modules));
	out->sources = ids_new(strtab_nr(profile->strings));
	make_tables(out);
}

void firefox_release(struct firefox *out)
{
	ids_release(&out->functions);
	ids_release(&out->libraries);
	ids_release(&out->sources);
	strtab_free(out->strings);
	free(out->frames);
	free(out->frame_of_node);
	free(out->stacks);
	free(out->stack_of_path);
}

const struct module *firefox_library(const struct firefox *out, uint32_t id)
{
	struct module_id module = {out->libraries.used[id]};

	return module_table_get(out->extract->profile->modules, module);
}

/* --- writing --- */

void firefox_constant_column(struct json *json, const char *key, size_t nr, int64_t value)
{
	json_key_array_begin(json, key);
	for (size_t i = 0; i < nr; i++) {
		if (value == FIREFOX_NULL)
			json_null(json);
		else
			json_i64(json, value);
	}
	json_array_end(json);
}

static void json_number_or_null(struct json *json, uint32_t value, uint32_t null_value)
{
	if (value == null_value)
		json_null(json);
	else
		json_u64(json, value);
}

static uint32_t string(struct firefox *out, const char *text)
{
	return strtab_intern(out->strings, text).v;
}

static void write_stack_table(struct firefox *out)
{
	struct json *json = &out->json;

	json_key_object_begin(json, "stackTable");
	json_key_array_begin(json, "frame");
	for (size_t i = 0; i < out->nr_stacks; i++)
		json_u64(json, out->stacks[i].frame);
	json_array_end(json);
	json_key_array_begin(json, "prefix");
	for (size_t i = 0; i < out->nr_stacks; i++)
		json_number_or_null(json, out->stacks[i].prefix, NONE);
	json_array_end(json);
	json_key_u64(json, "length", out->nr_stacks);
	json_object_end(json);
}

/* In the module's file; -1 where there is no code. */
static int64_t frame_address(const struct firefox *out, const struct frame_row *row)
{
	const struct profile *profile = out->extract->profile;
	struct code_address where;

	if (row->node >= profile->nr_frames)
		return -1;
	where = profile->frames[row->node].where;
	if (module_table_get(profile->modules, where.module)->kind == MODULE_KIND_ELIDED)
		return -1;
	return (int64_t)(where.address & INT64_MAX);
}

static void write_frame_table(struct firefox *out)
{
	const struct expansion *expansion = out->extract->expansion;
	struct json *json = &out->json;

	json_key_object_begin(json, "frameTable");
	json_key_array_begin(json, "address");
	for (size_t i = 0; i < out->nr_frames; i++)
		json_i64(json, frame_address(out, &out->frames[i]));
	json_array_end(json);
	json_key_array_begin(json, "inlineDepth");
	for (size_t i = 0; i < out->nr_frames; i++)
		json_u64(json, out->frames[i].depth);
	json_array_end(json);
	json_key_array_begin(json, "func");
	for (size_t i = 0; i < out->nr_frames; i++)
		json_u64(json, number(&out->functions, out->frames[i].level->label));
	json_array_end(json);
	json_key_array_begin(json, "line");
	for (size_t i = 0; i < out->nr_frames; i++)
		json_number_or_null(json, expansion->places[out->frames[i].level->place].line, 0);
	json_array_end(json);
	firefox_constant_column(json, "category", out->nr_frames, CATEGORY_NATIVE);
	firefox_constant_column(json, "subcategory", out->nr_frames, 0);
	firefox_constant_column(json, "nativeSymbol", out->nr_frames, FIREFOX_NULL);
	firefox_constant_column(json, "innerWindowID", out->nr_frames, FIREFOX_NULL);
	firefox_constant_column(json, "column", out->nr_frames, FIREFOX_NULL);
	json_key_u64(json, "length", out->nr_frames);
	json_object_end(json);
}

static void write_function_sources(struct firefox *out)
{
	struct json *json = &out->json;

	json_key_array_begin(json, "source");
	for (uint32_t i = 0; i < out->functions.nr; i++) {
		const struct function *function =
			label_function(out->extract->expansion, out->functions.used[i]);

		if (function && function->file.v != STR_EMPTY.v)
			json_u64(json, number(&out->sources, function->file.v));
		else
			json_null(json);
	}
	json_array_end(json);
}

static void write_function_resources(struct firefox *out)
{
	const struct expansion *expansion = out->extract->expansion;
	struct json *json = &out->json;

	json_key_array_begin(json, "resource");
	for (uint32_t i = 0; i < out->functions.nr; i++) {
		uint32_t label = out->functions.used[i];

		if (label_module(expansion, label))
			json_u64(json, number(&out->libraries, expansion->labels[label].module.v));
		else
			json_i64(json, -1);
	}
	json_array_end(json);
}

static void write_function_flags(struct firefox *out, const char *key)
{
	struct json *json = &out->json;

	json_key_array_begin(json, key);
	for (uint32_t i = 0; i < out->functions.nr; i++)
		json_bool(json, false);
	json_array_end(json);
}

static void write_function_table(struct firefox *out)
{
	const struct extract *extract = out->extract;
	struct json *json = &out->json;

	json_key_object_begin(json, "funcTable");
	json_key_array_begin(json, "name");
	for (uint32_t i = 0; i < out->functions.nr; i++)
		json_u64(json, string(out, extract_name(extract, out->functions.used[i])));
	json_array_end(json);
	write_function_flags(out, "isJS");
	write_function_flags(out, "relevantForJS");
	write_function_resources(out);
	write_function_sources(out);
	json_key_array_begin(json, "lineNumber");
	for (uint32_t i = 0; i < out->functions.nr; i++)
		json_number_or_null(json, extract_function_line(extract, out->functions.used[i]),
				    0);
	json_array_end(json);
	firefox_constant_column(json, "columnNumber", out->functions.nr, FIREFOX_NULL);
	json_key_u64(json, "length", out->functions.nr);
	json_object_end(json);
}

static void write_resource_table(struct firefox *out)
{
	struct json *json = &out->json;

	json_key_object_begin(json, "resourceTable");
	json_key_array_begin(json, "lib");
	for (uint32_t i = 0; i < out->libraries.nr; i++)
		json_u64(json, i);
	json_array_end(json);
	json_key_array_begin(json, "name");
	for (uint32_t i = 0; i < out->libraries.nr; i++)
		json_u64(json, string(out, module_short_name(firefox_library(out, i))));
	json_array_end(json);
	firefox_constant_column(json, "host", out->libraries.nr, FIREFOX_NULL);
	firefox_constant_column(json, "type", out->libraries.nr, RESOURCE_LIBRARY);
	json_key_u64(json, "length", out->libraries.nr);
	json_object_end(json);
}

static void write_sources(struct firefox *out)
{
	struct json *json = &out->json;

	json_key_object_begin(json, "sources");
	firefox_constant_column(json, "uuid", out->sources.nr, FIREFOX_NULL);
	json_key_array_begin(json, "filename");
	for (uint32_t i = 0; i < out->sources.nr; i++) {
		struct str_id file = {out->sources.used[i]};

		json_u64(json, string(out, profile_str(out->extract->profile, file)));
	}
	json_array_end(json);
	json_key_u64(json, "length", out->sources.nr);
	json_object_end(json);
}

static void write_native_symbols(struct json *json)
{
	static const char *const columns[] = {"libIndex", "address", "name", "functionSize"};

	json_key_object_begin(json, "nativeSymbols");
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		firefox_constant_column(json, columns[i], 0, 0);
	json_key_u64(json, "length", 0);
	json_object_end(json);
}

static void write_strings(struct firefox *out)
{
	json_key_array_begin(&out->json, "stringArray");
	for (uint32_t i = 0; i < strtab_nr(out->strings); i++)
		json_str(&out->json, strtab_get(out->strings, (struct str_id){i}));
	json_array_end(&out->json);
}

void firefox_write_shared(struct firefox *out)
{
	json_key_object_begin(&out->json, "shared");
	write_stack_table(out);
	write_frame_table(out);
	write_function_table(out);
	write_resource_table(out);
	write_native_symbols(&out->json);
	write_sources(out);
	write_strings(out); /* last: the others have filled it */
	json_object_end(&out->json);
}
