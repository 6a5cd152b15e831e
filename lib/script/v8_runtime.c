// SPDX-License-Identifier: GPL-2.0-or-later
/* V8 in a process, as Node.js has it: its version, and what it exports about its objects. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "mapping/space.h"
#include "script/runtime_priv.h"
#include "script/script.h"
#include "script/v8.h"
#include "script/v8_layout.h"
#include "script/v8_names.h"
#include "snapshot/snapshot.h"

/* In the order of v8_runtime.exports. */
enum export {
	EXPORT_MAJOR,
	EXPORT_MINOR,
	EXPORT_BUILTINS,
	EXPORT_BUILTINS_BYTES,
	EXPORT_FP_FUNCTION,
	EXPORT_FP_CONTEXT,
	EXPORT_FP_BYTECODES,
	EXPORT_FP_OFFSET,
	EXPORT_EXIT,
	EXPORT_BUILTIN_EXIT,
	EXPORT_MAP,
	EXPORT_MAP_TYPE,
	EXPORT_SHARED,
	EXPORT_SHARED_CODE,
	EXPORT_BYTECODES_DATA,
	EXPORT_SCOPE,
	EXPORT_SCRIPT,
	EXPORT_SCRIPT_NAME,
	EXPORT_SCRIPT_SOURCE,
	EXPORT_LINE_ENDS,
	EXPORT_TEXT_LENGTH,
	EXPORT_TEXT_CHARACTERS,
	EXPORT_THIN_ACTUAL,
	EXPORT_CONS_FIRST,
	EXPORT_CONS_SECOND,
	EXPORT_SLICED_PARENT,
	EXPORT_SLICED_OFFSET,
	EXPORT_EXTERNAL_RESOURCE,
	EXPORT_TYPE_FUNCTION,
	EXPORT_TYPE_SHARED,
	EXPORT_TYPE_SCOPE,
	EXPORT_TYPE_SCRIPT,
	EXPORT_TYPE_MAP,
	EXPORT_TYPE_BYTECODES,
	EXPORT_TYPE_BYTES,
	EXPORT_TYPE_CODE,
	EXPORT_KIND_MASK,
	EXPORT_KIND_BASELINE,
	EXPORT_TYPE_NONE_TEXT,
	EXPORT_SHAPE_MASK,
	EXPORT_SEQUENTIAL,
	EXPORT_CONS,
	EXPORT_SLICED,
	EXPORT_THIN,
	EXPORT_EXTERNAL,
	EXPORT_WIDTH_MASK,
	EXPORT_ONE_BYTE,
	EXPORT_POINTER_BYTES,
	EXPORT_BYTECODE_SIZES,
	NR_EXPORTS,
};

_Static_assert(NR_EXPORTS <= SCRIPT_EXPORTS_MAX, "room for the addresses");
_Static_assert(sizeof(struct v8) <= WANTED_FACTS_BYTES, "room for a copy");

struct engine {
	struct v8 v8; /* first: the walk needs only this */
	struct v8_names *names;
};

/* Versions with scopes as v8_names.c reads them: those of Node.js 18 and 20. */
static const struct version {
	int32_t major, minor;
	const char *node;
	struct v8_code_layout code; /* what is not exported */
} versions[] = {{10, 2, "18", {.inner_start = 128, .size = 40, .flags = 48}},
		{11, 3, "20", {.start = 40, .size = 56, .flags = 48}}};

/* Offsets within objects and from frame pointers, and numbers of types, are small. */
#define OFFSET_MAX 248

static bool is_offset(int32_t value)
{
	return value >= 0 && value <= OFFSET_MAX;
}

static bool is_type(int32_t value)
{
	return value >= 0 && value <= UINT16_MAX;
}

static bool is_below_fp(int32_t value)
{
	return value < 0 && value >= -OFFSET_MAX;
}

static bool are_plausible(const int32_t *values)
{
	bool is_plausible = is_type(values[EXPORT_EXIT]) && is_type(values[EXPORT_BUILTIN_EXIT]) &&
			    values[EXPORT_BYTECODES_DATA] > 0 && !values[EXPORT_MAP];

	for (int i = EXPORT_FP_FUNCTION; i <= EXPORT_FP_OFFSET; i++)
		is_plausible &= is_below_fp(values[i]);
	for (int i = EXPORT_MAP; i <= EXPORT_EXTERNAL_RESOURCE; i++)
		is_plausible &= is_offset(values[i]);
	for (int i = EXPORT_TYPE_FUNCTION; i <= EXPORT_ONE_BYTE; i++)
		is_plausible &= is_type(values[i]);
	/* Compressed pointers have half of that. */
	return is_plausible && values[EXPORT_POINTER_BYTES] == (int32_t)sizeof(uint64_t);
}

static struct v8_layout layout_of(const struct version *version, const int32_t *values)
{
	return (struct v8_layout){
		.code.start = version->code.start,
		.code.inner_start = version->code.inner_start,
		.code.size = version->code.size,
		.code.flags = version->code.flags,
		.code.kind_mask = (uint32_t)values[EXPORT_KIND_MASK],
		.code.kind_baseline = (uint32_t)values[EXPORT_KIND_BASELINE],
		.code.type = (uint16_t)values[EXPORT_TYPE_CODE],
		.map_type = (uint32_t)values[EXPORT_MAP_TYPE],
		.shared_code = (uint32_t)values[EXPORT_SHARED_CODE],
		.bytecodes_data = (uint32_t)values[EXPORT_BYTECODES_DATA],
		.script_name = (uint32_t)values[EXPORT_SCRIPT_NAME],
		.script_source = (uint32_t)values[EXPORT_SCRIPT_SOURCE],
		.script_line_ends = (uint32_t)values[EXPORT_LINE_ENDS],
		.text.length = (uint32_t)values[EXPORT_TEXT_LENGTH],
		.text.characters = (uint32_t)values[EXPORT_TEXT_CHARACTERS],
		.text.thin_actual = (uint32_t)values[EXPORT_THIN_ACTUAL],
		.text.cons_first = (uint32_t)values[EXPORT_CONS_FIRST],
		.text.cons_second = (uint32_t)values[EXPORT_CONS_SECOND],
		.text.sliced_parent = (uint32_t)values[EXPORT_SLICED_PARENT],
		.text.sliced_offset = (uint32_t)values[EXPORT_SLICED_OFFSET],
		/* The object of the embedder's, and then what that has said. */
		.text.external_characters =
			(uint32_t)values[EXPORT_EXTERNAL_RESOURCE] + (uint32_t)sizeof(uint64_t),
		.type_function = (uint16_t)values[EXPORT_TYPE_FUNCTION],
		.type_shared = (uint16_t)values[EXPORT_TYPE_SHARED],
		.type_scope = (uint16_t)values[EXPORT_TYPE_SCOPE],
		.type_script = (uint16_t)values[EXPORT_TYPE_SCRIPT],
		.type_map = (uint16_t)values[EXPORT_TYPE_MAP],
		.type_bytecodes = (uint16_t)values[EXPORT_TYPE_BYTECODES],
		.type_bytes = (uint16_t)values[EXPORT_TYPE_BYTES],
		.text.end = (uint16_t)values[EXPORT_TYPE_NONE_TEXT],
		.text.shape_mask = (uint16_t)values[EXPORT_SHAPE_MASK],
		.text.sequential = (uint16_t)values[EXPORT_SEQUENTIAL],
		.text.cons = (uint16_t)values[EXPORT_CONS],
		.text.sliced = (uint16_t)values[EXPORT_SLICED],
		.text.thin = (uint16_t)values[EXPORT_THIN],
		.text.external = (uint16_t)values[EXPORT_EXTERNAL],
		.text.width_mask = (uint16_t)values[EXPORT_WIDTH_MASK],
		.text.one_byte = (uint16_t)values[EXPORT_ONE_BYTE],
	};
}

/*
 * The value that a function returns which does nothing but load it: "mov N(%rip), %rax; ret", of
 * 8 bytes with a prefix, or "mov N(%rip), %eax; ret". False: it is another one, as on other
 * processors.
 */
static bool load_as(struct space *space, uint64_t function, bool is_long, uint64_t *value)
{
	static const uint8_t opcode[] = {0x48, 0x8b, 0x05};
	const uint8_t *begin = is_long ? opcode : opcode + 1;
	size_t nr = sizeof(opcode) - !is_long;
	uint8_t code[8];
	int32_t distance;

	if (!space_read_memory(space, function, code, nr + 5) || memcmp(code, begin, nr) != 0 ||
	    code[nr + 4] != 0xc3)
		return false;
	memcpy(&distance, code + nr, sizeof(distance));
	*value = 0;
	return space_read_memory(space, function + nr + 4 + (uint64_t)(int64_t)distance, value,
				 is_long ? sizeof(uint64_t) : sizeof(uint32_t));
}

/*
 * V8 may run a copy of its builtins, which is of the same part of its file. The size is 0 until it
 * has begun.
 */
static bool find_builtins(struct space *space, const struct script_module *module, struct v8 *v8,
			  bool *is_early)
{
	const struct mapping *code = space_find(space, module->exports[EXPORT_BUILTINS]);
	uint64_t start, nr_bytes;

	if (!code || !load_as(space, module->exports[EXPORT_BUILTINS], true, &start) ||
	    !load_as(space, module->exports[EXPORT_BUILTINS_BYTES], false, &nr_bytes))
		return false;
	*is_early = !start || !nr_bytes;
	if (*is_early || start < module->bias)
		return false;
	v8->builtins_start = start - module->bias;
	v8->builtins_end = v8->builtins_start + nr_bytes;
	v8->code_start = code->start;
	v8->code_end = code->end;
	v8->bias = module->bias;
	return true;
}

/* "20"; versions of V8 mean little to users, but are all there is of one that is not known. */
static const struct version *find_version(struct script_found *found, const int32_t *values)
{
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		if (versions[i].major == values[EXPORT_MAJOR] &&
		    versions[i].minor == values[EXPORT_MINOR]) {
			snprintf(found->version, sizeof(found->version), "%s", versions[i].node);
			return &versions[i];
		}
	}
	return NULL;
}

/* Numbers in frames are kept apart from pointers by their lowest bit. */
static uint64_t mark_of(int32_t type)
{
	return (uint64_t)type << 1;
}

static void *recognise(struct space *space, const struct script_module *module,
		       struct script_found *found)
{
	int32_t values[NR_EXPORTS] = {0};
	const struct version *version;
	struct v8_layout layout;
	struct engine *engine;

	*found = (struct script_found){.support = SCRIPT_UNKNOWN_VERSION};
	for (int i = 0; i < NR_EXPORTS; i++) {
		if (i != EXPORT_BUILTINS && i != EXPORT_BUILTINS_BYTES &&
		    i != EXPORT_BYTECODE_SIZES &&
		    !space_read_memory(space, module->exports[i], &values[i], sizeof(values[i])))
			return NULL;
	}
	version = find_version(found, values);
	if (!version)
		return NULL;
	found->support = SCRIPT_OTHER_LAYOUT;
	if (!are_plausible(values))
		return NULL;
	layout = layout_of(version, values);
	if (!space_read_memory(space, module->exports[EXPORT_BYTECODE_SIZES], layout.bytecode_sizes,
			       sizeof(layout.bytecode_sizes)))
		return NULL;
	engine = xcalloc(1, sizeof(*engine));
	engine->v8 = (struct v8){.fp_function = values[EXPORT_FP_FUNCTION],
				 .fp_context = values[EXPORT_FP_CONTEXT],
				 .fp_bytecodes = values[EXPORT_FP_BYTECODES],
				 .fp_offset = values[EXPORT_FP_OFFSET],
				 .exit_mark = mark_of(values[EXPORT_EXIT]),
				 .builtin_exit_mark = mark_of(values[EXPORT_BUILTIN_EXIT]),
				 .shared = (uint32_t)values[EXPORT_SHARED],
				 .scope = (uint32_t)values[EXPORT_SCOPE],
				 .script = (uint32_t)values[EXPORT_SCRIPT]};
	if (!find_builtins(space, module, &engine->v8, &found->is_early)) {
		free(engine);
		return NULL;
	}
	engine->names = v8_names_new(&layout);
	found->support = SCRIPT_READ;
	return engine;
}

static void forget(void *facts)
{
	struct engine *engine = facts;

	v8_names_free(engine->names);
	free(engine);
}

static enum script_outcome walk(const void *facts, const uint64_t *states, size_t nr_states,
				const struct snapshot *snapshot,
				const struct script_native *natives, size_t nr_natives,
				struct script_walk *out)
{
	const struct engine *engine = facts;

	(void)states;
	(void)nr_states;
	return v8_walk(&engine->v8, snapshot, natives, nr_natives, out);
}

/* The facts are a copy of the first member of struct engine. */
static bool find_missing(const void *facts, uint64_t thread_state, const struct snapshot *snapshot,
			 struct wanted_memory *missing)
{
	(void)thread_state;
	return v8_find_missing(facts, snapshot, missing);
}

static void complete_wanted(const void *facts, struct wanted_memory *wanted)
{
	const struct engine *engine = facts;

	v8_names_want_recent(engine->names, wanted);
	for (size_t i = 0; i < wanted->nr; i++) {
		struct wanted_range *range = &wanted->at[i];

		range->is_late = (range->nr_bytes == v8_function_bytes(&engine->v8) ||
				  range->nr_bytes == v8_shared_bytes(&engine->v8)) &&
				 v8_names_is_steady(engine->names, range->start);
	}
}

static void find_places(void *facts, struct space *space, const struct snapshot *snapshot,
			const struct script_frame *frames, size_t nr, struct script_place *places)
{
	struct engine *engine = facts;

	v8_names_find(engine->names, &engine->v8, space, snapshot, frames, nr, places);
}

const struct script_runtime v8_runtime = {
	.name = "Node.js",
	.has_own_code = true,
	.exports = {[EXPORT_MAJOR] = "_ZN2v88internal7Version6major_E",
		    [EXPORT_MINOR] = "_ZN2v88internal7Version6minor_E",
		    [EXPORT_BUILTINS] = "_ZN2v88internal7Isolate23CurrentEmbeddedBlobCodeEv",
		    [EXPORT_BUILTINS_BYTES] =
			    "_ZN2v88internal7Isolate27CurrentEmbeddedBlobCodeSizeEv",
		    [EXPORT_FP_FUNCTION] = "v8dbg_off_fp_function",
		    [EXPORT_FP_CONTEXT] = "v8dbg_off_fp_context_or_frame_type",
		    [EXPORT_FP_BYTECODES] = "v8dbg_off_fp_bytecode_array",
		    [EXPORT_FP_OFFSET] = "v8dbg_off_fp_bytecode_offset",
		    [EXPORT_EXIT] = "v8dbg_frametype_ExitFrame",
		    [EXPORT_BUILTIN_EXIT] = "v8dbg_frametype_BuiltinExitFrame",
		    [EXPORT_MAP] = "v8dbg_class_HeapObject__map__Map",
		    [EXPORT_MAP_TYPE] = "v8dbg_class_Map__instance_type__uint16_t",
		    [EXPORT_SHARED] = "v8dbg_class_JSFunction__shared__SharedFunctionInfo",
		    [EXPORT_SHARED_CODE] = "v8dbg_class_SharedFunctionInfo__function_data__Object",
		    [EXPORT_BYTECODES_DATA] = "v8dbg_class_BytecodeArray__data__uintptr_t",
		    [EXPORT_SCOPE] = "v8dbg_class_SharedFunctionInfo__name_or_scope_info__Object",
		    [EXPORT_SCRIPT] =
			    "v8dbg_class_SharedFunctionInfo__script_or_debug_info__HeapObject",
		    [EXPORT_SCRIPT_NAME] = "v8dbg_class_Script__name__Object",
		    [EXPORT_SCRIPT_SOURCE] = "v8dbg_class_Script__source__Object",
		    [EXPORT_LINE_ENDS] = "v8dbg_class_Script__line_ends__Object",
		    [EXPORT_TEXT_LENGTH] = "v8dbg_class_String__length__int32_t",
		    [EXPORT_TEXT_CHARACTERS] = "v8dbg_class_SeqOneByteString__chars__char",
		    [EXPORT_THIN_ACTUAL] = "v8dbg_class_ThinString__actual__String",
		    [EXPORT_CONS_FIRST] = "v8dbg_class_ConsString__first__String",
		    [EXPORT_CONS_SECOND] = "v8dbg_class_ConsString__second__String",
		    [EXPORT_SLICED_PARENT] = "v8dbg_class_SlicedString__parent__String",
		    [EXPORT_SLICED_OFFSET] = "v8dbg_class_SlicedString__offset__SMI",
		    [EXPORT_EXTERNAL_RESOURCE] = "v8dbg_class_ExternalString__resource__Object",
		    [EXPORT_TYPE_FUNCTION] = "v8dbg_type_JSFunction__JS_FUNCTION_TYPE",
		    [EXPORT_TYPE_SHARED] =
			    "v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE",
		    [EXPORT_TYPE_SCOPE] = "v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE",
		    [EXPORT_TYPE_SCRIPT] = "v8dbg_type_Script__SCRIPT_TYPE",
		    [EXPORT_TYPE_MAP] = "v8dbg_type_Map__MAP_TYPE",
		    [EXPORT_TYPE_BYTECODES] = "v8dbg_type_BytecodeArray__BYTECODE_ARRAY_TYPE",
		    [EXPORT_TYPE_BYTES] = "v8dbg_type_ByteArray__BYTE_ARRAY_TYPE",
		    [EXPORT_TYPE_CODE] = "v8dbg_type_Code__CODE_TYPE",
		    [EXPORT_KIND_MASK] = "v8dbg_CodeKindFieldMask",
		    [EXPORT_KIND_BASELINE] = "v8dbg_CodeKindBaseline",
		    [EXPORT_TYPE_NONE_TEXT] = "v8dbg_FirstNonstringType",
		    [EXPORT_SHAPE_MASK] = "v8dbg_StringRepresentationMask",
		    [EXPORT_SEQUENTIAL] = "v8dbg_SeqStringTag",
		    [EXPORT_CONS] = "v8dbg_ConsStringTag",
		    [EXPORT_SLICED] = "v8dbg_SlicedStringTag",
		    [EXPORT_THIN] = "v8dbg_ThinStringTag",
		    [EXPORT_EXTERNAL] = "v8dbg_ExternalStringTag",
		    [EXPORT_WIDTH_MASK] = "v8dbg_StringEncodingMask",
		    [EXPORT_ONE_BYTE] = "v8dbg_OneByteStringTag",
		    [EXPORT_POINTER_BYTES] = "v8dbg_TaggedSize",
		    [EXPORT_BYTECODE_SIZES] =
			    "_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE"},
	.nr_exports = NR_EXPORTS,
	.recognise = recognise,
	.forget = forget,
	.walk = walk,
	.nr_fact_bytes = sizeof(struct v8),
	.missing.find = find_missing,
	.complete_wanted = complete_wanted,
	.find_places = find_places,
};
