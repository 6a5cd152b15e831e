/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_COMPLETION_COMPLETE_H
#define PROFC_COMPLETION_COMPLETE_H

#include <stdbool.h>
#include <stddef.h>

struct buf;

/* The facts about an option that completion needs. Texts are borrowed. */
struct completion_option {
	char letter;		    /* 0: none */
	const char *name;	    /* without its dashes */
	const char *argument;	    /* "HZ", "FILE"; NULL: it takes no value */
	const char *const *choices; /* all possible values, NULL-ended; or NULL */
	const char *help;
	bool is_optional; /* its value: only `--name=value` gives one */
	bool is_file;
	bool is_list; /* values are separated by commas */
};

struct completion_command {
	const char *name, *summary;
	const struct completion_option *options;
	size_t nr_options;
	bool runs_command; /* the first word that is no option is a program; its arguments follow */
};

/* The command line. Texts are borrowed. */
struct completion_line {
	char **words;		 /* those after "profc" */
	int nr;			 /* up to the one that is completed, which may be empty */
	int nr_after;		 /* of those that follow it */
	const char *directories; /* of programs, as in $PATH */
};

/*
 * The possible replacements for the last of the words: one per line, followed by a tab and a
 * description. Functions, modules, threads and processes are those of the profile that the words
 * name, or of profc.data; functions to be counted those of the program or process. Lines that begin
 * with a colon leave the completion to the shell: ":files", ":directories", ":programs", and
 * ":command N", for the words from words[N] on. ":paths" means that all lines are names of files.
 */
void complete_words(const struct completion_command *commands, size_t nr_commands,
		    const struct completion_line *given, struct buf *out);

#endif
