// SPDX-License-Identifier: GPL-2.0-or-later
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
	case STACK_END_COUNT:
		break;
	}
	return "unknown reason";
}

static const char *remedy_without_cfi(bool is_made_at_run_time)
{
	if (is_made_at_run_time)
		return "this code was made at run time: have its compiler keep frame pointers "
		       "(java "
		       "-XX:+PreserveFramePointer, erl +JPperf true, python3.12 -X perf)";
	return "build it with -fasynchronous-unwind-tables or -fno-omit-frame-pointer";
}

const char *stack_end_remedy(enum stack_end end, bool is_made_at_run_time)
{
	switch (end) {
	case STACK_END_NO_CFI:
		return remedy_without_cfi(is_made_at_run_time);
	case STACK_END_NO_FILE:
		return "record as a user who may read this file";
	case STACK_END_BAD_CFI:
		return "try record --unwinder libunwind";
	case STACK_END_FOREIGN:
		return "profc takes the stacks of 64-bit programs only; the time is right";
	case STACK_END_DEPTH_LIMIT:
		return "raise record --max-depth; both ends of the stack are shown";
	case STACK_END_NO_MAPPING:
		return "nothing is wrong where it is rare: programs that had just begun, or code "
		       "that "
		       "was gone; else its unwind information is wrong, try record --unwinder "
		       "libunwind";
	case STACK_END_BAD_MEMORY:
		return "this stack went on in memory that was not copied: another stack, or beyond "
		       "64 "
		       "MiB; record at a higher --frequency, so that more is learned of its depth";
	case STACK_END_UNKNOWN_REG:
		return "threads that sleep are not stopped for a look, so some of their registers "
		       "are "
		       "not known; their time is right";
	case STACK_END_LOOP:
		return "its unwind information leads in a circle: try record --unwinder libunwind";
	case STACK_END_SERVED:
		return "this stack is mapped from a file of FUSE or of another host: to read it "
		       "could "
		       "wait for one who waits for profc; its time is right";
	case STACK_END_NOT_TAKEN:
		return "the thread was gone, or could not be stopped; its time is right";
	case STACK_END_OTHER_STACK:
		return "a coroutine, a fiber or Go's scheduler: who switched to this stack is not "
		       "on it";
	case STACK_END_UNPROVED:
		return "these stacks may be whole: the code there has no unwind information that "
		       "says so";
	case STACK_END_ROOT:
	case STACK_END_COUNT:
		break;
	}
	return NULL;
}
