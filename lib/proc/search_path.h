/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds programs as execvp(3) does. The directories are those of a PATH: separated by ':', and an
 * empty one is the current directory.
 */
#ifndef PROFC_PROC_SEARCH_PATH_H
#define PROFC_PROC_SEARCH_PATH_H

#include <stdbool.h>

struct buf;

/*
 * Is there a program of this name in the directories? `path` is overwritten in either case, with
 * its path if there is one.
 */
bool search_path_find(const char *directories, const char *program, struct buf *path);
/*
 * Is there no file of this name in the directories, as far as they may be searched? The first
 * that may not is stored in `closed`, replacing its content; empty if there is none.
 */
bool search_path_lacks(const char *directories, const char *program, struct buf *closed);

#endif
