// SPDX-License-Identifier: GPL-2.0-or-later
#include "cmd/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

const char *const color_choices[] = {
	[COLOR_AUTO] = "auto", [COLOR_ALWAYS] = "always", [COLOR_NEVER] = "never", NULL};

static bool is_set(const char *variable)
{
	const char *value = getenv(variable);

	return value && *value;
}

bool terminal_is_output(void)
{
	return isatty(STDOUT_FILENO) || is_set("PROFC_PAGER_IN_USE");
}

bool terminal_wants_color(enum color_when when)
{
	const char *terminal = getenv("TERM");

	switch (when) {
	case COLOR_ALWAYS:
		return true;
	case COLOR_NEVER:
		return false;
	case COLOR_AUTO:
		break;
	}
	if (!terminal_is_output() || is_set("NO_COLOR"))
		return false;
	return terminal && *terminal && strcmp(terminal, "dumb") != 0;
}

unsigned int terminal_columns(void)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size = {0};

	if (!terminal_is_output())
		return 0;
	if (columns && strtoul(columns, NULL, 10) > 0)
		return (unsigned int)strtoul(columns, NULL, 10);
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
		return size.ws_col;
	return 80;
}
