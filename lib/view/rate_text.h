/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_VIEW_RATE_TEXT_H
#define PROFC_VIEW_RATE_TEXT_H

#include <stdbool.h>

struct buf;
struct profile;

/* Get the achieved rate; false where append_rate_achieved() has nothing to say. */
bool rate_is_low(const struct profile *profile, double *hz);

/*
 * The cost of stops in millionths of the CPU time, or of the time of the recording if that is
 * longer: the limit of the cost also holds for a thread that mostly sleeps. CPU time that --within
 * has left out is part of it, as the stops there are.
 */
double stops_cost_ppm(const struct profile *profile);

/*
 * Append "sampled at 410 Hz of 997: ..." with the reason, if a recording achieved less than nine
 * tenths of the requested rate: of ticks, but for chance, and of stops of the threads that ran
 * then. False: it achieved the rate, or was too short for a hundred ticks, and nothing is appended.
 */
bool append_rate_achieved(struct buf *out, const struct profile *profile);

#endif
