// SPDX-License-Identifier: GPL-2.0-or-later
/* Resolves the options for width, colour and names. */
#include "cmd/view_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum color_choice {
	COLOR_AUTO,
	COLOR_ALWAYS,
	COLOR_NEVER,
};

const char *const view_color_choices[] = {"auto", "always", "never", NULL};
const char *const view_name_choices[] = {"short", "full", NULL};
/* In the order of enum time_unit. */
const char *const view_unit_choices[] = {"auto", "ns", "us", "ms", "s", NULL};

#define COLUMNS_MIN	       40
#define COLUMNS_MAX	       10000
#define COLUMNS_OF_NO_TERMINAL 120

static bool is_set(const char *variable)
{
	const char *value = getenv(variable);

	return value && *value;
}

/* https://no-color.org: set and not empty. A terminal without any abilities gets none either. */
static bool wants_colour(int choice, int fd)
{
	const char *term = getenv("TERM");

	if (choice != COLOR_AUTO)
		return choice == COLOR_ALWAYS;
	return isatty(fd) && !is_set("NO_COLOR") && term && strcmp(term, "dumb") != 0;
}

static size_t bounded_columns(unsigned long columns)
{
	if (columns > COLUMNS_MAX)
		return COLUMNS_MAX;
	return columns < COLUMNS_MIN ? COLUMNS_MIN : columns;
}

static size_t output_columns(int fd)
{
	const char *text = getenv("COLUMNS");
	struct winsize size;
	unsigned long columns;
	char *end;

	if (text && *text) {
		errno = 0;
		columns = strtoul(text, &end, 10);
		if (errno == 0 && *end == '\0' && columns > 0)
			return bounded_columns(columns);
	}
	if (!isatty(fd))
		return COLUMNS_OF_NO_TERMINAL;
	if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return bounded_columns(size.ws_col);
	return 80;
}

struct view view_options_resolve_for(const struct view_options *options, int fd)
{
	return (struct view){
		.columns = options->width ? options->width : output_columns(fd),
		.colour = wants_colour(options->color, fd),
		.names = options->names == 0 ? NAME_SHORT : NAME_FULL,
		.unit = (enum time_unit)options->unit,
	};
}

struct view view_options_resolve(const struct view_options *options)
{
	return view_options_resolve_for(options, STDOUT_FILENO);
}
