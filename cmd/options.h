/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_OPTIONS_H
#define PROFC_CMD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct err;

/*
 * Command-line options as tables: one row an option, stored by offset into the
 * command's own options struct. The same rows make the parser, `--help`,
 * `--list-options` (from which completions and check-docs work) and the hint
 * for a misspelt option.
 */
enum option_type {
	OPTION_FLAG,   /* bool: true; with the row's `negated`, false */
	OPTION_STRING, /* const char *, borrowed from argv */
	OPTION_FILE,   /* the same, and not empty */
	OPTION_LIST, /* struct option_list: repeats append; commas and blanks split when `commas` is
			set */
	OPTION_UINT, /* uint64_t between min and max */
	OPTION_DOUBLE,	 /* double between min and max */
	OPTION_DURATION, /* uint64_t ns: "10", "10s", "500ms", "2m"; ns us ms s m h; fractions too
			  */
	OPTION_SIZE,	 /* uint64_t bytes: "100", "64K", "10M", "2G", of 1024 */
	OPTION_CHOICE,	 /* int: index into `choices` */
	OPTION_SECTION,	 /* no option: a heading of --help */
};

struct option_list {
	const char **values; /* owned array of borrowed (or split, owned) texts */
	size_t nr, cap;
};

struct option_row {
	enum option_type type;
	char short_name; /* 0: none */
	const char *name;
	const char *argument;	    /* placeholder for help: "HZ", "FILE"; NULL for flags */
	size_t offset;		    /* offsetof() in the command's options struct */
	const char *help;	    /* one line; the default in brackets at its end */
	const char *const *choices; /* NULL-ended, for OPTION_CHOICE */
	double min, max;	    /* of the stored value (durations: ns); both 0: any */
	bool negated, commas, hidden;
	const char *without; /* the value, where none is given: only `--name=value` gives one */
	bool directory; /* of OPTION_STRING and OPTION_LIST: values are to name one that is there */
	int value;	/* OPTION_FLAG with `as_choice`: store this int instead of a bool */
	bool as_choice;
};

#define OPTIONS_END                                                                                \
	{                                                                                          \
		.name = NULL, .type = OPTION_FLAG                                                  \
	}

/*
 * Parse argv[1…]. GNU rules: short options cluster, `--name=value` and `--name
 * value`, unambiguous prefixes, `--` ends. With `stop_at_word` the first word
 * that is no option ends parsing (record's CMD); else words may stand anywhere
 * and are moved to the end of argv. *first_word is the index of the first word.
 * An unknown option is ERR_INVALID with the nearest name as hint. The list rows
 * of `values` must be released with options_release().
 */
int options_parse(const struct option_row *rows, void *values, int argc, char **argv,
		  bool stop_at_word, int *first_word, struct err *err);
void options_release(const struct option_row *rows, void *values);

/*
 * What every command answers before it runs: does argv ask for help, or for the
 * list of options? Takes the same words as options_parse() would.
 */
enum options_ask {
	OPTIONS_ASK_NOTHING,
	OPTIONS_ASK_HELP,
	OPTIONS_ASK_LIST,
};

enum options_ask options_asked(const struct option_row *rows, int argc, char **argv,
			       bool stop_at_word);

/* The rows behind those, which options_parse() accepts and ignores; OPTIONS_END-ed. */
extern const struct option_row options_common[];

/* The options part of `--help`, wrapped for 80 columns. */
void options_help(const struct option_row *rows, struct buf *out);
/* One `--name` or `-x` a line, hidden ones left out. */
void options_list(const struct option_row *rows, struct buf *out);

#endif
