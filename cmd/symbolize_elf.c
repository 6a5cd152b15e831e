// SPDX-License-Identifier: GPL-2.0-or-later
/* profc symbolize -e: translates addresses as addr2line does. */
#include "cmd/symbolize_elf.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/err.h"
#include "base/sink.h"
#include "cmd/command.h"
#include "cmd/mapped_files.h"
#include "symbol/symbol.h"

/* One address, and where its result is. */
struct question {
	uint64_t address;
	size_t index; /* among the sorted, distinct addresses */
};

struct session {
	const struct symbolize_elf_args *args;
	struct symbol_file *file;
	struct sink out;
	struct question *questions; /* in the order asked */
	size_t nr, cap;
	bool unresolved_told;
	uint64_t section_start;
};

/*
 * addr2line takes what begins with a digit for a number, and letters that could
 * be one unless a plus follows: add+4 is a function's.
 */
static bool is_number(const char *text)
{
	return isdigit((unsigned char)*text) || *text == '-' ||
	       (isxdigit((unsigned char)*text) && !strchr(text, '+'));
}

/* "FUNCTION", "FUNCTION+OFFSET", the offset as in C; 0 when there is no such function. */
static uint64_t address_of_name(const struct session *session, const char *text)
{
	cleanup_free char *name = xstrndup(text, strcspn(text, "+ \t\n\v\f\r"));
	const char *rest = text + strlen(name);
	uint64_t address = 0;

	rest += strspn(rest, " \t\n\v\f\r");
	if (*name && !symbol_file_find_symbol(session->file, name, &address))
		return 0;
	return *rest == '+' ? address + strtoull(rest + 1, NULL, 0) : address;
}

static void add_question(struct session *session, const char *text)
{
	struct question question = {.address = 0};

	text += strspn(text, " \t\n\v\f\r");
	if (!is_number(text))
		question.address = address_of_name(session, text);
	else if (*text != '-') /* addr2line treats invalid numbers as 0, too */
		question.address = strtoull(text, NULL, 16);
	question.address += session->section_start;
	ARRAY_GROW(session->questions, session->nr, session->cap);
	session->questions[session->nr++] = question;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void print_place(struct session *session, const struct symbol_location *location,
			uint32_t discriminator)
{
	const char *file = location->file ? location->file : "??";

	if (session->args->basenames)
		file = base_name(file);
	sink_printf(&session->out, "%s:", file);
	if (!location->line)
		sink_str(&session->out, "?\n");
	else if (discriminator)
		sink_printf(&session->out, "%u (discriminator %u)\n", location->line,
			    discriminator);
	else
		sink_printf(&session->out, "%u\n", location->line);
}

/* Is this a name that -C makes readable? Older Rust looks like C++ with a hash. */
static bool is_of_style(const char *linkage_name, enum demangle_style style)
{
	switch (style) {
	case DEMANGLE_STYLE_AUTO:
		return true;
	case DEMANGLE_STYLE_NONE:
		return false;
	case DEMANGLE_STYLE_GNU_V3:
		return strncmp(linkage_name, "_Z", 2) == 0;
	case DEMANGLE_STYLE_DLANG:
		return strncmp(linkage_name, "_D", 2) == 0;
	case DEMANGLE_STYLE_RUST:
		return strncmp(linkage_name, "_R", 2) == 0 || strstr(linkage_name, "17h") != NULL;
	case DEMANGLE_STYLE_GNAT:
		break;
	}
	return linkage_name[0] != '_';
}

static void print_level(struct session *session, const struct symbol_location *location,
			uint32_t discriminator)
{
	const char *name = location->name;

	if (session->args->functions) {
		if (location->linkage_name &&
		    (!session->args->demangle ||
		     !is_of_style(location->linkage_name, session->args->style)))
			name = location->linkage_name;
		sink_str(&session->out, name ? name : "??");
		sink_str(&session->out, session->args->pretty ? " at " : "\n");
	}
	print_place(session, location, discriminator);
}

static void print_answer(struct session *session, const struct symbol_result *result,
			 const struct question *question)
{
	const struct symbolize_elf_args *args = session->args;
	const struct symbol_chain *chain = &result->chains[question->index];
	const struct symbol_location *levels = &result->locations[chain->first];

	if (args->addresses)
		sink_printf(&session->out, "0x%0*llx%s",
			    2 * (int)symbol_file_address_bytes(session->file),
			    (unsigned long long)(question->address - session->section_start),
			    args->pretty ? ": " : "\n");
	if (!chain->nr) {
		if (args->functions)
			sink_str(&session->out, args->pretty ? "?? " : "??\n");
		sink_str(&session->out, "??:0\n");
		return;
	}
	for (uint32_t i = 0; i < (args->inlines ? chain->nr : 1); i++) {
		if (i && args->pretty)
			sink_str(&session->out, " (inlined by) ");
		print_level(session, &levels[i], levels[0].discriminator);
	}
}

static int compare_addresses(const void *a, const void *b)
{
	const uint64_t *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

/* The distinct addresses of all requests, ascending, and their index in each request. */
static uint64_t *sort_questions(struct session *session, size_t *nr)
{
	uint64_t *addresses = xcalloc(session->nr, sizeof(*addresses));

	for (size_t i = 0; i < session->nr; i++)
		addresses[i] = session->questions[i].address;
	qsort(addresses, session->nr, sizeof(*addresses), compare_addresses);
	*nr = 0;
	for (size_t i = 0; i < session->nr; i++) {
		if (i == 0 || addresses[i] != addresses[*nr - 1])
			addresses[(*nr)++] = addresses[i];
	}
	for (size_t i = 0; i < session->nr; i++) {
		const uint64_t *found = bsearch(&session->questions[i].address, addresses, *nr,
						sizeof(*addresses), compare_addresses);

		session->questions[i].index = (size_t)(found - addresses);
	}
	return addresses;
}

static int answer(struct session *session)
{
	struct symbol_result *result;
	uint64_t *addresses;
	size_t nr;

	if (!session->nr)
		return 0;
	addresses = sort_questions(session, &nr);
	result = symbol_file_resolve(session->file, addresses, nr);
	if (result->problem && !session->unresolved_told) {
		print_warning("%s: %s", session->args->exe, result->problem);
		session->unresolved_told = true;
	}
	for (size_t i = 0; i < session->nr; i++)
		print_answer(session, result, &session->questions[i]);
	symbol_result_free(result);
	free(addresses);
	session->nr = 0;
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
		add_question(session, text + used);
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
	int status;

	sink_init_fd(&session->out, STDOUT_FILENO);
	if (nr == 0) {
		answer_input(session);
	} else {
		for (int i = 0; i < nr; i++)
			add_question(session, words[i]);
		answer(session);
	}
	status = flush_stdout(&session->out);
	free(session->questions);
	return status;
}

int symbolize_elf(const struct symbolize_elf_args *args, const struct symbol_options *options,
		  char **words, int nr)
{
	struct session session = {.args = args};
	const struct symbol_request request = {.path = args->exe, .fd = -1};
	struct err err = ERR_INIT;
	int status;

	if (args->target && strcmp(args->target, "default") != 0 &&
	    strncmp(args->target, "elf", 3) != 0) {
		err_set(&err, ERR_INVALID, "no format %s: what is read here is ELF", args->target);
		print_err(&err);
		return EXIT_CANNOT;
	}
	if (symbol_file_open(options, &request, &session.file, &err) < 0) {
		print_err(&err);
		return EXIT_CANNOT;
	}
	if (args->section &&
	    !symbol_file_find_section(session.file, args->section, &session.section_start)) {
		err_set(&err, ERR_NOT_FOUND, "%s has no section %s", args->exe, args->section);
		print_err(&err);
		symbol_file_close(session.file);
		return EXIT_CANNOT;
	}
	status = run_session(&session, words, nr);
	if (mapped_files_were_cut())
		print_warning("%s was truncated while it was read: results may be missing",
			      args->exe);
	symbol_file_close(session.file);
	return status;
}
