/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A note below views of elapsed time. */
#ifndef PROFC_VIEW_ELAPSED_WORDS_H
#define PROFC_VIEW_ELAPSED_WORDS_H

struct buf;
struct weights;

/*
 * Append for how much of the time threads only waited for a CPU, and how much CPU time has no known
 * moment. Nothing of another metric, or where it is little.
 */
void note_elapsed(const struct weights *weights, struct buf *note);

#endif
