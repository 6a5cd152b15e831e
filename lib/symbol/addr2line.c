// SPDX-License-Identifier: GPL-2.0-or-later
/* Translates addresses of an ELF file as addr2line does. */
#include "symbol/addr2line.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/err.h"
#include "base/sink.h"
#include "symbol/symbol.h"

/* An address, and the index of its result. */
struct question {
	uint64_t address;
	size_t index; /* among the sorted, distinct addresses */
};

struct addr2line {
	const struct addr2line_format *format;
	struct symbol_file *file;
	uint64_t section_start;
	struct question *questions; /* in the order asked */
	size_t nr, cap;
	struct symbol_result *result; /* of them, from resolving to printing */
};

int addr2line_open(const char *exe, const char *section, const struct symbol_options *options,
		   const struct addr2line_format *format, struct addr2line **opened,
		   struct err *err)
{
	const struct symbol_request request = {.path = exe, .chooser = owner_caller(), .fd = -1};
	struct addr2line *addr2line;
	uint64_t section_start = 0;
	struct symbol_file *file;
	int status = symbol_file_open(options, &request, &file, err);

	if (status < 0)
		return status;
	if (section && !symbol_file_find_section(file, section, &section_start)) {
		symbol_file_close(file);
		return err_set(err, ERR_NOT_FOUND, "%s has no section %s", exe, section);
	}
	addr2line = xcalloc(1, sizeof(*addr2line));
	addr2line->format = format;
	addr2line->file = file;
	addr2line->section_start = section_start;
	*opened = addr2line;
	return 0;
}

void addr2line_close(struct addr2line *addr2line)
{
	symbol_result_free(addr2line->result);
	symbol_file_close(addr2line->file);
	free(addr2line->questions);
	free(addr2line);
}

/*
 * addr2line reads a text as a number if it begins with a digit, or if its letters are hexadecimal
 * digits without a plus after them: add+4 is a function with an offset.
 */
static bool is_number(const char *text)
{
	return isdigit((unsigned char)*text) || *text == '-' ||
	       (isxdigit((unsigned char)*text) && !strchr(text, '+'));
}

/* "FUNCTION", "FUNCTION+OFFSET", the offset as in C; 0 when there is no such function. */
static uint64_t address_of_name(const struct addr2line *addr2line, const char *text)
{
	cleanup_free char *name = xstrndup(text, strcspn(text, "+ \t\n\v\f\r"));
	const char *rest = text + strlen(name);
	uint64_t address = 0;

	rest += strspn(rest, " \t\n\v\f\r");
	if (*name && !symbol_file_find_symbol(addr2line->file, name, &address))
		return 0;
	return *rest == '+' ? address + strtoull(rest + 1, NULL, 0) : address;
}

void addr2line_ask(struct addr2line *addr2line, const char *text)
{
	struct question question = {.address = 0};

	text += strspn(text, " \t\n\v\f\r");
	if (!is_number(text))
		question.address = address_of_name(addr2line, text);
	else if (*text != '-') /* addr2line treats invalid numbers as 0, too */
		question.address = strtoull(text, NULL, 16);
	question.address += addr2line->section_start;
	ARRAY_GROW(addr2line->questions, addr2line->nr, addr2line->cap);
	addr2line->questions[addr2line->nr++] = question;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void print_place(const struct addr2line *addr2line, struct sink *out,
			const struct symbol_location *location, uint32_t discriminator)
{
	const char *file = location->file ? location->file : "??";

	if (addr2line->format->basenames)
		file = base_name(file);
	sink_printf(out, "%s:", file);
	if (!location->line)
		sink_str(out, "?\n");
	else if (discriminator)
		sink_printf(out, "%u (discriminator %u)\n", location->line, discriminator);
	else
		sink_printf(out, "%u\n", location->line);
}

/* Does -C demangle this name? Older Rust looks like C++ with a hash. */
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

static void print_level(const struct addr2line *addr2line, struct sink *out,
			const struct symbol_location *location, uint32_t discriminator)
{
	const char *name = location->name;

	if (addr2line->format->functions) {
		if (location->linkage_name &&
		    (!addr2line->format->demangle ||
		     !is_of_style(location->linkage_name, addr2line->format->style)))
			name = location->linkage_name;
		sink_str(out, name ? name : "??");
		sink_str(out, addr2line->format->pretty ? " at " : "\n");
	}
	print_place(addr2line, out, location, discriminator);
}

static void print_answer(const struct addr2line *addr2line, struct sink *out,
			 const struct question *question)
{
	const struct addr2line_format *format = addr2line->format;
	const struct symbol_result *result = addr2line->result;
	const struct symbol_chain *chain = &result->chains[question->index];
	const struct symbol_location *levels = &result->locations[chain->first];

	if (format->addresses)
		sink_printf(out, "0x%0*llx%s", 2 * (int)symbol_file_address_bytes(addr2line->file),
			    (unsigned long long)(question->address - addr2line->section_start),
			    format->pretty ? ": " : "\n");
	if (!chain->nr) {
		if (format->functions)
			sink_str(out, format->pretty ? "?? " : "??\n");
		sink_str(out, "??:0\n");
		return;
	}
	for (uint32_t i = 0; i < (format->inlines ? chain->nr : 1); i++) {
		if (i && format->pretty)
			sink_str(out, " (inlined by) ");
		print_level(addr2line, out, &levels[i], levels[0].discriminator);
	}
}

static int compare_addresses(const void *a, const void *b)
{
	const uint64_t *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

/* The distinct addresses of all requests, ascending, and their index in each request. */
static uint64_t *sort_questions(struct addr2line *addr2line, size_t *nr)
{
	uint64_t *addresses = xcalloc(addr2line->nr, sizeof(*addresses));

	for (size_t i = 0; i < addr2line->nr; i++)
		addresses[i] = addr2line->questions[i].address;
	qsort(addresses, addr2line->nr, sizeof(*addresses), compare_addresses);
	*nr = 0;
	for (size_t i = 0; i < addr2line->nr; i++) {
		if (i == 0 || addresses[i] != addresses[*nr - 1])
			addresses[(*nr)++] = addresses[i];
	}
	for (size_t i = 0; i < addr2line->nr; i++) {
		const uint64_t *found = bsearch(&addr2line->questions[i].address, addresses, *nr,
						sizeof(*addresses), compare_addresses);

		addr2line->questions[i].index = (size_t)(found - addresses);
	}
	return addresses;
}

bool addr2line_was_asked(const struct addr2line *addr2line)
{
	return addr2line->nr > 0;
}

const char *addr2line_resolve(struct addr2line *addr2line)
{
	size_t nr;
	cleanup_free uint64_t *addresses = sort_questions(addr2line, &nr);

	addr2line->result = symbol_file_resolve(addr2line->file, addresses, nr);
	return addr2line->result->problem;
}

void addr2line_print(struct addr2line *addr2line, struct sink *out)
{
	for (size_t i = 0; i < addr2line->nr; i++)
		print_answer(addr2line, out, &addr2line->questions[i]);
	symbol_result_free(addr2line->result);
	addr2line->result = NULL;
	addr2line->nr = 0;
}
