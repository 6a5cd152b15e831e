/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BASE_PRIVATE_FILE_H
#define PROFC_BASE_PRIVATE_FILE_H

struct err;

/*
 * Files that only their owner can read, for viewing: profc-XXXXXX and an extension, with an
 * unpredictable name. Each new one removes those older than a day.
 */

/*
 * The user's own directory, emptied when they log out, if `runtime` ($XDG_RUNTIME_DIR) is one; else
 * `temporary` ($TMPDIR), else /tmp. Either may be NULL. Borrowed.
 */
const char *private_file_directory(const char *runtime, const char *temporary);

/* Returns the descriptor, with the path in *path, which the caller frees; or a negative code. */
int private_file_create(const char *directory, const char *extension, char **path, struct err *err);

#endif
