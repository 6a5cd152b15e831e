/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sends a profile to a receiver. */
#ifndef PROFC_CMD_PUSH_PROFILE_H
#define PROFC_CMD_PUSH_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct export_options;
struct profile;
struct push_spool;
struct push_target;

/*
 * Add the pprof files of a resolved profile to a spool: of the options' metric, or if `all` of CPU
 * time, waits, memory and counters, as far as they were recorded. What the options of the target do
 * not say, labels are of the profile: the name of its program, the host, and the build-id as
 * version. ERR_EMPTY: none has anything; else as push_spool_add(). The number added in *nr.
 */
int push_profile_add(struct push_spool *spool, const struct push_target *target,
		     const struct profile *profile, const struct export_options *options, bool all,
		     size_t *nr, struct err *err);

/*
 * Send a profile and wait until it is delivered, with some further attempts if the receiver does
 * not answer. Prints what fails, or how many files were delivered. Returns the status to exit with.
 */
int push_profile(const struct push_target *target, const struct profile *profile,
		 const struct export_options *options, bool all);

#endif
