// SPDX-License-Identifier: GPL-2.0-or-later
/* How a thread in the process itself finds the frames of its interpreter. */
#include "script/cpython_links.h"

#include <string.h>

#include "mapping/space.h"
#include "script/cpython.h"
#include "script/cpython_variable.h"
#include "script/thread_keys.h"
#include "snapshot/frame_links.h"
#include "snapshot/snapshot.h"

/* --- the state of the running thread --- */

/*
 * From 3.12 on a variable of each thread has its state while it runs in the interpreter. It is not
 * exported, but a function is that does nothing but return it; on aarch64 see
 * cpython_variable_aarch64.c, on x86-64 so:
 *
 *	mov %fs:offset,%rax			in a program that is linked statically
 *	mov offset(%rip),%rax; mov %fs:(%rax)	in one that finds it by a word
 *	lea index(%rip),%rdi; call		in a library: two words, its module and the offset
 */
#define GETTER_BYTES_X86_64  32
#define GETTER_BYTES_AARCH64 64
#define BYTES_OF_LEA	     7

struct bytes {
	const uint8_t *at;
	size_t nr;
};

static bool begins_with(const struct bytes *code, size_t at, const char *bytes, size_t nr)
{
	return code->nr - at >= nr && memcmp(code->at + at, bytes, nr) == 0;
}

static int32_t number_at(const struct bytes *code, size_t at)
{
	int32_t number;

	memcpy(&number, code->at + at, sizeof(number));
	return number;
}

static bool find_variable_x86_64(const struct bytes *code, uint64_t address, struct space *space,
				 struct frame_links *links)
{
	for (size_t at = 0; at + BYTES_OF_LEA + 5 <= code->nr; at++) {
		uint64_t next = address + at + BYTES_OF_LEA;
		uint64_t words[2];

		if (begins_with(code, at, "\x64\x48\x8b\x04\x25", 5)) {
			links->root = FRAME_LINKS_BY_OFFSET;
			links->root_at = (uint64_t)(int64_t)number_at(code, at + 5);
			return true;
		}
		if (begins_with(code, at, "\x48\x8b\x05", 3) &&
		    begins_with(code, at + BYTES_OF_LEA, "\x64\x48\x8b\x00", 4)) {
			links->root = FRAME_LINKS_BY_OFFSET;
			return space_read_memory(space,
						 next + (uint64_t)(int64_t)number_at(code, at + 3),
						 &links->root_at, sizeof(links->root_at));
		}
		if (begins_with(code, at, "\x48\x8d\x3d", 3)) {
			links->root = FRAME_LINKS_BY_MODULE;
			if (!space_read_memory(space,
					       next + (uint64_t)(int64_t)number_at(code, at + 3),
					       words, sizeof(words)))
				return false;
			links->root_of = words[0];
			links->root_at = words[1];
			return words[0] != 0;
		}
	}
	return false;
}

static bool read_space(void *context, uint64_t address, void *out, size_t nr_bytes)
{
	return space_read_memory(context, address, out, nr_bytes);
}

static bool find_variable(const struct bytes *code, uint64_t address, struct space *space,
			  struct frame_links *links)
{
	struct cpython_variable variable;

	if (arch_native() == ARCH_X86_64)
		return find_variable_x86_64(code, address, space, links);
	if (!cpython_find_variable_aarch64(code->at, code->nr, address, read_space, space,
					   &variable))
		return false;
	links->root = variable.module ? FRAME_LINKS_BY_MODULE : FRAME_LINKS_BY_OFFSET;
	links->root_of = variable.module;
	links->root_at = variable.offset;
	return true;
}

/* --- all of it --- */

/* Those of frames further out live long, and are read later. */
#define FUNCTIONS_COPIED 64

/* The state of the thread that runs; a key of a thread's own, whose number follows a mark. */
static bool find_root(const struct cpython *python, struct space *space, uint64_t getter,
		      struct frame_links *links)
{
	const struct cpython_runtime_layout *layout = &python->layout.runtime;
	uint64_t runtime =
		python->runtime + CPYTHON_NR_LOCKS * arch_regs(arch_native())->nr_mutex_bytes;
	uint8_t code[GETTER_BYTES_AARCH64];
	const struct bytes bytes = {code, arch_native() == ARCH_X86_64 ? GETTER_BYTES_X86_64
								       : GETTER_BYTES_AARCH64};
	uint64_t keys_at;

	if (layout->running_thread) {
		links->root = FRAME_LINKS_BY_KEY;
		links->root_of = runtime + layout->thread_key + sizeof(uint32_t);
		links->current = runtime + layout->running_thread;
		return thread_keys_find(space, &links->root_at);
	}
	if (!space_read_memory(space, getter, code, bytes.nr) ||
	    !find_variable(&bytes, getter, space, links))
		return false;
	return links->root != FRAME_LINKS_BY_MODULE || thread_keys_find(space, &keys_at);
}

bool cpython_find_links(const struct cpython *python, struct space *space, uint64_t getter,
			struct frame_links *links)
{
	const struct cpython_layout *layout = &python->layout;
	const struct cpython_thread_layout *thread = &layout->thread;

	*links = (struct frame_links){
		.nr_state_bytes = cpython_layout_thread_bytes(layout),
		.state_piece = thread->chunk,
		.state_top = thread->chunk_top,
		.piece.used = 2 * sizeof(uint64_t),
		.state_frame = layout->has_cframes ? thread->cframe : thread->frame,
		.has_evaluations = layout->has_cframes,
		.root_evaluation = thread->root_cframe,
		.evaluation_frame = layout->frame.cframe_frame,
		.nr_frame_bytes = layout->frame.nr_bytes,
		.frame_function = layout->frame.code,
		.frame_previous = layout->frame.previous,
		.frame_instruction = layout->frame.instruction,
		.nr_before_frame = layout->generator_frame,
		.nr_function_bytes = layout->code.instructions,
		.nr_functions = FUNCTIONS_COPIED,
		.function_is = {layout->code.name, layout->code.file, layout->code.line_table},
	};
	if (!layout->code.version) {
		links->text.nr_bytes = CPYTHON_TEXT_BYTES;
		links->text.length = CPYTHON_TEXT_LENGTH;
		links->text.head = layout->text_other;
		links->text.character = CPYTHON_CHARACTER_BYTES_MAX;
	} else {
		links->function_is[0] = layout->code.version & -(uint32_t)sizeof(uint64_t);
	}
	return find_root(python, space, getter, links);
}
