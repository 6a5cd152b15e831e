/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_VIEW_OPTIONS_H
#define PROFC_CMD_VIEW_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cmd/options.h"
#include "view/style.h"

/*
 * How a view comes out, the same in every command that shows one: a `struct
 * view_options` in the command's options struct, and VIEW_OPTION_ROWS(struct
 * its_options, its_member) in its table.
 */
struct view_options {
	int color; /* index of view_color_choices */
	int names; /* index of view_name_choices */
	int unit;  /* index of view_unit_choices */
	uint64_t width;
	bool no_pager;
};

#define VIEW_OPTIONS_INIT                                                                          \
	{                                                                                          \
		.color = 0, .names = 0                                                             \
	}

extern const char *const view_color_choices[], *const view_name_choices[],
						       *const view_unit_choices[];

/* clang-format off */
#define VIEW_OPTION_ROWS(values, member)                                                           \
	VIEW_PAGE_OPTION_ROWS(values, member),                                                     \
	NAMES_OPTION_ROW(values, member)
/* The same for views that show no functions. */
#define VIEW_PAGE_OPTION_ROWS(values, member)                                                      \
	{.type = OPTION_SECTION, .name = "Display"},                                       \
	COLOR_OPTION_ROW(values, member.color),                                                    \
	WIDTH_OPTION_ROW(values, member),                                                          \
	{.type = OPTION_FLAG, .name = "no-pager", .offset = offsetof(values, member.no_pager),     \
	 .help = "do not use a pager, nor the browser of report"}

#define COLOR_OPTION_ROW(values, member)                                                           \
	{.type = OPTION_CHOICE, .name = "color", .argument = "WHEN",                               \
	 .offset = offsetof(values, member), .choices = view_color_choices,                        \
	 .help = "auto, always or never; auto: on a terminal, unless NO_COLOR is set (default: auto)"}

#define WIDTH_OPTION_ROW(values, member)                                                           \
	{.type = OPTION_UINT, .name = "width", .argument = "N",                                    \
	 .offset = offsetof(values, member.width), .min = 40, .max = 10000,                        \
	 .help = "width of the output in columns (default: that of the terminal, else 120)"}

#define NAMES_OPTION_ROW(values, member)                                                           \
	{.type = OPTION_CHOICE, .name = "names", .argument = "STYLE",                              \
	 .offset = offsetof(values, member.names), .choices = view_name_choices,                   \
	 .help = "short: without template arguments and parameters, or full (default: short)"}

/* For views with columns of times. */
#define UNIT_OPTION_ROW(values, member)                                                            \
	{.type = OPTION_CHOICE, .name = "unit", .argument = "UNIT",                                \
	 .offset = offsetof(values, member.unit), .choices = view_unit_choices,                    \
	 .help = "times in ns, us, ms or s, or auto: as they read best (default: auto)"}

#define JSON_OPTION_ROW(values, member)                                                            \
	{.type = OPTION_FLAG, .name = "json", .offset = offsetof(values, member),                  \
	 .help = "JSON output"}
/* clang-format on */

/* The view that the options and standard output, a terminal or not, lead to. */
struct view view_options_resolve(const struct view_options *options);
/* Likewise for output to another descriptor. */
struct view view_options_resolve_for(const struct view_options *options, int fd);

#endif
