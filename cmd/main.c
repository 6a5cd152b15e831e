// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NCURSES_NOMACROS
#include <curses.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/nearest.h"
#include "base/sink.h"
#include "base/wrap.h"
#include "cmd/command.h"
#include "cmd/complete.h"
#include "cmd/foreign.h"
#include "cmd/mapped_files.h"
#include "symbol/library_versions.h"
#include "unwind/libunwind_version.h"

/* The Makefile says these for this file only: a commit compiles no other again. */
#ifndef PROFC_COMMIT
#define PROFC_COMMIT "unknown"
#endif
#ifndef PROFC_FLAGS
#define PROFC_FLAGS ""
#endif

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

/* In the order of `profc --help`. */
/* clang-format off */
static const struct command *const commands[] = {
	&command_record,
	&command_attach,
	&command_ctl,
	&command_stat,
	&command_top,
	&command_dump,
	&command_explain,
	&command_whatif,
	&command_report,
	&command_annotate,
	&command_view,
	&command_export,
	&command_diff,
	&command_info,
	&command_merge,
	&command_symbolize,
	&command_doctor,
	NULL,
};
/* clang-format on */

/*
 * A closed standard descriptor would be given to the next file opened, which
 * might then be read or written as if it were the terminal. Fill the gap with
 * one that fails on use, and that a recorded command does not inherit.
 */
static void fill_standard_descriptors(void)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			(void)open("/dev/null", (fd ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
	}
}

static int print_text(struct buf *text)
{
	struct sink out;

	sink_init_fd(&out, STDOUT_FILENO);
	sink_write(&out, text->bytes, text->nr_bytes);
	buf_release(text);
	return flush_stdout(&out);
}

static const struct command *find_command(const char *name)
{
	const struct command *const *command = commands;

	while (*command && strcmp((*command)->name, name) != 0)
		command++;
	return *command;
}

static int unknown(const char *what, const char *name)
{
	const char *candidates[ARRAY_SIZE(commands) + 3];
	size_t nr = 0;
	const char *nearest;
	struct err err = ERR_INIT;

	for (const struct command *const *command = commands; *command; command++)
		candidates[nr++] = (*command)->name;
	candidates[nr++] = "help";
	candidates[nr++] = "--help";
	candidates[nr++] = "--version";
	nearest = nearest_word(name, candidates, nr);
	err_set(&err, ERR_INVALID, "unknown %s '%s'", what, name);
	if (foreign_word_hint(name))
		err_hint(&err, "%s", foreign_word_hint(name));
	else if (nearest)
		err_hint(&err, "did you mean '%s'?", nearest);
	else
		err_hint(&err, "'profc --help' lists the commands");
	print_err(&err);
	return EXIT_USAGE;
}

/* It fits on a terminal of 24 lines. */
static void append_help(struct buf *out)
{
	buf_append_str(
		out,
		"usage: profc COMMAND [OPTIONS] [ARGUMENT...] | help COMMAND | --version [-v]\n"
		"Shows where the time of any native Linux program goes, without changing it:\n");
	for (const struct command *const *command = commands; *command; command++)
		buf_printf(out, "  %-11s %s\n", (*command)->name, (*command)->summary);
	buf_append_str(
		out,
		"\n"
		"First steps ('profc COMMAND --help' lists the options; profc(1) is the manual):\n"
		"  profc record ./program            then 'profc report': its time by function\n"
		"  profc attach -p PID -d 10s        a program that runs already\n"
		"  profc attach -p PID --keep 60s    always on; 'profc ctl DIR dump' writes it\n");
}

static void append_command_help(const struct command *command, struct buf *out)
{
	static const struct wrap wrap = {.columns = 79};

	buf_printf(out, "usage: profc %s %s\n\n%s\n", command->name, command->synopsis,
		   command->summary);
	if (command->help) {
		buf_append_byte(out, '\n');
		wrap_text(out, command->help, &wrap);
	}
	if (command->options->type != OPTION_SECTION)
		buf_append_str(out, "\nOptions:\n");
	options_help(command->options, out);
}

static int print_help(const struct command *command)
{
	struct buf text = {0};

	if (command)
		append_command_help(command, &text);
	else
		append_help(&text);
	return print_text(&text);
}

static bool is_version(const char *word)
{
	return word && (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0);
}

static bool is_verbose(const char *word)
{
	return word && (strcmp(word, "--verbose") == 0 || strcmp(word, "-v") == 0);
}

/* With `verbose` also what a report of a defect should say. */
static void append_version(bool verbose, struct buf *out)
{
	buf_append_str(out, "profc " PROFC_VERSION "\n");
	if (!verbose)
		return;
	buf_append_str(out, "commit:    " PROFC_COMMIT "\n");
	buf_printf(out, "libraries: libunwind %s, ", libunwind_version());
	library_versions(out);
	buf_printf(out, ", %s", curses_version());
#ifdef PROFC_STATIC
	buf_append_str(out, "\nstatic:    one file; debuginfod is off, as it is a library");
#endif
	buf_append_str(out, "\ncompiler:  " COMPILER "\nflags:     " PROFC_FLAGS "\n");
}

static int print_version(bool verbose)
{
	struct buf text = {0};

	append_version(verbose, &text);
	return print_text(&text);
}

static int list_commands(void)
{
	struct buf text = {0};

	for (const struct command *const *command = commands; *command; command++)
		buf_printf(&text, "%s\n", (*command)->name);
	return print_text(&text);
}

static int list_options(const struct command *command)
{
	struct buf text = {0};

	options_list(command->options, &text);
	return print_text(&text);
}

/* For completions/: the words behind "profc", the last one that which is typed. */
static int print_completions(int nr_words, char **words)
{
	struct buf text = {0};

	complete(commands, nr_words, words, &text);
	return print_text(&text);
}

/* `profc help [COMMAND]` */
static int help_for(const char *name)
{
	const struct command *command;

	if (!name || strcmp(name, "help") == 0)
		return print_help(NULL);
	command = find_command(name);
	return command ? print_help(command) : unknown("command", name);
}

static int run_command(const struct command *command, int argc, char **argv)
{
	switch (options_asked(command->options, argc, argv, command->runs_command)) {
	case OPTIONS_ASK_HELP:
		return print_help(command);
	case OPTIONS_ASK_LIST:
		return list_options(command);
	case OPTIONS_ASK_NOTHING:
		break;
	}
	return command->run(command, argc, argv);
}

static int dispatch(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "--help";
	const char *next = argc > 2 ? argv[2] : NULL;
	const struct command *command = find_command(word);

	if (command)
		return run_command(command, argc - 1, argv + 1);
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
		return print_help(NULL);
	if (strcmp(word, "help") == 0)
		return help_for(next);
	if (is_version(word) || (is_verbose(word) && is_version(next)))
		return print_version(is_verbose(word) || is_verbose(next));
	if (strcmp(word, "--list-commands") == 0)
		return list_commands();
	if (strcmp(word, "--complete") == 0)
		return print_completions(argc - 2, argv + 2);
	return unknown(word[0] == '-' ? "option" : "command", word);
}

/* Output that is left in stdio must be written: a full disk is no success. */
static int finish_stdio(int status)
{
	struct err err = ERR_INIT;

	if (fflush(stdout) == 0 && !ferror(stdout) && fclose(stdout) == 0)
		return status;
	if (errno != EPIPE) {
		err_sys(&err, "cannot write standard output");
		print_err(&err);
	}
	return status == EXIT_DONE ? EXIT_CANNOT : status;
}

int main(int argc, char **argv)
{
	fill_standard_descriptors();
	mapped_files_guard();
	return finish_stdio(dispatch(argc, argv));
}
