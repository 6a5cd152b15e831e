/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_TERMINAL_H
#define PROFC_CMD_TERMINAL_H

#include <stdbool.h>
#include <stdio.h>

/* --color: in the order of its choices. */
enum color_when {
	COLOR_AUTO,
	COLOR_ALWAYS,
	COLOR_NEVER,
};

/* The NULL-ended names of those, for an OPTION_CHOICE row. */
extern const char *const color_choices[];

/* Does a person read standard output, on a terminal or through our pager? */
bool terminal_is_output(void);
/* COLOR_AUTO: on such an output, unless NO_COLOR is set or the terminal is dumb. */
bool terminal_wants_color(enum color_when when);
/* The width to fit lines into; 0 where nobody needs them short. */
unsigned int terminal_columns(void);

/*
 * Send standard output through PROFC_PAGER, PAGER or less, as git does: only on
 * a terminal, and not if the pager is "cat" or empty. pager_finish() waits until
 * the reader has seen enough; call it after the last output, pager or not.
 */
struct pager {
	FILE *pipe; /* NULL: none runs */
};

void pager_start(struct pager *pager);
void pager_finish(struct pager *pager);

#endif
