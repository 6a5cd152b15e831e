/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The screen of `top`, for a live recording. */
#ifndef PROFC_BROWSE_TOP_H
#define PROFC_BROWSE_TOP_H

#include <stdbool.h>
#include <stddef.h>

struct browse;
struct browse_weighing;
struct sink;
struct view;

/* As many rows as fit the screen; without a screen 20. */
#define TOP_LIMIT_FITTING ((size_t)-1)

/* The state of `top` that a browser does not have. */
struct top_state {
	bool all_time; /* since the beginning, else the last seconds */
	bool paused;
	bool stop;	     /* as job control does */
	const char *awaited; /* borrowed: processes of which there is none now; or NULL */
};

/* Take a key for `top`, or pass it on to the browser; true if the browser's input changes. */
bool top_key(struct top_state *state, struct browse *browse, int key);

/*
 * The first lines of the screen, a browse_head_fn with a struct top_state as context: how busy the
 * processes are, the shown amount of the metric, and figures about memory.
 */
void top_print_head(const struct browse_weighing *weighing, const struct view *view,
		    struct sink *sink, const void *context);
/* Print the lines and the table, for an output that is no screen; a limit of 0: all rows. */
void top_print(const struct browse *browse, const struct top_state *state, const struct view *view,
	       size_t limit, struct sink *sink);

#endif
