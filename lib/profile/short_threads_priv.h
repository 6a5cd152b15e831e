/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Estimates where short-lived threads spent the CPU time that no sample of theirs has. */
#ifndef PROFC_PROFILE_SHORT_THREADS_PRIV_H
#define PROFC_PROFILE_SHORT_THREADS_PRIV_H

#include <stdbool.h>

struct profile;
struct profile_thread;

/* Is it the row with the CPU time that no thread's clock has, SHORT_LIVED_NAME? */
bool thread_is_unseen(const struct profile *profile, const struct profile_thread *thread);

/*
 * As short_lives.h says of processes, for the threads of each: the unseen time is what the clock of
 * the process has beyond those of its threads. It stays in its row, with the stacks of samples that
 * stand for it. A part of profile_estimate_short_lives(), which comes first.
 */
void profile_estimate_short_threads(struct profile *profile);

#endif
