/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Warns if a source file may differ from the one that was compiled. */
#ifndef PROFC_CMD_SOURCE_CHECK_H
#define PROFC_CMD_SOURCE_CHECK_H

#include <stdint.h>

struct module;
struct profile;
struct source_file_text;

/*
 * Report on standard error where the source file that debug information calls `recorded` was read
 * from, if that is another path, or that it was not found; and warn if it may not be what the code
 * was compiled from: of another size or time than at the end of the recording, modified after the
 * program or the recording, or without the last line that has samples (0: unknown). `module` has
 * the code; NULL: unknown.
 */
void source_check(const struct profile *profile, const struct module *module, const char *recorded,
		  const struct source_file_text *text, uint32_t last_line);

#endif
