// SPDX-License-Identifier: GPL-2.0-or-later
/* Puts source lines between the instructions of a disassembly. */
#include "view/asm_lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/strtab.h"
#include "view/asm_text.h"
#include "view/disassembly.h"

void asm_lines_release(struct asm_lines *lines)
{
	strtab_free(lines->texts);
	free(lines->lines);
	*lines = (struct asm_lines){0};
}

static void append_line(struct asm_lines *lines, struct asm_line line)
{
	ARRAY_GROW(lines->lines, lines->nr, lines->cap);
	lines->lines[lines->nr++] = line;
}

/* "prog.c:12  while (rounds--)"; the text of the line is NULL if unknown. */
static void append_source(struct asm_lines *lines, const struct disassembly_line *position,
			  const char *text)
{
	const char *slash = strrchr(position->text, '/');
	struct buf line = {0};
	struct str_id id;

	buf_printf(&line, "%s:%u", slash ? slash + 1 : position->text, position->line);
	if (text) {
		buf_append_str(&line, "  ");
		buf_append_str(&line, text + strspn(text, " \t"));
	}
	if (!lines->texts)
		lines->texts = strtab_new();
	id = strtab_intern(lines->texts, buf_str(&line));
	append_line(lines,
		    (struct asm_line){.is_source = true, .text = strtab_get(lines->texts, id)});
	buf_release(&line);
}

void asm_lines_append(struct asm_lines *lines, const struct disassembly *disassembly,
		      const char *(*source_line)(void *context, const char *path, uint32_t line),
		      void *context)
{
	for (size_t i = 0; i < disassembly->nr; i++) {
		const struct disassembly_line *line = &disassembly->lines[i];

		switch (line->kind) {
		case DISASSEMBLY_FUNCTION:
			append_line(lines,
				    (struct asm_line){.is_source = true, .text = line->text});
			break;
		case DISASSEMBLY_POSITION:
			append_source(lines, line, source_line(context, line->text, line->line));
			break;
		case DISASSEMBLY_INSTRUCTION:
			append_line(lines, (struct asm_line){.address = line->address,
							     .text = line->text});
			break;
		}
	}
}
