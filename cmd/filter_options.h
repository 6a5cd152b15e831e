/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_FILTER_OPTIONS_H
#define PROFC_CMD_FILTER_OPTIONS_H

#include <stddef.h>

#include "calltree/filter.h"
#include "cmd/options.h"

struct err;

/*
 * The options that choose samples, the same in every command that shows any:
 * a `struct filter_options` in the command's options struct, and
 * FILTER_OPTION_ROWS(struct its_options, its_member) in its table.
 */
struct filter_options {
	struct option_list threads, processes, modules, functions, labels, focus, hide;
	const char *time;	 /* "A..B", or NULL */
	const char *at;		 /* of memory: a time, "peak" or "mark:TEXT", or NULL */
	const char *parallelism; /* "N", "A..B", or NULL */
	const char *slow;	 /* as slow_calls_new() takes it, or NULL */
	uint64_t temporary_ns;	 /* 0: not given */
	bool kernel, native;	 /* for prepare_profile() */
};

#define FILTER_OPTION_ROW(type_, name_, argument_, offset_, help_)                                 \
	{                                                                                          \
		.type = (type_), .name = (name_), .argument = (argument_), .offset = (offset_),    \
		.help = (help_)                                                                    \
	}

/* For commands that have it without the others. */
#define KERNEL_OPTION_ROW(values, member)                                                          \
	FILTER_OPTION_ROW(                                                                         \
		OPTION_FLAG, "kernel", NULL, offsetof(values, member),                             \
		"end stacks of sleeping threads with the functions of the kernel: [k] ...")
#define NATIVE_OPTION_ROW(values, member)                                                          \
	FILTER_OPTION_ROW(OPTION_FLAG, "native", NULL, offsetof(values, member),                   \
			  "show all native functions of interpreters, between those of scripts")

/* clang-format off */
#define FILTER_OPTION_ROWS(values, member)                                                         \
	{.type = OPTION_SECTION, .name = "Filters (repeat an option to match more)"},        \
	FILTER_OPTION_ROW(OPTION_LIST, "thread", "REGEX", offsetof(values, member.threads),        \
		"threads whose name matches, or with this thread ID"),                                              \
	FILTER_OPTION_ROW(OPTION_LIST, "process", "REGEX", offsetof(values, member.processes),     \
		"processes whose name or command matches, or with this process ID"),                                 \
	FILTER_OPTION_ROW(OPTION_LIST, "module", "REGEX", offsetof(values, member.modules),        \
		"samples in code of a matching program or library"),                               \
	FILTER_OPTION_ROW(OPTION_LIST, "function", "REGEX", offsetof(values, member.functions),    \
		"samples with a matching function anywhere in the stack"),                               \
	FILTER_OPTION_ROW(OPTION_LIST, "label", "KEY=VALUE", offsetof(values, member.labels),      \
		"samples of threads that the program has labelled so; KEY alone: whatever the value"),           \
	FILTER_OPTION_ROW(OPTION_LIST, "focus", "REGEX", offsetof(values, member.focus),           \
		"stacks with a matching function, from the outermost of these on"),                \
	FILTER_OPTION_ROW(OPTION_LIST, "hide", "REGEX", offsetof(values, member.hide),             \
		"leave matching functions out of stacks: their time goes to their callers"),       \
	KERNEL_OPTION_ROW(values, member.kernel),                                                  \
	NATIVE_OPTION_ROW(values, member.native),                                                  \
	FILTER_OPTION_ROW(OPTION_STRING, "time", "A..B", offsetof(values, member.time),            \
		"from A to B since the start: 1s..2.5s, ..500ms, 10..; before the trigger of a "   \
		"flight recorder: -10s..; or between marks: mark:TEXT..mark:TEXT"),                                                           \
	FILTER_OPTION_ROW(OPTION_STRING, "parallelism", "N",                                       \
		offsetof(values, member.parallelism),                                              \
		"elapsed time during which N threads ran at once: 1, 2..4, 3.. or 0"),             \
	FILTER_OPTION_ROW(OPTION_STRING, "slow", "FUNC[>LIMIT]", offsetof(values, member.slow),   \
		"calls of FUNC, timed by record --spans, that take as long: p99 (the default) or " \
		"a time"),                                                                         \
	FILTER_OPTION_ROW(OPTION_STRING, "at", "WHEN", offsetof(values, member.at),                \
		"memory that is alive at a time, at the peak or at mark:TEXT"),                    \
	FILTER_OPTION_ROW(OPTION_DURATION, "temporary", "TIME",                                    \
		offsetof(values, member.temporary_ns),                                             \
		"blocks freed within TIME are temporary (default: 10ms)")
/* clang-format on */

/*
 * Make a filter of the options, which borrows their texts. ERR_INVALID on a
 * time or a time range that makes no sense.
 */
int filter_options_apply(const struct filter_options *options, struct filter *filter,
			 struct err *err);
/* Is this text meant as a range for --time, right or wrong? */
bool filter_options_is_range(const char *text);

#endif
