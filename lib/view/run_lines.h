/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The runs of a merged recording as text. */
#ifndef PROFC_VIEW_RUN_LINES_H
#define PROFC_VIEW_RUN_LINES_H

#include <stdint.h>

#include "view/style.h"

struct buf;
struct profile;
struct sink;

/* Append "2026-11-26 01:38:56 UTC"; nothing for 0, which is unknown. */
void append_date(struct buf *out, uint64_t realtime_ns);

/*
 * Below a heading: " 3 runs of ./prog on host, 2026-11-26 01:38 to 01:52 UTC", one line for each
 * command on each host, at most a few, with the command cut to the width. Nothing for a recording
 * that was not merged.
 */
void print_run_groups(const struct profile *profile, const struct view *view, struct sink *sink);

/* All runs, one per line: start, duration, host and command. */
void print_runs(const struct profile *profile, const struct view *view, struct sink *sink);

#endif
