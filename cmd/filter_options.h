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
	struct option_list threads, processes, modules, functions;
	const char *time; /* "A..B", or NULL */
};

#define FILTER_OPTION_ROW(type_, name_, argument_, offset_, help_)                                 \
	{                                                                                          \
		.type = (type_), .name = (name_), .argument = (argument_), .offset = (offset_),    \
		.help = (help_)                                                                    \
	}

/* clang-format off */
#define FILTER_OPTION_ROWS(values, member)                                                         \
	{.type = OPTION_SECTION, .name = "Which samples (repeat an option to allow more)"},        \
	FILTER_OPTION_ROW(OPTION_LIST, "thread", "REGEX", offsetof(values, member.threads),        \
		"threads of this name, or this tid"),                                              \
	FILTER_OPTION_ROW(OPTION_LIST, "process", "REGEX", offsetof(values, member.processes),     \
		"processes of this name or command, or this pid"),                                 \
	FILTER_OPTION_ROW(OPTION_LIST, "module", "REGEX", offsetof(values, member.modules),        \
		"samples taken in code of this program or library"),                               \
	FILTER_OPTION_ROW(OPTION_LIST, "function", "REGEX", offsetof(values, member.functions),    \
		"samples with this function anywhere in the stack"),                               \
	FILTER_OPTION_ROW(OPTION_STRING, "time", "A..B", offsetof(values, member.time),            \
		"from A to B after the start: 1s..2.5s, ..500ms, 10..; or from mark to mark: "      \
		"mark:TEXT..mark:TEXT")
/* clang-format on */

/*
 * What the options ask for, as a filter that borrows their texts. ERR_INVALID on a
 * time range that makes no sense.
 */
int filter_options_apply(const struct filter_options *options, struct filter *filter,
			 struct err *err);

#endif
