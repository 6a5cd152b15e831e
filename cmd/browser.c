// SPDX-License-Identifier: GPL-2.0-or-later
/* Shows what lib/browse draws by curses, and brings it keys. */
#include "cmd/browser.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define NCURSES_NOMACROS
#include <curses.h>

#include "base/alloc.h"
#include "base/err.h"
#include "browse/browse.h"
#include "browse/key.h"
#include "cmd/signal_pipe.h"
#include "cmd/terminal_entry.h"
#include "cmd/view_options.h"
#include "view/style.h"

/* How long the rest of a key that sends several bytes may take to come. */
#define ESCAPE_DELAY_MS 25

struct browser {
	struct browse *browse;
	const struct view_options *options;
	SCREEN *screen;
	struct signal_pipe signals;
	int ended_by; /* a signal, or 0 */
};

static const int signals_taken[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH};

bool browser_is_possible(void)
{
	const char *term = getenv("TERM");

	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && *term &&
	       strcmp(term, "dumb") != 0;
}

static bool has_utf8(void)
{
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

/* Text is UTF-8, as it is without curses, whatever the locale says. */
static void use_utf8(void)
{
	setlocale(LC_CTYPE, "");
	if (!has_utf8())
		setlocale(LC_CTYPE, "C.UTF-8");
}

/* ASCII for a character of more than one byte, which takes one cell as well. */
static char plain_of(const char *character)
{
	static const char pairs[][5] = {"├|", "└`", "─-", "│|", "▾v", "▸>",
					"…_", "↳>", "±~", "µu", "×x"};

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		size_t nr_bytes = strlen(pairs[i]) - 1;

		if (strncmp(character, pairs[i], nr_bytes) == 0)
			return pairs[i][nr_bytes];
	}
	return '?';
}

/* Where there are no locales, as in an empty root directory, curses takes bytes for characters. */
static void draw_plainly(const char *bytes, size_t nr_bytes)
{
	for (size_t i = 0; i < nr_bytes; i++) {
		unsigned char byte = (unsigned char)bytes[i];

		if (byte < 0x80)
			addch(byte);
		else if (byte >= 0xc0)
			addch((unsigned char)plain_of(bytes + i));
	}
}

/* A pair of colours for each style that has one. */
static short colour_of(enum style style)
{
	switch (style) {
	case STYLE_HOT:
		return COLOR_RED;
	case STYLE_WARM:
		return COLOR_YELLOW;
	case STYLE_GOOD:
		return COLOR_GREEN;
	case STYLE_SPECIAL:
		return COLOR_CYAN;
	case STYLE_PLAIN:
	case STYLE_HEADING:
	case STYLE_DIM:
		break;
	}
	return -1;
}

static attr_t attributes_of(enum style style)
{
	if (style == STYLE_HEADING || style == STYLE_HOT)
		return A_BOLD;
	return style == STYLE_DIM ? A_DIM : A_NORMAL;
}

static void begin_colours(void)
{
	if (start_color() == ERR || use_default_colors() == ERR)
		return;
	for (int style = STYLE_PLAIN; style <= STYLE_SPECIAL; style++)
		if (colour_of((enum style)style) >= 0)
			init_pair((short)style, colour_of((enum style)style), -1);
}

/* Whatever LINES and COLUMNS in the environment say. */
static void take_size(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0)
		resizeterm(size.ws_row, size.ws_col);
}

/* curses has handlers of its own for these; ours are read from a descriptor. */
static int open_screen(struct browser *browser, struct err *err)
{
	struct sigaction former[ARRAY_SIZE(signals_taken)];
	const char *term = getenv("TERM");

	for (size_t i = 0; i < ARRAY_SIZE(signals_taken); i++)
		sigaction(signals_taken[i], NULL, &former[i]);
	browser->screen = newterm(NULL, stdout, stdin);
	if (!browser->screen && terminal_entry_use(term)) {
		browser->screen = newterm(NULL, stdout, stdin);
		unsetenv("TERMINFO");
	}
	for (size_t i = 0; i < ARRAY_SIZE(signals_taken); i++)
		sigaction(signals_taken[i], &former[i], NULL);
	if (!browser->screen)
		return err_set(err, ERR_UNSUPPORTED, "the terminal '%s' is not known here",
			       term ? term : "");
	take_size();
	set_escdelay(ESCAPE_DELAY_MS);
	raw();
	noecho();
	nonl();
	curs_set(0);
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	leaveok(stdscr, TRUE);
	if (has_colors() && view_options_resolve(browser->options).colour)
		begin_colours();
	return 0;
}

static void close_screen(struct browser *browser)
{
	if (!browser->screen)
		return;
	erase();
	endwin();
	delscreen(browser->screen);
	browser->screen = NULL;
}

static struct view view_of(const struct browser *browser)
{
	struct view view = view_options_resolve(browser->options);

	/* The terminal decides, or the width that was asked for if that is less. */
	if (!browser->options->width || view.columns > (size_t)COLS)
		view.columns = (size_t)COLS;
	return view;
}

static void draw_line(const char *at, bool is_selected)
{
	struct style_run run;

	while (style_run_next(&at, &run)) {
		attr_t attributes = is_selected ? A_REVERSE : attributes_of(run.style);
		short pair = is_selected || colour_of(run.style) < 0 ? 0 : (short)run.style;

		attr_set(attributes, pair, NULL);
		if (has_utf8())
			addnstr(run.bytes, (int)run.nr_bytes);
		else
			draw_plainly(run.bytes, run.nr_bytes);
	}
}

static void draw(struct browser *browser)
{
	struct view view = view_of(browser);
	struct browse_screen screen = {.selected = BROWSE_NO_LINE};
	const char *at, *end;

	browse_draw(browser->browse, &view, (size_t)LINES, &screen);
	at = buf_str(&screen.text);
	end = at + screen.text.nr_bytes;
	erase();
	for (int line = 0; at < end && line < LINES; line++) {
		bool is_selected = (size_t)line == screen.selected;

		move(line, 0);
		draw_line(at, is_selected);
		if (is_selected)
			mvchgat(line, 0, -1, A_REVERSE, 0, NULL);
		at = strchr(at, '\n') + 1;
	}
	attr_set(A_NORMAL, 0, NULL);
	refresh();
	buf_release(&screen.text);
}

static int key_of(int code)
{
	switch (code) {
	case KEY_UP:
		return BROWSE_KEY_UP;
	case KEY_DOWN:
		return BROWSE_KEY_DOWN;
	case KEY_LEFT:
		return BROWSE_KEY_LEFT;
	case KEY_RIGHT:
		return BROWSE_KEY_RIGHT;
	case KEY_PPAGE:
		return BROWSE_KEY_PAGE_UP;
	case KEY_NPAGE:
		return BROWSE_KEY_PAGE_DOWN;
	case KEY_HOME:
		return BROWSE_KEY_HOME;
	case KEY_END:
		return BROWSE_KEY_END;
	case KEY_ENTER:
		return BROWSE_KEY_ENTER;
	case KEY_BACKSPACE:
		return BROWSE_KEY_BACKSPACE;
	case KEY_DC:
		return BROWSE_KEY_DELETE;
	default: /* a byte, or a key that nothing is made of */
		return code < 0x100 ? code : BROWSE_KEY_OTHER;
	}
}

/* As job control does elsewhere: the terminal is the shell's meanwhile. */
static void stop(void)
{
	endwin();
	stop_this_process();
	/* The next refresh() takes the terminal again. */
	clearok(stdscr, TRUE);
}

static void take_keys(struct browser *browser)
{
	int code;

	while ((code = getch()) != ERR && !browse_is_over(browser->browse)) {
		if (code == BROWSE_KEY_CTRL_Z)
			stop();
		else if (code == BROWSE_KEY_CTRL_L)
			clearok(stdscr, TRUE);
		else
			browse_key(browser->browse, key_of(code));
	}
}

static void take_signals(struct browser *browser)
{
	struct signalfd_siginfo info;

	while (read(browser->signals.fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGWINCH)
			take_size();
		else if (info.ssi_signo == SIGTSTP)
			stop();
		else
			browser->ended_by = (int)info.ssi_signo;
	}
}

static void loop(struct browser *browser)
{
	struct pollfd fds[] = {
		{.fd = browser->signals.fd, .events = POLLIN},
		{.fd = STDIN_FILENO, .events = POLLIN},
	};

	while (!browser->ended_by && !browse_is_over(browser->browse)) {
		draw(browser);
		if (poll(fds, ARRAY_SIZE(fds), -1) < 0 && errno != EINTR)
			return;
		if (fds[0].revents & POLLIN)
			take_signals(browser);
		if (fds[1].revents & POLLIN)
			take_keys(browser);
		else if (fds[1].revents & (POLLHUP | POLLERR | POLLNVAL))
			return; /* the terminal is gone */
	}
}

int browser_run(struct browse *browse, const struct view_options *options, struct err *err)
{
	struct browser browser = {
		.browse = browse, .options = options, .signals = SIGNAL_PIPE_NONE};
	sigset_t ours, former;
	int status;

	sigemptyset(&ours);
	for (size_t i = 0; i < ARRAY_SIZE(signals_taken); i++)
		sigaddset(&ours, signals_taken[i]);
	sigprocmask(SIG_BLOCK, &ours, &former);
	signal_pipe_open(&browser.signals, &ours);
	use_utf8();
	status = open_screen(&browser, err);
	if (status == 0)
		loop(&browser);
	close_screen(&browser);
	signal_pipe_close(&browser.signals);
	if (browser.ended_by) {
		signal(browser.ended_by, SIG_DFL);
		raise(browser.ended_by);
	}
	sigprocmask(SIG_SETMASK, &former, NULL);
	return status;
}
