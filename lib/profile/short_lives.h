/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Estimates where short-lived processes spent the CPU time that no sample of theirs has. */
#ifndef PROFC_PROFILE_SHORT_LIVES_H
#define PROFC_PROFILE_SHORT_LIVES_H

#include <stdbool.h>

struct profile;
struct profile_process;

/*
 * Attribute the CPU time of processes that live for less than a few ticks, for views and exports:
 * once, after profile_spread_cpu_time(). Ticks come at random moments, so each nanosecond of CPU
 * time is as likely as any other to be sampled, and each sample stands for equally much of it
 * (Horvitz and Thompson). Two sums are exact, and are distributed so:
 *
 * - The time after the last reading of a process that its parent reaped, and all time of processes
 *   that were never found: SHORT_LIVED_NAME. Samples of the moments that would be in it but for
 * their own tick stand for equal parts of the time below their ancestor: unseen_time.h and
 * profile_process.stands_for_unseen.
 * - The time of each program's processes that were rarely sampled. All samples of these stand for
 *   equal parts; the part of the unseen time that came to them is added.
 *
 * Each process keeps the CPU time that its clock showed: samples without an observation give it the
 * stacks of those that stand for its time, the nearest in time. Unseen time gets a row of its own
 * for each program. No sample stands for more than some times the mean; what is left, and programs
 * without any sample, stay unattributed.
 */
void profile_estimate_short_lives(struct profile *profile);

/* Is the row of processes that were never found, with or without a name? */
bool process_is_unseen(const struct profile *profile, const struct profile_process *process);

#endif
