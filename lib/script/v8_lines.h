/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_SCRIPT_V8_LINES_H
#define PROFC_SCRIPT_V8_LINES_H

#include <stdint.h>

struct space;
struct v8_layout;

/* The lines of the sources of scripts in one process. Some that were needed lately are kept. */
struct v8_lines;

struct v8_lines *v8_lines_new(void);
void v8_lines_free(struct v8_lines *lines);

/*
 * The number of the line, from 1, of a position in the source of the script at `script`. 0: it is
 * not known, as the source is long, or elsewhere, or much has been read just now.
 */
uint32_t v8_lines_of(struct v8_lines *lines, const struct v8_layout *layout, struct space *space,
		     uint64_t script, uint32_t position);

#endif
