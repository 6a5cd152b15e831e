/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profc symbolize -e: answers as addr2line does. */
#ifndef PROFC_CMD_SYMBOLIZE_ELF_H
#define PROFC_CMD_SYMBOLIZE_ELF_H

#include <stdbool.h>

#include "symbol/addr2line.h"

struct symbol_options;

/* The options of addr2line. */
struct symbolize_elf_args {
	const char *exe;
	const char *section; /* what addresses count from, or NULL: as they are loaded */
	const char
		*target; /* the format of the file, or NULL; all formats we read begin with elf */
	bool recurse_limit, no_recurse_limit; /* taken and ignored: there is always a limit */
	struct addr2line_format format;
};

/*
 * Print where addresses are, as addr2line prints it: those of words[0 … nr - 1],
 * or, with nr 0, those of standard input, each answered as soon as it is read.
 * Returns an exit status.
 */
int symbolize_elf(const struct symbolize_elf_args *args, const struct symbol_options *options,
		  char **words, int nr);

#endif
