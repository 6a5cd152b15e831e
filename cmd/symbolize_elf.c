// SPDX-License-Identifier: GPL-2.0-or-later
/* profc symbolize -e: answers as addr2line does. */
#include "cmd/symbolize_elf.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/sink.h"
#include "cmd/command.h"
#include "cmd/mapped_files.h"

struct session {
	const struct symbolize_elf_args *args;
	struct addr2line *addr2line;
	struct sink out;
	bool unresolved_told;
};

static int answer(struct session *session)
{
	const char *problem;

	if (!addr2line_was_asked(session->addr2line))
		return 0;
	problem = addr2line_resolve(session->addr2line);
	if (problem && !session->unresolved_told) {
		print_warning("%s: %s", session->args->exe, problem);
		session->unresolved_told = true;
	}
	addr2line_print(session->addr2line, &session->out);
	return sink_flush(&session->out);
}

/* Requests from the complete lines in `input`, which are removed from it. */
static void take_lines(struct session *session, struct buf *input)
{
	char *text = (char *)input->bytes, *newline;
	size_t used = 0;

	while (used < input->nr_bytes &&
	       (newline = memchr(text + used, '\n', input->nr_bytes - used))) {
		*newline = '\0';
		addr2line_ask(session->addr2line, text + used);
		used = (size_t)(newline + 1 - text);
	}
	memmove(input->bytes, input->bytes + used, input->nr_bytes - used);
	input->nr_bytes -= used;
}

static bool has_more(int fd)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

	return poll(&poll_fd, 1, 0) > 0;
}

/*
 * Programs use addr2line through pipes, one address at a time: answer as soon as there is no more
 * input to read.
 */
static int answer_input(struct session *session)
{
	struct buf input = {.nr_bytes = 0};
	ssize_t nr;
	int status = 0;

	do {
		uint8_t block[8192];

		nr = read(STDIN_FILENO, block, sizeof(block));
		if (nr > 0)
			buf_append(&input, block, (size_t)nr);
		else if (nr == 0 && input.nr_bytes)
			buf_append_byte(&input, '\n');
		if (input.nr_bytes)
			take_lines(session, &input);
		if (nr <= 0 || !has_more(STDIN_FILENO))
			status = answer(session);
	} while (status == 0 && (nr > 0 || (nr < 0 && errno == EINTR)));
	buf_release(&input);
	return status;
}

static int run_session(struct session *session, char **words, int nr)
{
	sink_init_fd(&session->out, STDOUT_FILENO);
	if (nr == 0) {
		answer_input(session);
	} else {
		for (int i = 0; i < nr; i++)
			addr2line_ask(session->addr2line, words[i]);
		answer(session);
	}
	return flush_stdout(&session->out);
}

int symbolize_elf(const struct symbolize_elf_args *args, const struct symbol_options *options,
		  char **words, int nr)
{
	struct session session = {.args = args};
	struct err err = ERR_INIT;
	int status;

	if (args->target && strcmp(args->target, "default") != 0 &&
	    strncmp(args->target, "elf", 3) != 0) {
		err_set(&err, ERR_INVALID, "no format %s: what is read here is ELF", args->target);
		return fail_with(&err);
	}
	if (addr2line_open(args->exe, args->section, options, &args->format, &session.addr2line,
			   &err) < 0)
		return fail_with(&err);
	status = run_session(&session, words, nr);
	if (mapped_files_were_cut())
		print_warning("%s was truncated while it was read: results may be missing",
			      args->exe);
	addr2line_close(session.addr2line);
	return status;
}
