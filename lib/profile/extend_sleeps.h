/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Extends the last sleep of each thread to the present, for live views. */
#ifndef PROFC_PROFILE_EXTEND_SLEEPS_H
#define PROFC_PROFILE_EXTEND_SLEEPS_H

#include <stdint.h>

struct profile;

/*
 * For a view of a recording that still runs: a thread that was last sampled asleep, and that since
 * then, sleeps on until now; both on the recording's clock. That a sleep lasts is told in samples
 * ever more rarely, and when it is over; should it be, unseen yet, the samples to come say so.
 */
void profile_extend_sleeps(struct profile *profile, uint64_t since_ns, uint64_t now_ns);

#endif
