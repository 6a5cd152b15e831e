// SPDX-License-Identifier: GPL-2.0-or-later
/* Names and remedies for the reasons why stacks end. */
#include "stack/stack_end.h"

#include <stddef.h>

bool stack_end_is_complete(enum stack_end end)
{
	return end == STACK_END_ROOT || end == STACK_END_DEPTH_LIMIT;
}

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
	case STACK_END_SERVED:
		return "stack in a served file";
	case STACK_END_OTHER_STACK:
		return "begins on another stack";
	case STACK_END_UNPROVED:
		return "end not proved";
	case STACK_END_WORKER:
		return "thread of io_uring";
	case STACK_END_COSTLY:
		return "too much work";
	case STACK_END_COUNT:
		break;
	}
	return "unknown reason";
}

static const char *remedy_without_cfi(bool is_jit)
{
	if (is_jit)
		return "JIT-compiled code: have the runtime keep frame pointers (java "
		       "-XX:+PreserveFramePointer, erl +JPperf true, python3.12 -X perf)";
	return "build it with -fasynchronous-unwind-tables or -fno-omit-frame-pointer";
}

const char *stack_end_remedy(enum stack_end end, bool is_jit)
{
	switch (end) {
	case STACK_END_NO_CFI:
		return remedy_without_cfi(is_jit);
	case STACK_END_NO_FILE:
		return "record as a user who may read this file";
	case STACK_END_BAD_CFI:
		return "try record --unwinder libunwind";
	case STACK_END_FOREIGN:
		return "profc unwinds 64-bit programs only; the time is correct";
	case STACK_END_DEPTH_LIMIT:
		return "raise record --max-depth; both ends of the stack are shown";
	case STACK_END_NO_MAPPING:
		return "harmless if rare (a program that has just started, or code that was "
		       "unmapped); else the unwind information is wrong: try record --unwinder "
		       "libunwind";
	case STACK_END_BAD_MEMORY:
		return "the stack continues in memory that was not copied: on another stack, or "
		       "beyond 64 MiB; with a higher --frequency profc learns its depth sooner";
	case STACK_END_UNKNOWN_REG:
		return "sleeping threads are read without a stop, so some of their registers are "
		       "unknown; their time is correct";
	case STACK_END_LOOP:
		return "its unwind information loops: try record --unwinder libunwind";
	case STACK_END_SERVED:
		return "the stack is mapped from a FUSE or network file: reading it could "
		       "deadlock with the server of that file; the time is correct";
	case STACK_END_NOT_TAKEN:
		return "the thread had exited, or could not be stopped; its time is correct";
	case STACK_END_OTHER_STACK:
		return "a coroutine, a fiber or Go's scheduler: the code that switched to this "
		       "stack is not on it";
	case STACK_END_UNPROVED:
		return "these stacks may be complete: no unwind information marks their last "
		       "frame as outermost";
	case STACK_END_WORKER:
		return "the kernel's own thread works for the program; its time is correct";
	case STACK_END_COSTLY:
		return "its unwind information makes each step costly, or the recording was to "
		       "end at once; its time is correct";
	case STACK_END_ROOT:
	case STACK_END_COUNT:
		break;
	}
	return NULL;
}
