// SPDX-License-Identifier: GPL-2.0-or-later
/* The terminal as a screen: keys, size, and its restoration. */
#include "cmd/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "browse/key.h"

#define ENTER_SCREEN "\033[?1049h\033[?25l"
#define LEAVE_SCREEN "\033[?25h\033[?1049l"
#define TO_THE_TOP   "\033[H"
#define CLEAR_LINE   "\033[K"
#define CLEAR_REST   "\033[J"
#define ROWS_UNKNOWN 24

static void send_text(struct terminal *terminal, const char *text, size_t nr_bytes)
{
	while (nr_bytes > 0) {
		ssize_t sent = write(terminal->fd, text, nr_bytes);

		if (sent < 0 && errno != EINTR)
			return; /* it is gone, and so will be this process */
		if (sent > 0) {
			text += sent;
			nr_bytes -= (size_t)sent;
		}
	}
}

static void enter(struct terminal *terminal)
{
	struct termios raw = terminal->former;

	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG | IEXTEN);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	tcsetattr(terminal->fd, TCSAFLUSH, &raw);
	send_text(terminal, ENTER_SCREEN, strlen(ENTER_SCREEN));
	terminal->is_entered = true;
}

int terminal_open(struct terminal *terminal, struct err *err)
{
	terminal->is_entered = false;
	terminal->nr_bytes = 0;
	terminal->fd = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	if (terminal->fd < 0 || tcgetattr(terminal->fd, &terminal->former) < 0) {
		err_sys(err, "cannot use the terminal");
		if (terminal->fd >= 0)
			close(terminal->fd);
		terminal->fd = -1;
		return ERR_SYS;
	}
	enter(terminal);
	return 0;
}

void terminal_leave(struct terminal *terminal)
{
	if (!terminal->is_entered)
		return;
	send_text(terminal, LEAVE_SCREEN, strlen(LEAVE_SCREEN));
	tcsetattr(terminal->fd, TCSAFLUSH, &terminal->former);
	terminal->is_entered = false;
}

/* A shell takes the terminal back from a process stopped by SIGSTOP. */
static bool was_taken_away(const struct termios *now)
{
	return now->c_lflag & ICANON;
}

bool terminal_hold(struct terminal *terminal, bool *is_new)
{
	pid_t foreground = tcgetpgrp(terminal->fd);
	struct termios now;

	*is_new = false;
	if ((foreground >= 0 && foreground != getpgrp()) || tcgetattr(terminal->fd, &now) < 0) {
		terminal->is_entered = false;
		return false;
	}
	if (!terminal->is_entered || was_taken_away(&now)) {
		terminal->former = now;
		enter(terminal);
		*is_new = true;
	}
	return true;
}

void terminal_close(struct terminal *terminal)
{
	if (terminal->fd < 0)
		return;
	terminal_leave(terminal);
	close(terminal->fd);
	terminal->fd = -1;
}

void terminal_draw(struct terminal *terminal, const struct buf *text)
{
	const char *at = (const char *)text->bytes;
	size_t left = text->nr_bytes;
	size_t rows = terminal_rows(terminal);
	struct buf screen = {0};

	buf_append_str(&screen, TO_THE_TOP);
	for (size_t row = 0; row < rows && left > 0; row++) {
		const char *end = memchr(at, '\n', left);
		size_t length = end ? (size_t)(end - at) : left;

		if (row > 0)
			buf_append_str(&screen, "\r\n");
		buf_append(&screen, at, length);
		buf_append_str(&screen, CLEAR_LINE);
		length += end != NULL;
		at += length;
		left -= length;
	}
	buf_append_str(&screen, CLEAR_REST);
	send_text(terminal, (const char *)screen.bytes, screen.nr_bytes);
	buf_release(&screen);
}

size_t terminal_rows(const struct terminal *terminal)
{
	struct winsize size;

	if (ioctl(terminal->fd, TIOCGWINSZ, &size) < 0 || size.ws_row == 0)
		return ROWS_UNKNOWN;
	return size.ws_row;
}

static bool has_input(const struct terminal *terminal)
{
	struct pollfd fd = {.fd = terminal->fd, .events = POLLIN};

	return poll(&fd, 1, 0) > 0;
}

int terminal_key(struct terminal *terminal)
{
	unsigned int nr_used;
	ssize_t nr;
	int key;

	if (terminal->nr_bytes == 0 && has_input(terminal)) {
		nr = read(terminal->fd, terminal->bytes, sizeof(terminal->bytes));
		terminal->nr_bytes = nr > 0 ? (unsigned int)nr : 0;
	}
	if (terminal->nr_bytes == 0)
		return 0;
	key = browse_key_decode(terminal->bytes, terminal->nr_bytes, &nr_used);
	terminal->nr_bytes -= nr_used;
	memmove(terminal->bytes, terminal->bytes + nr_used, terminal->nr_bytes);
	return key;
}
