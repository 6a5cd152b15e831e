/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_ANNOTATE_H
#define PROFC_CMD_ANNOTATE_H

#include <stdbool.h>
#include <stdint.h>

#include "cmd/filter_options.h"
#include "cmd/view_options.h"
#include "view/source_file.h"

struct source_check;
struct weights;

/* The command line of annotate, shared by its two kinds of listing. */
struct annotate_args {
	const char *input;
	int metric; /* an enum metric */
	uint64_t limit, context;
	bool json, instructions;
	struct option_list source_paths;
	struct filter_options filter;
	struct view_options view;
};

#define CONTEXT_NOT_GIVEN UINT64_MAX
#define LIMIT_NOT_GIVEN	  UINT64_MAX

/*
 * Print the source of the files and functions named by the NULL-ended words, or of
 * the hottest files. The exit status is returned, messages are given.
 */
int annotate_source(const struct annotate_args *args, const struct weights *weights,
		    char *const *words);
/* The same for the instructions of functions. */
int annotate_instructions(const struct annotate_args *args, const struct weights *weights,
			  char *const *words);

/* How many files, or functions, to show where none is named. */
size_t annotate_limit(const struct annotate_args *args);
/* The values of --source-path, borrowed. */
struct source_maps annotate_maps(const struct annotate_args *args);
/* Find and read a source file, with --source-path, as source_file_read() does. */
void annotate_read_source(const struct annotate_args *args, const struct profile *profile,
			  const char *recorded, const char *named, struct source_file_text *text);
/* Say on standard error what source_check() finds. */
void annotate_say_doubts(const struct source_check *check);

#endif
