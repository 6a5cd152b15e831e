// SPDX-License-Identifier: GPL-2.0-or-later
/* The entries of usual terminals, for where there is no database of them. */
#include "cmd/terminal_entry.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"

#ifdef PROFC_STATIC

/* The assembler runs from the top of the tree, where the path of the build directory starts. */
#define ENTRY(symbol, name)                                                                        \
	extern const unsigned char symbol[], symbol##_end[];                                       \
	__asm__(".pushsection .rodata\n" #symbol ":\n.incbin \"" PROFC_TERMINFO name               \
		"\"\n" #symbol "_end:\n.popsection\n");

ENTRY(entry_linux, "linux")
ENTRY(entry_screen, "screen")
ENTRY(entry_screen_256color, "screen-256color")
ENTRY(entry_tmux, "tmux")
ENTRY(entry_tmux_256color, "tmux-256color")
ENTRY(entry_xterm, "xterm")
ENTRY(entry_xterm_256color, "xterm-256color")

static const struct entry {
	const char *name;
	const unsigned char *bytes, *end;
} entries[] = {
	{"linux", entry_linux, entry_linux_end},
	{"screen", entry_screen, entry_screen_end},
	{"screen-256color", entry_screen_256color, entry_screen_256color_end},
	{"tmux", entry_tmux, entry_tmux_end},
	{"tmux-256color", entry_tmux_256color, entry_tmux_256color_end},
	{"xterm", entry_xterm, entry_xterm_end},
	{"xterm-256color", entry_xterm_256color, entry_xterm_256color_end},
};

/* TERMINFO may hold the compiled entry itself: see terminfo(5). */
static void put_into_environment(const struct entry *entry)
{
	struct buf text = {0};

	buf_append_str(&text, "hex:");
	for (const unsigned char *byte = entry->bytes; byte < entry->end; byte++)
		buf_printf(&text, "%02X", *byte);
	setenv("TERMINFO", buf_str(&text), 1);
	buf_release(&text);
}

bool terminal_entry_use(const char *term)
{
	for (size_t i = 0; term && i < ARRAY_SIZE(entries); i++) {
		if (strcmp(entries[i].name, term) == 0) {
			put_into_environment(&entries[i]);
			return true;
		}
	}
	return false;
}

#else

bool terminal_entry_use(const char *term)
{
	(void)term;
	return false;
}

#endif
