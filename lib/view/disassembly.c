// SPDX-License-Identifier: GPL-2.0-or-later
/* Parses the output of objdump. */
#include "view/disassembly.h"

#include <ctype.h>
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

bool disassembly_has_instructions(const struct disassembly *disassembly)
{
	for (size_t i = 0; i < disassembly->nr; i++)
		if (disassembly->lines[i].kind == DISASSEMBLY_INSTRUCTION)
			return true;
	return false;
}
