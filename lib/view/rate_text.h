/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_VIEW_RATE_TEXT_H
#define PROFC_VIEW_RATE_TEXT_H

#include <stdbool.h>

struct buf;
struct profile;

/*
 * Append "sampled at 410 Hz of 997: ..." with the reason, if a recording of a second or more
 * achieved less than nine tenths of the requested rate: of ticks, and of stops of the threads that
 * ran then. False: it achieved the rate, and nothing is appended.
 */
bool append_rate_achieved(struct buf *out, const struct profile *profile);

#endif
