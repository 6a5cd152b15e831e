// SPDX-License-Identifier: GPL-2.0-or-later
#include "stack/stack_end.h"

#include <stddef.h>

const char *stack_end_name(enum stack_end end)
{
	switch (end) {
	case STACK_END_ROOT:
		return "root";
	case STACK_END_NO_MAPPING:
		return "outside every mapping";
	case STACK_END_NO_CFI:
		return "no unwind information";
	case STACK_END_NO_FILE:
		return "file not readable";
	case STACK_END_BAD_CFI:
		return "bad unwind information";
	case STACK_END_BAD_MEMORY:
		return "memory not copied";
	case STACK_END_UNKNOWN_REG:
		return "register not known";
	case STACK_END_DEPTH_LIMIT:
		return "depth limit";
	case STACK_END_LOOP:
		return "loop";
	case STACK_END_NOT_TAKEN:
		return "no stack taken";
	case STACK_END_FOREIGN:
		return "32-bit program";
	case STACK_END_COUNT:
		break;
	}
	return "unknown reason";
}

const char *stack_end_remedy(enum stack_end end)
{
	switch (end) {
	case STACK_END_NO_CFI:
		return "build it with -fasynchronous-unwind-tables or -fno-omit-frame-pointer";
	case STACK_END_NO_FILE:
		return "record as a user who may read this file";
	case STACK_END_BAD_CFI:
		return "try record --unwinder libunwind";
	case STACK_END_FOREIGN:
		return "profc takes the stacks of 64-bit programs only; the time is right";
	case STACK_END_DEPTH_LIMIT:
		return "raise record --max-depth; both ends of the stack are shown";
	case STACK_END_ROOT:
	case STACK_END_NO_MAPPING:
	case STACK_END_BAD_MEMORY:
	case STACK_END_UNKNOWN_REG:
	case STACK_END_LOOP:
	case STACK_END_NOT_TAKEN:
	case STACK_END_COUNT:
		break;
	}
	return NULL;
}
