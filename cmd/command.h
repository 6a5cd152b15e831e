/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_COMMAND_H
#define PROFC_CMD_COMMAND_H

#include <stdbool.h>

#include "base/err.h"
#include "cmd/options.h"
#include "profile/profile.h"

struct sink;

/*
 * One command of profc: one file each, cmd/<name>.c, which defines `const struct
 * command command_<name>` and adds its row to the table in cmd/main.c. main()
 * answers --help, --list-options and unknown commands before run(); run() calls
 * options_parse() (with stop_at_word = runs_command) and usage_error() itself.
 */
struct command {
	const char *name;
	const char *synopsis; /* after "profc NAME", one line */
	const char *summary;  /* one line, for `profc --help` */
	const char *help;     /* for `profc NAME --help`: paragraphs are wrapped, lines
				that begin with a space are not */
	const struct option_row *options;
	bool runs_command; /* the first word ends the options: what follows is CMD [ARG...] */
	/*
	 * argv[0] is the command's name; the exit status of profc is returned.
	 * Standard output may be written through stdio or through a sink that is
	 * ended by flush_stdout(); main() flushes stdio and checks it.
	 */
	int (*run)(const struct command *self, int argc, char **argv);
};

extern const struct command command_record, command_attach, command_report, command_annotate,
	command_export, command_symbolize, command_info, command_merge, command_diff, command_ctl,
	command_doctor, command_dump, command_explain, command_stat, command_top, command_view,
	command_whatif;

/* Exit statuses of everything but record (see profc(1)). */
enum exit_status {
	EXIT_DONE = 0,
	EXIT_CANNOT = 1,
	EXIT_USAGE = 2,
	EXIT_EXCEEDED = 3,	 /* diff --fail-above */
	EXIT_PROFC_FAILED = 125, /* record: profc itself failed */
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127,
};

/* "profc: what" on stderr, and "hint: …" where there is one; everything escaped. */
void print_err(const struct err *err);
/* "profc: warning: …" / "profc: …" / "hint: …" on stderr, escaped. */
void print_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
void print_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
void print_hint(const char *format, ...) __attribute__((format(printf, 1, 2)));
/*
 * Is standard error a terminal, and are we in its foreground? From behind, what is written only to
 * pass the progress would overwrite what the user types.
 */
bool may_show_progress(void);
/*
 * What goes on, in place of what was shown before, as much of it as fits the line; "" leaves the
 * line empty. To be asked for only where it may be shown.
 */
void print_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Wrong usage: the message, then where help is. Returns EXIT_USAGE. */
int usage_error(const struct command *command, const struct err *err);
/* Whatever else went wrong: the message. Returns EXIT_CANNOT. */
int fail_with(const struct err *err);
/*
 * The first for ERR_INVALID, else the second: a regular expression of a filter is only known to be
 * invalid once the profile is read.
 */
int fail_or_usage_error(const struct command *command, const struct err *err);
/*
 * Flush a sink over standard output and release it. EXIT_DONE, or EXIT_CANNOT
 * with the message "cannot write standard output: ..."; silent on EPIPE: a
 * reader that has seen enough is no news.
 */
int flush_stdout(struct sink *sink);

/*
 * Read the profile that `-i` names (NULL: profc.data), with the messages every
 * reading command gives: no such file (hint: record first), salvaged, no
 * samples. Returns EXIT_DONE and *profile, or the status to exit with.
 */
int open_profile(const char *path, struct profile **profile);
/* The same for commands that accept a profile without samples: `info`, `merge`. */
int open_profile_even_empty(const char *path, struct profile **profile);
/* For metrics of memory, which need what was recorded of that in place of samples. */
int open_profile_of_memory(const char *path, enum metric metric, struct profile **profile);
/* For those that show whatever metric the profile has. */
int open_profile_of_any(const char *path, struct profile **profile);
/* And for those to which exact counts are enough. */
int open_profile_or_counts(const char *path, struct profile **profile);
/*
 * The newest profile that can be trusted of the directory of that name, which is said; the caller
 * frees it. NULL: it is no directory, or has none.
 */
char *newest_profile_in(const char *path);
/*
 * Make it ready for views and exports, with or without functions of the kernel in the stacks of
 * sleeping threads, and all native functions of interpreters. `path` as for open_profile().
 */
void prepare_profile(struct profile *profile, const char *path, bool with_kernel, bool with_native);
/* Its name in messages. */
const char *profile_path_or_default(const char *path);

#endif
