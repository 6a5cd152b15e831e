/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_VIEW_TOP_RENDER_H
#define PROFC_VIEW_TOP_RENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct count_history;
struct profile;
struct top_state;
struct view;

/* As many rows as fit the screen, and without one 20. */
#define TOP_LIMIT_FITTING SIZE_MAX

/* What one screen of `top` needs beside the profile and the wishes. */
struct top_frame {
	const struct profile *profile;
	const struct top_state *state;
	const struct view *view;
	size_t limit;			    /* rows of the table; 0: all; or TOP_LIMIT_FITTING */
	size_t nr_lines;		    /* of the screen, for that; 0: there is none */
	bool has_keys;			    /* tell about them, and what they have brought about */
	uint64_t window_ns;		    /* how far "the last seconds" reach back */
	const struct count_history *counts; /* what was counted before; NULL: not known */
};

/* Append the lines of a screen: a heading, the wishes, the table. */
void top_render(const struct top_frame *frame, struct buf *out);

#endif
