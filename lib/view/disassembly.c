// SPDX-License-Identifier: GPL-2.0-or-later
/* Parses the output of objdump. */
#include "view/disassembly.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

void disassembly_release(struct disassembly *disassembly)
{
	buf_release(&disassembly->output);
	free(disassembly->lines);
	*disassembly = (struct disassembly){0};
}

/* "    1218:\tmov    %rax,%rsi" */
static bool parse_instruction(char *text, struct disassembly_line *line)
{
	char *end;

	if (*text != ' ')
		return false;
	line->address = strtoull(text, &end, 16);
	if (end[0] != ':' || end[1] != '\t')
		return false;
	line->kind = DISASSEMBLY_INSTRUCTION;
	line->text = end + 2;
	return true;
}

/* "0000000000001200 <not_inlined>:" */
static bool parse_function(char *text, struct disassembly_line *line)
{
	char *end;

	if (!isxdigit((unsigned char)*text))
		return false;
	line->address = strtoull(text, &end, 16);
	if (end[0] != ' ' || end[1] != '<')
		return false;
	line->kind = DISASSEMBLY_FUNCTION;
	line->text = end + 1;
	return true;
}

/* "/src/prog.c:12" or "/src/prog.c:12 (discriminator 3)" */
static bool parse_position(char *text, struct disassembly_line *line)
{
	char *note = strstr(text, " (discriminator "), *colon, *end;

	if (note)
		*note = '\0';
	colon = strrchr(text, ':');
	if (!colon || !isdigit((unsigned char)colon[1]))
		return false;
	line->line = (uint32_t)strtoul(colon + 1, &end, 10);
	if (*end != '\0')
		return false;
	*colon = '\0';
	line->kind = DISASSEMBLY_POSITION;
	line->text = text;
	return true;
}

void disassembly_parse(struct disassembly *disassembly)
{
	char *at, *next;

	buf_append_byte(&disassembly->output, '\0');
	for (at = (char *)disassembly->output.bytes; *at; at = next) {
		struct disassembly_line line = {0};

		next = at + strcspn(at, "\n");
		if (*next)
			*next++ = '\0';
		if (!parse_instruction(at, &line) && !parse_function(at, &line) &&
		    !parse_position(at, &line))
			continue;
		ARRAY_GROW(disassembly->lines, disassembly->nr, disassembly->cap);
		disassembly->lines[disassembly->nr++] = line;
	}
}

/* Change "jne 1110 <strlen@plt+0x118>", an address and some symbol before it, in place. */
static void count_target(char *text, uint64_t start, uint64_t end)
{
	char *name = strchr(text, '<'), *number, *rest;
	uint64_t target;

	/*
	 * An address without an offset is that of the symbol; operands other than jumps are in a
	 * comment.
	 */
	if (!name || name < text + 2 || name[-1] != ' ' || !strstr(name, "+0x") ||
	    strchr(text, '#') || strchr(text, '('))
		return;
	for (number = name - 1; number > text && number[-1] != ' ' && number[-1] != '\t';)
		number--;
	target = strtoull(number, &rest, 16);
	if (rest != name - 1)
		return;
	if (target >= start && target < end)
		snprintf(number, strlen(number) + 1, "+0x%" PRIx64, target - start);
	else
		name[-1] = '\0';
}

void disassembly_count_targets(struct disassembly *disassembly, uint64_t start, uint64_t end)
{
	char *output = (char *)disassembly->output.bytes;

	for (size_t i = 0; i < disassembly->nr; i++) {
		const struct disassembly_line *line = &disassembly->lines[i];

		if (line->kind == DISASSEMBLY_INSTRUCTION)
			count_target(output + (line->text - output), start, end);
	}
}

bool disassembly_has_instructions(const struct disassembly *disassembly)
{
	for (size_t i = 0; i < disassembly->nr; i++)
		if (disassembly->lines[i].kind == DISASSEMBLY_INSTRUCTION)
			return true;
	return false;
}
