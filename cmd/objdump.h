/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_OBJDUMP_H
#define PROFC_CMD_OBJDUMP_H

#include <stdbool.h>
#include <stdint.h>

struct buf;

/* Is there an objdump to run? */
bool objdump_exists(void);
/*
 * Append what it prints on the code [start, end) of an ELF file, at its own addresses. Line numbers
 * take as long as reading all of its debug information.
 */
void objdump_run(const char *path, uint64_t start, uint64_t end, bool line_numbers,
		 struct buf *output);

#endif
