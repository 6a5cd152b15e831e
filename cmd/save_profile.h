/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes a whole profile to a file. */
#ifndef PROFC_CMD_SAVE_PROFILE_H
#define PROFC_CMD_SAVE_PROFILE_H

struct err;
struct profile;

/*
 * Write a whole profile to path, which appears only when it is complete; "-" is standard output. A
 * new file can be read by its owner only: it may show what processes of other users did.
 */
int save_profile(struct profile *profile, const char *path, struct err *err);
/* The same; what has the name is kept as NAME.old. */
int save_profile_keeping(struct profile *profile, const char *path, struct err *err);
/* Into an open file, at its end. */
int save_profile_fd(struct profile *profile, int fd, struct err *err);

#endif
