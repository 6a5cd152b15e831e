/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tells whether a source file may differ from the one that was compiled. */
#ifndef PROFC_VIEW_SOURCE_CHECK_H
#define PROFC_VIEW_SOURCE_CHECK_H

#include <stdint.h>

struct buf;
struct module;
struct profile;
struct source_file_text;

/* A source file that was looked for. All of it is borrowed. */
struct source_check {
	const struct profile *profile;
	const struct module *module; /* has the code; NULL: unknown */
	const char *recorded;	     /* what debug information calls the file */
	const struct source_file_text *text;
	uint32_t last_line; /* that has samples; 0: unknown */
};

/*
 * Append to `note` where the file was read from, if that is another path, or that it was not
 * found; and to `warning` if it may not be what the code was compiled from: of another size or
 * time than at the end of the recording, modified after the program or the recording, or without
 * the last line that has samples. One line each, raw.
 */
void source_check(const struct source_check *check, struct buf *note, struct buf *warning);

#endif
