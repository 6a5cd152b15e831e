// SPDX-License-Identifier: GPL-2.0-or-later
/* Errors, warnings, notes and progress on standard error. */
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/escape.h"
#include "base/sink.h"
#include "cmd/command.h"
#include "view/cut.h"

/*
 * Is it the journal of systemd (systemd.exec(5))? That puts our name before each line, and takes
 * its priority from the line (sd-daemon(3)).
 */
static bool is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	struct stat of_stderr;
	char own[64];

	if (!stream || fstat(STDERR_FILENO, &of_stderr) < 0)
		return false;
	snprintf(own, sizeof(own), "%ju:%ju", (uintmax_t)of_stderr.st_dev,
		 (uintmax_t)of_stderr.st_ino);
	return strcmp(stream, own) == 0;
}

/* How a line begins, also where something else puts our name before it. */
struct kind {
	const char *prefix, *without_name;
	int priority; /* of syslog(3) */
};

static const struct kind failure = {"profc: ", "", LOG_ERR};
static const struct kind warning = {"profc: warning: ", "warning: ", LOG_WARNING};
static const struct kind note = {"profc: ", "", LOG_NOTICE};
static const struct kind hint_for_user = {"hint: ", "hint: ", LOG_NOTICE};

/* One line on stderr in one write, so that lines of several processes do not mix. */
static void print_line(const struct kind *kind, const char *text)
{
	struct buf line = {0};

	if (is_journal())
		buf_printf(&line, "<%d>%s", kind->priority, kind->without_name);
	else
		buf_append_str(&line, kind->prefix);
	escape_terminal(&line, text);
	buf_append_byte(&line, '\n');
	fwrite(line.bytes, 1, line.nr_bytes, stderr);
	buf_release(&line);
}

void print_err(const struct err *err)
{
	const char *hint = err_advice(err);

	print_line(&failure, err->what);
	if (*hint)
		print_line(&hint_for_user, hint);
}

static void print_formatted(const struct kind *kind, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

static void print_formatted(const struct kind *kind, const char *format, va_list args)
{
	char text[1024];

	vsnprintf(text, sizeof(text), format, args);
	print_line(kind, text);
}

void print_warning(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_formatted(&warning, format, args);
	va_end(args);
}

void print_note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_formatted(&note, format, args);
	va_end(args);
}

void print_hint(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_formatted(&hint_for_user, format, args);
	va_end(args);
}

bool may_show_progress(void)
{
	pid_t foreground;

	if (!isatty(STDERR_FILENO))
		return false;
	foreground = tcgetpgrp(STDERR_FILENO);
	/* Unknown for a terminal that is not the controlling one. */
	return foreground < 0 || foreground == getpgrp();
}

/* For a terminal without a known size. */
#define USUAL_COLUMNS 80

/* The cursor stays in the line: where it is full some go on to the next one. */
static size_t columns_for_progress(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
		return USUAL_COLUMNS - 1;
	return size.ws_col - 1u;
}

void print_progress(const char *format, ...)
{
	struct buf escaped = {0}, line = {0};
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	escape_terminal(&escaped, text);
	buf_append_str(&line, "\r\033[K");
	append_cut(&line, buf_str(&escaped), columns_for_progress(), CUT_END);
	fwrite(line.bytes, 1, line.nr_bytes, stderr);
	buf_release(&escaped);
	buf_release(&line);
}

int usage_error(const struct command *command, const struct err *err)
{
	struct err shown = *err;

	if (!shown.hint[0])
		err_hint(&shown, "'profc %s --help' lists the options", command->name);
	print_err(&shown);
	return EXIT_USAGE;
}

int fail_with(const struct err *err)
{
	print_err(err);
	return EXIT_CANNOT;
}

int fail_or_usage_error(const struct command *command, const struct err *err)
{
	return err->code == ERR_INVALID ? usage_error(command, err) : fail_with(err);
}

int flush_stdout(struct sink *sink)
{
	struct err err = ERR_INIT;
	int outcome = sink_flush(sink);

	sink_release(sink);
	if (!outcome)
		return EXIT_DONE;
	if (outcome == EPIPE)
		return EXIT_CANNOT;
	errno = outcome;
	err_sys(&err, "cannot write standard output");
	return fail_with(&err);
}
