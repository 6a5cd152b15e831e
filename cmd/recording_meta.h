/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_RECORDING_META_H
#define PROFC_CMD_RECORDING_META_H

struct profile;
struct record_options;

/* The facts of this machine and this command line that a profile keeps. */
void recording_meta_fill(struct profile *profile, const struct record_options *options,
			 char *const *command);

#endif
