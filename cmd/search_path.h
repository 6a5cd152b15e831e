/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds programs in $PATH, and quotes words for the shell. */
#ifndef PROFC_CMD_SEARCH_PATH_H
#define PROFC_CMD_SEARCH_PATH_H

#include <stdbool.h>

struct buf;

/* Is there a program of this name in $PATH? */
bool in_search_path(const char *program);
/* The same, storing its path in `path`, whose content is replaced in either case. */
bool find_in_search_path(const char *program, struct buf *path);
/*
 * Is there no file of this name in $PATH, as far as its directories may be searched? The first
 * directory that may not is stored in `closed`, replacing its content; empty if there is none.
 */
bool search_path_lacks(const char *program, struct buf *closed);
/* Append a word so that a shell takes it as one, whatever bytes it has: quoted if need be. */
void append_shell_word(struct buf *command, const char *word);

#endif
