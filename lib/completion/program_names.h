/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_COMPLETION_PROGRAM_NAMES_H
#define PROFC_COMPLETION_PROGRAM_NAMES_H

struct buf;

/*
 * Append the names of functions of a program file that start with `beginning`, sorted, each with a
 * tab and its source file, as name_words_append() does. Nothing if it cannot be read.
 */
void program_names_append(struct buf *out, const char *path, const char *beginning);

#endif
