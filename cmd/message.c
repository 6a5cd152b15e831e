// SPDX-License-Identifier: GPL-2.0-or-later
/* Errors, warnings, notes and progress on standard error. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/escape.h"
#include "base/sink.h"
#include "cmd/command.h"
#include "view/cut.h"

/* One line on stderr in one write, so that lines of several processes do not mix. */
static void print_line(const char *prefix, const char *text)
{
	struct buf line = {0};

	buf_append_str(&line, prefix);
	escape_terminal(&line, text);
	buf_append_byte(&line, '\n');
	fwrite(line.bytes, 1, line.nr_bytes, stderr);
	buf_release(&line);
}

void print_err(const struct err *err)
{
	const char *hint = err_advice(err);

	print_line("profc: ", err->what);
	if (*hint)
		print_line("hint: ", hint);
}

static void print_formatted(const char *prefix, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));

static void print_formatted(const char *prefix, const char *format, va_list args)
{
	char text[1024];

	vsnprintf(text, sizeof(text), format, args);
	print_line(prefix, text);
}

void print_warning(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_formatted("profc: warning: ", format, args);
	va_end(args);
}

void print_note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_formatted("profc: ", format, args);
	va_end(args);
}

void print_hint(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_formatted("hint: ", format, args);
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
	int failure = sink_flush(sink);

	sink_release(sink);
	if (!failure)
		return EXIT_DONE;
	if (failure == EPIPE)
		return EXIT_CANNOT;
	errno = failure;
	err_sys(&err, "cannot write standard output");
	return fail_with(&err);
}
