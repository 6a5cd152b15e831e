// SPDX-License-Identifier: GPL-2.0-or-later
/* Runs objdump, and parses its output. */
#include "cmd/disassembly.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cmd/search_path.h"

/* Far above the largest function: bounds what is read of objdump's output. */
#define OUTPUT_MAX_BYTES (64u << 20)

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

static void read_output(const char *command, struct buf *output)
{
	FILE *pipe = popen(command, "re");
	uint8_t bytes[8192];
	size_t nr;

	if (!pipe)
		return;
	while (output->nr_bytes < OUTPUT_MAX_BYTES &&
	       (nr = fread(bytes, 1, sizeof(bytes), pipe)) > 0)
		buf_append(output, bytes, nr);
	pclose(pipe);
}

bool can_disassemble(void)
{
	return in_search_path("objdump");
}

void disassemble(const char *path, uint64_t start, uint64_t end, struct disassembly *disassembly)
{
	struct buf command = {0};

	buf_append_str(&command, "objdump --disassemble --line-numbers --no-show-raw-insn ");
	buf_printf(&command, "--start-address=0x%" PRIx64 " --stop-address=0x%" PRIx64 " -- ",
		   start, end);
	append_shell_word(&command, path);
	buf_append_str(&command, " 2>/dev/null");
	read_output(buf_str(&command), &disassembly->output);
	buf_release(&command);
}

bool disassembly_has_instructions(const struct disassembly *disassembly)
{
	for (size_t i = 0; i < disassembly->nr; i++)
		if (disassembly->lines[i].kind == DISASSEMBLY_INSTRUCTION)
			return true;
	return false;
}
