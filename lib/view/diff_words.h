/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words that comparisons of profiles share, whatever their form. */
#ifndef PROFC_VIEW_DIFF_WORDS_H
#define PROFC_VIEW_DIFF_WORDS_H

#include <stddef.h>

#include "view/number.h"

struct buf;
struct diff;
struct diff_row;

enum metric diff_metric(const struct diff *diff);
/* The unit that fits all rows of a comparison of amounts. */
struct unit diff_unit(const struct diff *diff, enum time_unit wanted);
/* "total: +120 ms (+12.3% ± 1.8)", or what is compared in place of totals. */
void diff_append_total(struct buf *out, const struct diff *diff);
/* "functions", or of other comparisons "rows". */
void diff_append_kind(struct buf *out, const struct diff *diff, size_t nr);
/* The word for a row that only one of the profiles has; rows without code get none. */
const char *diff_presence_word(const struct diff *diff, const struct diff_row *row);
/*
 * "3 functions changed within noise", or for several runs "no more than runs of one side differ".
 */
void diff_append_unsure(struct buf *out, const struct diff *diff, size_t nr);

#endif
