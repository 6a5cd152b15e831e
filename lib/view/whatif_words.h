/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words of what functions are worth, for texts and pages. All text is raw, and not escaped. */
#ifndef PROFC_VIEW_WHATIF_WORDS_H
#define PROFC_VIEW_WHATIF_WORDS_H

#include <stddef.h>

#include "view/style.h"

struct buf;
struct whatif_facts;
struct whatif_function;
struct whatif_gain;
struct whatif_point;
struct whatif_row;

/*
 * The gains that tables have: at two of the speeds, and the most of all. Not known with fewer
 * trials than a verdict takes, which may be more than "the most".
 */
#define WHATIF_NR_SHOWN 3
extern const char *const whatif_shown_headers[WHATIF_NR_SHOWN];
struct whatif_gain whatif_shown_gain(const struct whatif_function *function, size_t i);

/* As it is shown: a time that falls has less than 0. */
double whatif_shown_percent(const struct whatif_gain *gain);
/* "+33.1%", and "± 2.0"; of one that is not known nothing. */
void whatif_append_gain(struct buf *out, const struct whatif_gain *gain);
void whatif_append_half(struct buf *out, const struct whatif_gain *gain);
/* "10% faster: +11.0% ± 1.2, 12 trials", or "10% faster: not known, " and why. */
void whatif_append_point(struct buf *out, const struct whatif_function *function, size_t speed);
/* Why a gain is not known. */
const char *whatif_why_unknown(const struct whatif_point *point);
/* Good or hot, if the interval is on one side of 0. */
enum style whatif_gain_style(const struct whatif_gain *gain);

/* "what if it were faster: gain of calls of f, 497/s"; "change of time from f to g, 2.1 ms" */
void whatif_append_heading(struct buf *out, const struct whatif_facts *facts);
/* How much was tried, and how far it can be trusted: lines, each with its newline. */
void whatif_append_notes(struct buf *out, const struct whatif_facts *facts);
/*
 * The gain that a profile alone would have one expect from a function that is faster by a part of
 * its time: that of a program with one thread (Amdahl). Infinite where nothing would be left.
 * Of a time, by how much it would change, as shown.
 */
double whatif_promised_percent(const struct whatif_facts *facts, size_t function, double faster);
/* Trials without a result, because holds came late. */
size_t whatif_nr_late(const struct whatif_facts *facts);
/* Or because the number of requests inside was not steady. */
size_t whatif_nr_drifting(const struct whatif_facts *facts);
/*
 * How many more requests there were at this speed by the clock without holds: mean of all trials.
 * NAN without a trial, which is null in JSON.
 */
double whatif_load_percent(const struct whatif_point *point);

#endif
