/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs objdump. */
#ifndef PROFC_DESKTOP_OBJDUMP_H
#define PROFC_DESKTOP_OBJDUMP_H

#include <stdint.h>

#include "base/owner.h"

struct buf;

/* Code [start, end) of an ELF file, at its own addresses. Borrowed. */
struct objdump_request {
	const char *directories; /* of $PATH */
	int fd;			 /* open on the file */
	struct owner owner;	 /* of the file */
	uint64_t start, end;
};

/*
 * Append objdump's output for the code, without line numbers: with them objdump would read all of
 * the debug information. Nothing if it cannot be run or takes too long. Called by root for a file
 * that is not root's, it has the rights of the file's owner and no more: no group, no terminal, no
 * environment, no other descriptor, the root directory.
 */
void objdump_run(const struct objdump_request *request, struct buf *output);

#endif
