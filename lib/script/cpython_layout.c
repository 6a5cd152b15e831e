// SPDX-License-Identifier: GPL-2.0-or-later
/* The layouts of CPython by version, and what it says of its layout itself. */
#include "script/cpython_layout.h"

#include <string.h>

#include "base/alloc.h"

/* Offsets that are the same in 3.8, 3.9 and 3.10. */
#define BEFORE_3_11                                                                                \
	.has_frame_objects = true, .thread = {.next = 8, .id = 176, .frame = 24},                  \
	.code = {.first_line = 40,                                                                 \
		 .file = 104,                                                                      \
		 .name = 112,                                                                      \
		 .line_table = 120,                                                                \
		 .instructions = 176},                                                             \
	.text_ascii = 48, .text_other = 72

/* The frame of a version before that. */
#define FRAME_3_8                                                                                  \
	{                                                                                          \
		.code = 32, .previous = 24, .generator = 96, .instruction = 104,                   \
		.nr_number_bytes = 1, .variables = 360, .nr_bytes = 112                            \
	}

/* _PyRuntime of the two after that. */
#define RUNTIME_3_9                                                                                \
	{                                                                                          \
		.first_interpreter = 32, .next_interpreter = 0, .first_thread = 8,                 \
		.running_thread = 488, .thread_key = 504, .gil = 352                               \
	}

/* From the internal headers of each version, which Debian's python3-dev has as well. */
static const struct cpython_layout layouts[] = {
	{
		.version = 0x308,
		BEFORE_3_11,
		.runtime = {.first_interpreter = 32,
			    .next_interpreter = 0,
			    .first_thread = 8,
			    .running_thread = 1288,
			    .thread_key = 1312,
			    .gil = 1152},
		.frame = FRAME_3_8,
		.lines = CPYTHON_LINES_BY_STEP,
	},
	{
		.version = 0x309,
		BEFORE_3_11,
		.runtime = RUNTIME_3_9,
		.frame = FRAME_3_8,
		.lines = CPYTHON_LINES_BY_STEP,
	},
	{
		.version = 0x30a,
		BEFORE_3_11,
		.runtime = RUNTIME_3_9,
		.frame = {.code = 32,
			  .previous = 24,
			  .generator = 88,
			  .instruction = 96,
			  .nr_number_bytes = 2,
			  .variables = 352,
			  .nr_bytes = 104},
		.lines = CPYTHON_LINES_BY_RANGE,
	},
	{
		.version = 0x30b,
		.has_cframes = true,
		.runtime = {.first_interpreter = 40,
			    .next_interpreter = 0,
			    .first_thread = 16,
			    .running_thread = 496,
			    .thread_key = 512,
			    .gil = 360},
		.thread = {.next = 8,
			   .id = 152,
			   .chunk = 296,
			   .chunk_top = 304,
			   .cframe = 56,
			   .root_cframe = 336},
		.frame = {.code = 32,
			  .previous = 48,
			  .instruction = 56,
			  .is_entry = 68,
			  .owner = 69,
			  .nr_bytes = 72,
			  .cframe_frame = 8,
			  .cframe_previous = 16},
		.code = {.first_line = 72,
			 .file = 112,
			 .name = 128,
			 .line_table = 136,
			 .instructions = 184},
		.generator_frame = 80,
		.generator_state = 75,
		.text_ascii = 48,
		.text_other = 72,
		.lines = CPYTHON_LINES_BY_ENTRY,
	},
	{
		.version = 0x30c,
		.has_cframes = true,
		.has_entry_frames = true,
		.runtime = {.first_interpreter = 40,
			    .next_interpreter = 0,
			    .first_thread = 72,
			    .gil = 384},
		.thread = {.next = 8,
			   .id = 136,
			   .chunk = 232,
			   .chunk_top = 240,
			   .cframe = 56,
			   .root_cframe = 272},
		.frame = {.code = 0,
			  .previous = 8,
			  .instruction = 56,
			  .owner = 70,
			  .nr_bytes = 72,
			  .cframe_frame = 0,
			  .cframe_previous = 8},
		.code = {.first_line = 68,
			 .file = 112,
			 .name = 128,
			 .line_table = 136,
			 .version = 92,
			 .instructions = 192},
		.generator_frame = 72,
		.generator_state = 67,
		.text_ascii = 40,
		.text_other = 56,
		.lines = CPYTHON_LINES_BY_ENTRY,
	},
	{
		.version = 0x30d,
		.has_entry_frames = true,
		.describes_itself = true,
		.runtime = {.first_interpreter = 632,
			    .next_interpreter = 7264,
			    .first_thread = 7344},
		.thread = {.next = 8, .id = 152, .chunk = 232, .chunk_top = 240, .frame = 72},
		.frame = {.code = 0, .previous = 8, .instruction = 56, .owner = 70, .nr_bytes = 72},
		.code = {.first_line = 68,
			 .file = 112,
			 .name = 128,
			 .line_table = 136,
			 .version = 92,
			 .instructions = 200},
		.generator_frame = 72,
		.generator_state = 67,
		.text_ascii = 40,
		.text_other = 56,
		.lines = CPYTHON_LINES_BY_ENTRY,
	},
};

/* The level of a release in Py_Version: alphas, betas and candidates come before it. */
#define LEVEL_OF_RELEASE 0xf

const struct cpython_layout *cpython_layout_of(uint64_t version)
{
	if (version > UINT32_MAX || (version >> 4 & 0xf) != LEVEL_OF_RELEASE)
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++) {
		if (layouts[i].version == version >> 16)
			return &layouts[i];
	}
	return NULL;
}

uint32_t cpython_layout_thread_bytes(const struct cpython_layout *layout)
{
	if (layout->has_frame_objects)
		return layout->thread.id + (uint32_t)sizeof(uint64_t);
	return layout->has_cframes ? layout->thread.root_cframe + CPYTHON_CFRAME_BYTES
				   : layout->thread.chunk_top + (uint32_t)sizeof(uint64_t);
}

uint32_t cpython_layout_code_version(const struct cpython_layout *layout, const uint8_t *code)
{
	uint32_t version = 0;

	if (layout->code.version)
		memcpy(&version, code + layout->code.version, sizeof(version));
	return version;
}

static bool has_all(const struct cpython_member *members, size_t nr_members,
		    const struct cpython_member *wanted, size_t nr_wanted)
{
	size_t nr_found = 0;

	for (size_t i = 0; i < nr_wanted; i++) {
		for (size_t k = 0; k < nr_members; k++) {
			if (strncmp(members[k].name, wanted[i].name, sizeof(members[k].name)) == 0)
				nr_found += members[k].offset == wanted[i].offset;
		}
	}
	return nr_found == nr_wanted;
}

bool cpython_layout_agrees(const struct cpython_layout *layout,
			   const struct cpython_member *members, size_t nr_members,
			   uint64_t basic_size)
{
	struct cpython_member wanted[] = {
		{"co_firstlineno", layout->code.first_line},
		{"co_filename", layout->code.file},
		{"co_qualname", layout->code.name},
		{"co_linetable", layout->code.line_table},
	};

	if (layout->has_frame_objects)
		strcpy(wanted[2].name, "co_name");
	if (layout->lines == CPYTHON_LINES_BY_STEP)
		strcpy(wanted[3].name, "co_lnotab");
	return has_all(members, nr_members, wanted, ARRAY_SIZE(wanted)) &&
	       basic_size == layout->code.instructions;
}

bool cpython_layout_agrees_about_frames(const struct cpython_layout *layout,
					const struct cpython_member *members, size_t nr_members,
					uint64_t basic_size)
{
	const struct cpython_member wanted[] = {
		{"f_back", layout->frame.previous},
		{"f_code", layout->frame.code},
		{"f_lasti", layout->frame.instruction},
	};
	/* From 3.10 on the last one is computed. */
	size_t nr = ARRAY_SIZE(wanted) - (layout->frame.nr_number_bytes != 1);

	return has_all(members, nr_members, wanted, nr) &&
	       basic_size == layout->frame.variables + sizeof(uint64_t);
}

/* Words of _Py_DebugOffsets: 8 bytes each, from its start on. */
enum debug_word {
	DEBUG_COOKIE = 0,
	DEBUG_VERSION = 1,
	DEBUG_FREE_THREADED = 2,
	DEBUG_FIRST_INTERPRETER = 5,
	DEBUG_NEXT_INTERPRETER = 8,
	DEBUG_FIRST_THREAD = 9,
	DEBUG_GIL = 14,
	DEBUG_OWN_GIL = 15,
	DEBUG_GIL_LOCKED = 17,
	DEBUG_GIL_HOLDER = 18,
	DEBUG_NEXT_THREAD = 21,
	DEBUG_THREAD_FRAME = 23,
	DEBUG_THREAD_ID = 24,
	DEBUG_THREAD_CHUNK = 26,
	DEBUG_FRAME_PREVIOUS = 29,
	DEBUG_FRAME_CODE = 30,
	DEBUG_FRAME_INSTRUCTION = 31,
	DEBUG_FRAME_OWNER = 33,
	DEBUG_CODE_FILE = 35,
	DEBUG_CODE_NAME = 37,
	DEBUG_CODE_LINE_TABLE = 38,
	DEBUG_CODE_FIRST_LINE = 39,
	DEBUG_CODE_INSTRUCTIONS = 43,
	NR_DEBUG_WORDS = 47,
};

_Static_assert(NR_DEBUG_WORDS * sizeof(uint64_t) == CPYTHON_DEBUG_OFFSETS_BYTES, "all are read");

/* The interpreter's state is large, and what options of the build add to it comes first. */
#define OFFSETS_MAX (UINT64_C(1) << 20)

static bool take_runtime(struct cpython_runtime_layout *runtime, const uint64_t *words)
{
	if (words[DEBUG_FIRST_INTERPRETER] > OFFSETS_MAX ||
	    words[DEBUG_NEXT_INTERPRETER] > OFFSETS_MAX || words[DEBUG_FIRST_THREAD] > OFFSETS_MAX)
		return false;
	runtime->first_interpreter = (uint32_t)words[DEBUG_FIRST_INTERPRETER];
	runtime->next_interpreter = (uint32_t)words[DEBUG_NEXT_INTERPRETER];
	runtime->first_thread = (uint32_t)words[DEBUG_FIRST_THREAD];
	/* The interpreter's own lock, if its members are where they are known to be. */
	if (words[DEBUG_GIL] <= OFFSETS_MAX &&
	    words[DEBUG_GIL_LOCKED] - words[DEBUG_OWN_GIL] == CPYTHON_GIL_LOCKED &&
	    words[DEBUG_GIL_HOLDER] - words[DEBUG_OWN_GIL] == CPYTHON_GIL_HOLDER)
		runtime->gil = (uint32_t)words[DEBUG_GIL];
	return true;
}

bool cpython_layout_take_offsets(struct cpython_layout *layout, const uint8_t *bytes,
				 size_t nr_bytes)
{
	const struct {
		enum debug_word word;
		uint32_t offset;
	} fixed[] = {
		{DEBUG_NEXT_THREAD, layout->thread.next},
		{DEBUG_THREAD_FRAME, layout->thread.frame},
		{DEBUG_THREAD_ID, layout->thread.id},
		{DEBUG_THREAD_CHUNK, layout->thread.chunk},
		{DEBUG_FRAME_PREVIOUS, layout->frame.previous},
		{DEBUG_FRAME_CODE, layout->frame.code},
		{DEBUG_FRAME_INSTRUCTION, layout->frame.instruction},
		{DEBUG_FRAME_OWNER, layout->frame.owner},
		{DEBUG_CODE_FILE, layout->code.file},
		{DEBUG_CODE_NAME, layout->code.name},
		{DEBUG_CODE_LINE_TABLE, layout->code.line_table},
		{DEBUG_CODE_FIRST_LINE, layout->code.first_line},
		{DEBUG_CODE_INSTRUCTIONS, layout->code.instructions},
	};
	uint64_t words[NR_DEBUG_WORDS];

	if (nr_bytes < sizeof(words))
		return false;
	memcpy(words, bytes, sizeof(words));
	if (memcmp(bytes, "xdebugpy", sizeof(uint64_t)) != 0 || words[DEBUG_FREE_THREADED] ||
	    words[DEBUG_VERSION] >> 16 != layout->version)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(fixed); i++) {
		if (words[fixed[i].word] != fixed[i].offset)
			return false;
	}
	return take_runtime(&layout->runtime, words);
}
