/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_VIEW_RATE_TEXT_H
#define PROFC_VIEW_RATE_TEXT_H

#include <stdbool.h>

struct buf;
struct profile;

/*
 * "sampled at 410 Hz of 997: ...", and why, where a recording of a second or more has less than
 * nine tenths of the rate that was asked for: of ticks, and of stops of the threads that ran in
 * these. False: it has, and nothing is appended.
 */
bool append_rate_achieved(struct buf *out, const struct profile *profile);

#endif
