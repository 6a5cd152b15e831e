/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_VIEW_STYLE_H
#define PROFC_VIEW_STYLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calltree/expand.h"

struct buf;

/* The unit for times. */
enum time_unit {
	TIME_UNIT_AUTO, /* the one that is easiest to read */
	TIME_UNIT_NS,
	TIME_UNIT_US,
	TIME_UNIT_MS,
	TIME_UNIT_S,
};

/* The form of output, decided by the command, since only that knows the terminal. */
struct view {
	size_t columns;	       /* width to fill at most */
	bool colour;	       /* with ANSI colours (ECMA-48 SGR) */
	enum name_style names; /* of functions */
	enum time_unit unit;
	uint64_t rate_ns; /* not 0: the time of counts, which are then shown per second */
	bool of_scripts;  /* rows are functions of scripts: names of native code are not needed */
	/*
	 * The columns that tables keep however narrow they are, see flat_check_columns(); or NULL.
	 */
	const char *kept_columns;
};

enum style {
	STYLE_PLAIN,
	STYLE_HEADING,
	STYLE_DIM,     /* secondary text: intervals, locations, branch art */
	STYLE_HOT,     /* a large share */
	STYLE_WARM,    /* a share worth attention */
	STYLE_GOOD,    /* a change for the better */
	STYLE_SPECIAL, /* names in brackets, which are not from the target */
};

/* Append text in a style. Without colour, or for STYLE_PLAIN, the text alone. */
void style_append(struct buf *out, const struct view *view, enum style style, const char *text);

/* Text of one style in a line of style_append(). */
struct style_run {
	const char *bytes; /* not ended by a NUL */
	size_t nr_bytes;
	enum style style;
};

/* The run at *at, which then is after it; false at the end of the line or text. */
bool style_run_next(const char **at, struct style_run *run);

/* The style of a percentage: hot from 20 on, warm from 5 on. */
enum style style_of_percent(double percent);

#endif
