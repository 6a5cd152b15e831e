// SPDX-License-Identifier: GPL-2.0-or-later
/* The results of walks of script frames. */
#include "script/script_walk.h"

#include <assert.h>
#include <stdlib.h>

const char *script_outcome_name(enum script_outcome outcome)
{
	switch (outcome) {
	case SCRIPT_NONE:
		return "none";
	case SCRIPT_PROVED:
		return "proved";
	case SCRIPT_NO_THREAD:
		return "no thread state";
	case SCRIPT_NOT_COPIED:
		return "not copied";
	case SCRIPT_TOO_DEEP:
		return "too deep";
	case SCRIPT_TORN:
		return "torn";
	case SCRIPT_NOT_GENERATOR:
		return "not a generator";
	case SCRIPT_NO_NATIVE_FRAME:
		return "no native frame";
	case SCRIPT_OUTCOME_COUNT:
		break;
	}
	assert(false);
	return "";
}

const char *script_support_name(enum script_support support)
{
	switch (support) {
	case SCRIPT_READ:
		return "read";
	case SCRIPT_UNKNOWN_VERSION:
		return "unknown version";
	case SCRIPT_OTHER_LAYOUT:
		return "other layout";
	case SCRIPT_THREAD_SAFE:
		return "thread-safe";
	case SCRIPT_COMPILED:
		return "compiled";
	case SCRIPT_OTHER_PROCESSOR:
		return "other processor";
	case SCRIPT_SUPPORT_COUNT:
		break;
	}
	assert(false);
	return "";
}

void script_walk_release(struct script_walk *walk)
{
	free(walk->frames);
	*walk = (struct script_walk){0};
}
