/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_COMPLETION_PROFILE_FILES_H
#define PROFC_COMPLETION_PROFILE_FILES_H

struct buf;

/*
 * Append answers of complete.h for a word that is to be a profile: ":paths", then a line for each
 * profile and directory that begins like it, directories with a slash at the end. Where they cannot
 * be listed, as too many or in a home that only the shell knows, ":files".
 */
void profile_files_append(struct buf *out, const char *word);

#endif
