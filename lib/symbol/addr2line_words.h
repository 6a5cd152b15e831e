/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Translates the command line of addr2line: @FILE and --demangle[=STYLE]. */
#ifndef PROFC_SYMBOL_ADDR2LINE_WORDS_H
#define PROFC_SYMBOL_ADDR2LINE_WORDS_H

#include "symbol/addr2line.h"

struct err;

/*
 * What of addr2line's command line our option tables cannot express: @FILE stands for
 * the words in a file, and --demangle may have a value.
 */
struct addr2line_words {
	int argc;
	char **argv; /* NULL-ended; texts that came from files are owned, others borrowed */
	char **owned;
	int nr_owned;
	enum demangle_style style;
	char demangle[sizeof("--demangle")]; /* argv may point to it: the struct does not move */
};

/* Fails, with nothing to release, on a style that does not exist. */
int addr2line_words_init(struct addr2line_words *words, int argc, char **argv, struct err *err);
void addr2line_words_release(struct addr2line_words *words);

#endif
