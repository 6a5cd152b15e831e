/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options that choose a profile and a metric. */
#ifndef PROFC_CMD_PROFILE_OPTIONS_H
#define PROFC_CMD_PROFILE_OPTIONS_H

#include "calltree/dimension.h"
#include "cmd/options.h"
#include "profile/profile.h"

struct err;

/*
 * Which profile, and which of its quantities: the same in every command that
 * shows one. The members are a `const char *` for open_profile() and an `int`,
 * an enum metric.
 */
#define METRIC_HELP                                                                                \
	"cpu, wall, runq, blocked, elapsed or samples; of memory alloc, allocs, live, peak, "      \
	"leaked, "                                                                                 \
	"temporary or freed"

/*
 * A command that shows one profile accepts its name as an argument, too: `report FILE` is
 * `report -i FILE`. ERR_INVALID if further arguments are left.
 */
int profile_options_word(const char **input, int argc, char **argv, int first_word,
			 struct err *err);
/*
 * For commands with other arguments: takes the first one for the profile if it is one, or a
 * directory with one, and none was given with -i. Returns the number of arguments taken.
 */
int profile_options_take(const char **input, int argc, char **argv, int first_word);

/* ERR_INVALID if one of them is not OLD=NEW. */
int source_paths_check(const struct option_list *paths, struct err *err);

// clang-format off
#define INPUT_OPTION_ROW(values, member)                                                           \
	{.type = OPTION_FILE, .short_name = 'i', .name = "input", .argument = "FILE",            \
	 .offset = offsetof(values, member),                                                       \
	 .help = "read this profile, or the newest of this directory; - is standard input "    \
		 "(default: profc.data)"}

#define METRIC_OPTION_ROW(values, member, help_)                                                   \
	{.type = OPTION_CHOICE, .short_name = 'm', .name = "metric", .argument = "METRIC",         \
	 .offset = offsetof(values, member), .choices = metric_names, .help = (help_)}

#define DIMENSION_OPTION_ROW(values, member)                                                       \
	{.type = OPTION_CHOICE, .name = "by", .argument = "WHAT",                                  \
	 .offset = offsetof(values, member), .choices = dimension_names_live,                      \
	 .help = DIMENSION_HELP " or, of memory, lifetime (default: function)"}
/* The same by two of them: a text for flat_keys_parse(). */
#define KEYS_OPTION_ROW(values, member)                                                            \
	{.type = OPTION_STRING, .name = "by", .argument = "WHAT[,WHAT]",                           \
	 .offset = offsetof(values, member),                                                       \
	 .help = DIMENSION_HELP ", mark, label:KEY, of elapsed time parallelism or, of memory, lifetime; or, as in thread,function, by "    \
		 "both in groups by the first (default: function)"}
#define SOURCE_PATH_OPTION_ROW(values, member, help_)                                              \
	{.type = OPTION_LIST, .name = "source-path", .argument = "OLD=NEW",                        \
	 .offset = offsetof(values, member), .help = (help_)}

#define NO_INLINE_OPTION_ROW(values, member)                                                       \
	{.type = OPTION_FLAG, .name = "no-inline", .offset = offsetof(values, member),             \
	 .help = "attribute inlined functions to the function they are in"}
// clang-format on

#endif
