/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Keeps sources and instructions in a recording. */
#ifndef PROFC_CMD_KEEP_SOURCE_H
#define PROFC_CMD_KEEP_SOURCE_H

#include <stdbool.h>

struct profile;

/*
 * Keep the text of the source files that samples have lines of, those with most time first, and the
 * instructions of the functions with most of it, as far as there is room and time; a message says
 * how much that is, unless it is to be quiet. Symbols must have been resolved.
 */
void keep_source(struct profile *profile, bool quiet);
/* The same in a profile on disk, which is replaced by it. An exit status; messages are given. */
int keep_source_in(const char *path, bool quiet);

#endif
