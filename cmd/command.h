/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_COMMAND_H
#define PROFC_CMD_COMMAND_H

#include <stdbool.h>

#include "base/err.h"
#include "cmd/options.h"

struct profile;

/*
 * One command of profc: a row of the table in cmd/main.c, one file each,
 * cmd/<name>.c, which defines `const struct command command_<name>`. main()
 * answers --help, --list-options and wrong usage from the row before run().
 */
struct command {
	const char *name;
	const char *synopsis; /* after "profc NAME", one line */
	const char *summary;  /* one line, for `profc --help` */
	const char *help;     /* a paragraph and examples, for `profc NAME --help` */
	const struct option_row *options;
	bool pager; /* its output may go through a pager, as git's does */
	/* argv[0] is the command's name; the exit status of profc is returned. */
	int (*run)(const struct command *self, int argc, char **argv);
};

extern const struct command command_record, command_attach, command_report, command_annotate,
	command_export, command_info;

/* Exit statuses of everything but record (see profc(1)). */
enum exit_status {
	EXIT_DONE = 0,
	EXIT_CANNOT = 1,
	EXIT_USAGE = 2,
	EXIT_PROFC_FAILED = 125, /* record: profc itself failed */
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127,
};

/* "profc: what" on stderr, and "hint: …" where err has one; everything escaped. */
void print_err(const struct err *err);
/* "profc: warning: …" / "profc: …" on stderr, escaped. */
void print_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void print_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Wrong usage: the message, then where help is. Returns EXIT_USAGE. */
int usage_error(const struct command *command, const struct err *err);

/*
 * Read the profile that `-i` names (NULL: profc.data), with the messages every
 * reading command gives: no such file (hint: record first), salvaged, no
 * samples. Returns EXIT_DONE and *profile, or the status to exit with.
 */
int open_profile(const char *path, struct profile **profile);

#endif
