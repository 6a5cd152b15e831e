/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sends a profile to a receiver. */
#ifndef PROFC_CMD_PUSH_PROFILE_H
#define PROFC_CMD_PUSH_PROFILE_H

#include <stdbool.h>

struct export_options;
struct profile;
struct push_target;

/*
 * Send the pprof files of a resolved profile: of the options' metric, or if `all` of CPU time,
 * waits, memory and counters, as far as they were recorded. Labels that the options of the target
 * do not set are the profile's: the name of its program, the host, and the build-id as version.
 * Wait until they are delivered, with some further attempts if the receiver does not answer. Prints
 * what fails, or how many files were delivered. Returns the status to exit with.
 */
int push_profile(const struct push_target *target, const struct profile *profile,
		 const struct export_options *options, bool all);

#endif
