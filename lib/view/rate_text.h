/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_VIEW_RATE_TEXT_H
#define PROFC_VIEW_RATE_TEXT_H

#include <stdbool.h>

struct buf;
struct profile;

/* The rate that was achieved, where append_rate_achieved() has something to say; else false. */
bool rate_is_low(const struct profile *profile, double *hz);

/*
 * What stops have cost, in millionths: of CPU time, or of the time of the recording where that is
 * longer, as what may be lost at most is meant for a thread that mostly sleeps.
 */
double stops_cost_ppm(const struct profile *profile);

/*
 * Append "sampled at 410 Hz of 997: ..." with the reason, if a recording achieved less than nine
 * tenths of the requested rate: of ticks, but for chance, and of stops of the threads that ran
 * then. False: it achieved the rate, or was too short for a hundred ticks, and nothing is appended.
 */
bool append_rate_achieved(struct buf *out, const struct profile *profile);

#endif
