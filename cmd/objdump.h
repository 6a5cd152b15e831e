/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_OBJDUMP_H
#define PROFC_CMD_OBJDUMP_H

#include <stdbool.h>
#include <stdint.h>

struct buf;

/* Is there an objdump to run? */
bool objdump_exists(void);
/*
 * Append what it prints on the code [start, end) of an ELF file, at its own addresses, without line
 * numbers: for each of these it would read all of the debug information.
 */
void objdump_run(const char *path, uint64_t start, uint64_t end, struct buf *output);

#endif
