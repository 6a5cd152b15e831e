/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_SAVE_PROFILE_H
#define PROFC_CMD_SAVE_PROFILE_H

struct err;
struct profile;

/* Write a whole profile to path, which appears only when it is complete; "-" is standard output. */
int save_profile(struct profile *profile, const char *path, struct err *err);

#endif
