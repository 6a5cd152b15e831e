/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_AGENT_LINES_PRIV_H
#define PROFC_AGENT_LINES_PRIV_H

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct profile;

/*
 * The lines that an agent reads, man/profc-agent.5: the news in a profile since the last call, as
 * JSON. A row goes out in one piece with all definitions that it needs and that were not sent yet,
 * so that refusing it loses no definition that others need.
 */
struct agent_lines;

/* Where they go. */
struct agent_outlet {
	/*
	 * Lines that belong together; with `is_row`, the last of them is a row of the recording.
	 * False: they were not taken.
	 */
	bool (*put)(void *context, const struct buf *lines, bool is_row);
	/* It would take nothing, so lines need not be made. */
	bool (*is_full)(void *context);
	/* A row was not sent, and will not be. */
	void (*lose)(void *context);
	void *context;
};

/* `outlet` is copied. */
struct agent_lines *agent_lines_new(const struct agent_outlet *outlet);
void agent_lines_free(struct agent_lines *lines);

/*
 * All of its samples, and additions to and changes in its other tables; before everything, hello.
 */
void agent_lines_look(struct agent_lines *lines, const struct profile *profile);

#endif
