/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_CMD_TERMINAL_H
#define PROFC_CMD_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>
#include <termios.h>

struct buf;
struct err;

/*
 * The terminal as a screen: keys come one by one and unseen, Ctrl-C among them, and what
 * was on it before comes back at the end (ECMA-48, and xterm's alternate screen, which
 * every terminal of today knows). `top` has it in place of curses, as it needs no terminfo, and
 * leaves the screen and comes back to it between any two lines of a recording.
 */
struct terminal {
	int fd;		 /* of its own; -1: closed */
	bool is_entered; /* on the alternate screen, in raw mode */
	struct termios former;
	char bytes[64]; /* of keys that were read, and not yet taken */
	unsigned int nr_bytes;
};

/* Standard output must be a terminal. */
int terminal_open(struct terminal *terminal, struct err *err);
void terminal_close(struct terminal *terminal);
/* Give it back for a while, as before a stop. */
void terminal_leave(struct terminal *terminal);
/*
 * May it be used now? Not in the background; back in the foreground it is taken again, and *is_new
 * is set if nothing is drawn yet. SIGTTOU has to be blocked.
 */
bool terminal_hold(struct terminal *terminal, bool *is_new);
/* Lines of text from the top, the rest of each line and of the screen empty. */
void terminal_draw(struct terminal *terminal, const struct buf *text);
size_t terminal_rows(const struct terminal *terminal);
/*
 * A key, as browse_key_decode() has it; 0: none is pending. The bytes of one are taken to come
 * together.
 */
int terminal_key(struct terminal *terminal);

#endif
