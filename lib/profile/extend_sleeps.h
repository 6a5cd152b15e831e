/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Extends the last sleep of each thread to the present, for live views. */
#ifndef PROFC_PROFILE_EXTEND_SLEEPS_H
#define PROFC_PROFILE_EXTEND_SLEEPS_H

#include <stdint.h>

struct profile;

/*
 * For a view of a running recording: if a thread's last sample, at since_ns or later, was in a
 * sleep, it is assumed to sleep until now_ns. Long sleeps are sampled ever more rarely; if one has
 * ended meanwhile, later samples correct this. Times are on the clock of the recording.
 */
void profile_extend_sleeps(struct profile *profile, uint64_t since_ns, uint64_t now_ns);

#endif
