// SPDX-License-Identifier: GPL-2.0-or-later
#include "patch/patch.h"

#include <string.h>

const char *patch_outcome_text(enum patch_outcome outcome)
{
	switch (outcome) {
	case PATCH_OK:
		return "counted";
	case PATCH_TOO_SHORT:
		return "it is shorter than a jump";
	case PATCH_JUMPED_INTO:
		return "other code jumps into its first bytes";
	case PATCH_LOOPS_TO_ENTRY:
		return "a loop in it leads to its first instruction";
	case PATCH_UNKNOWN_CODE:
		return "profc does not know its first instructions";
	case PATCH_INDIRECT_JUMP:
		return "it begins with a jump through a table or register";
	case PATCH_INDIRECT_CALL:
		return "it is called through a register or pointer";
	case PATCH_NO_FIXED_FORM:
		return "one of its first instructions cannot be moved";
	case PATCH_OUT_OF_REACH:
		return "there is no room for a probe near enough";
	case PATCH_NO_ROOM:
		return "there are too many probes near it";
	case PATCH_BEHIND_ENTRY:
		return "a call in it is where the probe of its entry is";
	case PATCH_TAKEN:
		return "another probe is in its place";
	case PATCH_NO_NOP:
		return "there is no instruction of one byte without effect";
	case PATCH_SKIPPED:
		return "a branch leads to the jump after it";
	case PATCH_OTHER_WORD:
		return "its semaphore is not where the file has it";
	case PATCH_CHANGED_LATER:
		return "for uprobes Linux may replace the instruction after it";
	case PATCH_PAD_TAKEN:
		return "the memory that a jump of one byte leads to is in use";
	case PATCH_DIFFERS_FROM_FILE:
		return "its code in memory is not that of its file";
	case PATCH_UNLOADED:
		return "its file was unloaded before a probe could be put there";
	case PATCH_SAMPLED_BELOW:
		return "allocations are recorded in the function that it calls, if any";
	case PATCH_THROWS:
		return "it may throw an exception, and its blocks are not known to be malloc()'s";
	case PATCH_NOT_FREED:
		return "the function that frees its blocks cannot be watched";
	case PATCH_LOADED_LATER:
		return "its file was loaded after the recording of memory began";
	case PATCH_INCOMPLETE:
		return "another function of its allocator cannot be watched";
	case PATCH_OTHER_POINTER:
		return "the program calls another function in its place";
	case PATCH_UNSUPPORTED:
		return "there are no probes for this processor";
	case PATCH_OUTCOME_COUNT:
		break;
	}
	return "unknown";
}

void patch_word(struct patch *patch, uint64_t address, uint64_t old, uint64_t new)
{
	*patch = (struct patch){.kind = PATCH_WORD, .address = address, .nr_bytes = sizeof(old)};
	memcpy(patch->old, &old, sizeof(old));
	memcpy(patch->new, &new, sizeof(new));
}

bool patch_is_reached(const uint8_t *before, size_t nr_before, const uint8_t *there)
{
	if (!nr_before)
		return true;
	return (there[0] == before[0] || patch_is_breakpoint(there[0])) &&
	       memcmp(there + 1, before + 1, nr_before - 1) == 0;
}

/* On the way to the stub the stack is as after it. */
static uint64_t offset_in_thunk(const struct patch *patch, uint64_t pc)
{
	uint64_t offset = pc - patch->thunk;

	return patch->stub && offset >= patch->stub_from ? patch->counted_at : offset;
}

struct patch_spared patch_spared_at(const struct patch *patch, uint64_t pc)
{
	uint64_t offset = offset_in_thunk(patch, pc);
	uint64_t left = offset < patch->spared_to ? patch->spared_to - offset : 0;

	return (struct patch_spared){
		.nr_bytes = offset >= PATCH_SKIPPED_FROM && left ? PATCH_RED_ZONE_BYTES : 0,
		.has_flags = offset >= PATCH_FLAGS_FROM && left,
		.has_first = left > PATCH_FLAGS_LEFT && left <= PATCH_RAX_LEFT,
	};
}

unsigned int patch_nr_pushed(const struct patch *patch, uint64_t pc)
{
	uint64_t offset = offset_in_thunk(patch, pc);
	unsigned int nr = 0;

	for (size_t i = 0; i < PATCH_MAX_PUSHED; i++)
		nr += offset >= patch->pushed_from[i] && offset < patch->pushed_to[i];
	return nr;
}

static enum patch_place place_of_callee(const struct patch *patch, const struct patch_step *step,
					uint64_t *original)
{
	switch (patch->callee_kind) {
	case PATCH_CALLEE_DIRECT:
		*original = patch->callee;
		return PATCH_AT;
	case PATCH_CALLEE_IN_WORD:
		*original = patch->callee;
		return PATCH_AT_WORD;
	case PATCH_CALLEE_NONE:
	case PATCH_CALLEE_UNKNOWN:
		break;
	}
	*original = patch->address + step->window_offset;
	return PATCH_AT_CALL;
}

enum patch_place patch_original_pc(const struct patch *patch, uint64_t pc, uint64_t *original)
{
	const struct patch_step *step = patch->steps;

	if (pc < patch->thunk || pc - patch->thunk >= patch->nr_thunk_bytes)
		return PATCH_ELSEWHERE;
	for (size_t i = 1; i < patch->nr_steps && patch->steps[i].offset <= pc - patch->thunk; i++)
		step = &patch->steps[i];
	if (step->is_callee && patch->kind == PATCH_SYSCALL) {
		*original = patch->address + step->window_offset;
		return PATCH_NOTING;
	}
	if (step->is_callee)
		return place_of_callee(patch, step, original);
	*original = patch->address + step->window_offset;
	return PATCH_AT;
}

bool patch_moved_pc(const struct patch *patch, uint64_t pc, uint64_t *moved)
{
	uint64_t offset = pc - patch->address;

	if (pc <= patch->address || offset > patch->nr_bytes ||
	    (offset == patch->nr_bytes && !patch->ends_with_syscall))
		return false;
	for (size_t i = 0; i < patch->nr_steps; i++) {
		const struct patch_step *step = &patch->steps[i];

		if (!step->is_callee && (uint64_t)step->window_offset == offset) {
			*moved = patch->thunk + step->offset;
			return true;
		}
	}
	return false;
}
