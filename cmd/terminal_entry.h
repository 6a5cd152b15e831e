/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_TERMINAL_ENTRY_H
#define PROFC_CMD_TERMINAL_ENTRY_H

#include <stdbool.h>

/*
 * Has the program an entry of terminfo(5) for `term`, which may be NULL? Then it is in TERMINFO of
 * the environment, whatever was there, for the caller to unset after the terminal was opened. Only
 * a static program has any.
 */
bool terminal_entry_use(const char *term);

#endif
