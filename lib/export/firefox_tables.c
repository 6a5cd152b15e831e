// SPDX-License-Identifier: GPL-2.0-or-later
/* The shared tables of a Firefox profile: texts, functions, frames and stacks. */
#include "export/firefox_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/strtab.h"
#include "export/extract_priv.h"
#include "mapping/module.h"

#define RESOURCE_LIBRARY 1
#define RESOURCE_URL	 5

/* --- numbering --- */

static uint32_t string(struct firefox *out, const char *text)
{
	return strtab_intern(out->strings, text).v;
}

static void note_function(struct firefox *out, uint32_t label)
{
	const struct function *function = label_function(out->extract->expansion, label);

	numbering_of(&out->functions, label);
	if (function && function->file.v != STR_EMPTY.v)
		numbering_of(&out->sources, function->file.v);
	if (label_module(out->extract->expansion, label))
		numbering_of(&out->libraries, out->extract->expansion->labels[label].module.v);
}

void firefox_init(struct firefox *out, const struct extract *extract)
{
	const struct profile *profile = extract->profile;

	*out = (struct firefox){.extract = extract, .strings = strtab_new()};
	numbering_init(&out->functions, extract->expansion->nr_labels);
	numbering_init(&out->libraries, module_table_nr(profile->modules));
	numbering_init(&out->sources, strtab_nr(profile->strings));
	rows_init(&out->rows, extract->paths, extract->expansion);
	for (size_t i = 0; i < out->rows.nr_frames; i++)
		note_function(out, out->rows.frames[i].level->label);
	if (extract->nr_marks)
		out->mark_name = string(out, FIREFOX_MARK);
}

void firefox_release(struct firefox *out)
{
	numbering_release(&out->functions);
	numbering_release(&out->libraries);
	numbering_release(&out->sources);
	strtab_free(out->strings);
	rows_release(&out->rows);
}

const struct module *firefox_library(const struct firefox *out, uint32_t id)
{
	struct module_id module = {out->libraries.ids[id]};

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

static void write_stack_table(struct firefox *out)
{
	struct json *json = &out->json;

	json_key_object_begin(json, "stackTable");
	json_key_array_begin(json, "frame");
	for (size_t i = 0; i < out->rows.nr_stacks; i++)
		json_u64(json, out->rows.stacks[i].frame);
	json_array_end(json);
	json_key_array_begin(json, "prefix");
	for (size_t i = 0; i < out->rows.nr_stacks; i++)
		json_number_or_null(json, out->rows.stacks[i].prefix, ROW_NONE);
	json_array_end(json);
	json_key_u64(json, "length", out->rows.nr_stacks);
	json_object_end(json);
}

static bool is_script(const struct firefox *out, uint32_t label)
{
	return label_is_script(out->extract->expansion, label);
}

/* In the module's file; -1 where there is no code, and of scripts, which have no addresses. */
static int64_t frame_address(const struct firefox *out, const struct frame_row *row)
{
	const struct code_address *where = path_frame_address(out->extract->expansion, row->node);

	return where && !is_script(out, row->level->label) ? (int64_t)(where->address & INT64_MAX)
							   : -1;
}

static void write_frame_table(struct firefox *out)
{
	const struct expansion *expansion = out->extract->expansion;
	struct json *json = &out->json;

	json_key_object_begin(json, "frameTable");
	json_key_array_begin(json, "address");
	for (size_t i = 0; i < out->rows.nr_frames; i++)
		json_i64(json, frame_address(out, &out->rows.frames[i]));
	json_array_end(json);
	json_key_array_begin(json, "inlineDepth");
	for (size_t i = 0; i < out->rows.nr_frames; i++)
		json_u64(json, out->rows.frames[i].depth);
	json_array_end(json);
	json_key_array_begin(json, "func");
	for (size_t i = 0; i < out->rows.nr_frames; i++)
		json_u64(json, numbering_of(&out->functions, out->rows.frames[i].level->label));
	json_array_end(json);
	json_key_array_begin(json, "line");
	for (size_t i = 0; i < out->rows.nr_frames; i++)
		json_number_or_null(json, expansion->places[out->rows.frames[i].level->place].line,
				    0);
	json_array_end(json);
	json_key_array_begin(json, "category");
	for (size_t i = 0; i < out->rows.nr_frames; i++)
		json_u64(json, is_script(out, out->rows.frames[i].level->label)
				       ? FIREFOX_CATEGORY_SCRIPT
				       : FIREFOX_CATEGORY_NATIVE);
	json_array_end(json);
	firefox_constant_column(json, "subcategory", out->rows.nr_frames, 0);
	firefox_constant_column(json, "nativeSymbol", out->rows.nr_frames, FIREFOX_NULL);
	firefox_constant_column(json, "innerWindowID", out->rows.nr_frames, FIREFOX_NULL);
	firefox_constant_column(json, "column", out->rows.nr_frames, FIREFOX_NULL);
	json_key_u64(json, "length", out->rows.nr_frames);
	json_object_end(json);
}

static void write_function_sources(struct firefox *out)
{
	struct json *json = &out->json;

	json_key_array_begin(json, "source");
	for (uint32_t i = 0; i < out->functions.nr; i++) {
		const struct function *function =
			label_function(out->extract->expansion, out->functions.ids[i]);

		if (function && function->file.v != STR_EMPTY.v)
			json_u64(json, numbering_of(&out->sources, function->file.v));
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
		uint32_t label = out->functions.ids[i];

		if (label_module(expansion, label))
			json_u64(json,
				 numbering_of(&out->libraries, expansion->labels[label].module.v));
		else
			json_i64(json, -1);
	}
	json_array_end(json);
}

/* The viewer can show functions that it takes for JavaScript's alone: here, those of scripts. */
static void write_function_flags(struct firefox *out)
{
	struct json *json = &out->json;

	json_key_array_begin(json, "isJS");
	for (uint32_t i = 0; i < out->functions.nr; i++)
		json_bool(json, is_script(out, out->functions.ids[i]));
	json_array_end(json);
	json_key_array_begin(json, "relevantForJS");
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
		json_u64(json, string(out, extract_name(extract, out->functions.ids[i])));
	json_array_end(json);
	write_function_flags(out);
	write_function_resources(out);
	write_function_sources(out);
	json_key_array_begin(json, "lineNumber");
	for (uint32_t i = 0; i < out->functions.nr; i++)
		json_number_or_null(json, extract_function_line(extract, out->functions.ids[i]), 0);
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
	for (uint32_t i = 0; i < out->libraries.nr; i++) {
		if (firefox_library(out, i)->kind == MODULE_KIND_SCRIPT)
			json_null(json);
		else
			json_u64(json, i);
	}
	json_array_end(json);
	json_key_array_begin(json, "name");
	for (uint32_t i = 0; i < out->libraries.nr; i++)
		json_u64(json, string(out, module_short_name(firefox_library(out, i))));
	json_array_end(json);
	firefox_constant_column(json, "host", out->libraries.nr, FIREFOX_NULL);
	json_key_array_begin(json, "type");
	for (uint32_t i = 0; i < out->libraries.nr; i++)
		json_u64(json, firefox_library(out, i)->kind == MODULE_KIND_SCRIPT
				       ? RESOURCE_URL
				       : RESOURCE_LIBRARY);
	json_array_end(json);
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
		struct str_id file = {out->sources.ids[i]};

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
