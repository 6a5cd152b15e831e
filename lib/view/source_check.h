/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks whether a source file may differ from the compiled one. */
#ifndef PROFC_VIEW_SOURCE_CHECK_H
#define PROFC_VIEW_SOURCE_CHECK_H

#include <stdint.h>

struct buf;
struct module;
struct profile;
struct source_file_text;

/* A source file to check. All members are borrowed. */
struct source_check {
	const struct profile *profile;
	const struct module *module; /* has the code; NULL: unknown */
	const char *recorded;	     /* the file's name in debug information */
	const struct source_file_text *text;
	uint32_t last_line; /* the last line with samples; 0: unknown */
};

/*
 * Append to `note` the path that the file was read from, if it is another one, or that the file was
 * not found. Append to `warning` that it may not be the compiled file: its size or time differs
 * from that at the end of the recording, it was modified after the program or the recording, or it
 * lacks the last line that has samples. One line each, raw.
 */
void source_check(const struct source_check *check, struct buf *note, struct buf *warning);

#endif
