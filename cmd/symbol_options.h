/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_SYMBOL_OPTIONS_H
#define PROFC_CMD_SYMBOL_OPTIONS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/options.h"
#include "symbol/symbol.h"

/* Where symbols are looked for: the options of every command that resolves. */
struct symbol_option_values {
	struct option_list debug_dirs;
	const char *sysroot;
	uint64_t debuginfod_timeout_ns;
};

#define SYMBOL_OPTION_VALUES_INIT                                                                  \
	{                                                                                          \
		.debuginfod_timeout_ns = UINT64_C(2000000000)                                      \
	}

#define SYMBOL_OPTION_ROWS(args, member)                                                           \
	{.type = OPTION_SECTION, .name = "Debug information"},                                     \
		{.type = OPTION_LIST,                                                              \
		 .name = "debug-dir",                                                              \
		 .directory = true,                                                                \
		 .argument = "DIR",                                                                \
		 .offset = offsetof(args, member.debug_dirs),                                      \
		 .help = "look for separate debug files here before /usr/lib/debug; repeatable"},  \
		{.type = OPTION_STRING,                                                            \
		 .name = "sysroot",                                                                \
		 .directory = true,                                                                \
		 .argument = "DIR",                                                                \
		 .offset = offsetof(args, member.sysroot),                                         \
		 .help = "root of the file system of the recorded machine"},                       \
	{                                                                                          \
		.type = OPTION_DURATION, .name = "debuginfod-timeout", .argument = "TIME",         \
		.offset = offsetof(args, member.debuginfod_timeout_ns),                            \
		.help = "total time to wait for the servers of DEBUGINFOD_URLS; 0: do not "        \
			"query them (default: 2s)"                                                 \
	}

/*
 * Borrows from `values`. Servers are asked only if DEBUGINFOD_URLS is set. `ended` as there: NULL
 * where signals end profc as they do any program.
 */
struct symbol_options symbol_options_of(const struct symbol_option_values *values,
					const atomic_bool *ended);

#endif
