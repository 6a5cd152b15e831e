/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_DESKTOP_BROWSER_H
#define PROFC_DESKTOP_BROWSER_H

#include <stdbool.h>

struct buf;

/* Settings from the environment, which only the program reads. */
struct browser_choice {
	const char *browser; /* $BROWSER: commands, separated by colons; NULL or "": none */
	const char *path;    /* $PATH */
	bool has_display;    /* X or Wayland */
	bool is_wsl;	     /* Linux within Windows, which has the browser */
};

/*
 * Open a file, by its absolute path, in the chosen browser, or on a display with the desktop's own
 * command. The browser continues in a session of its own, without the terminal, and is not waited
 * for: one that fails within a moment has not opened the file, and the next is tried. False if all
 * fail, with the reasons appended to *why. Other children are not affected.
 */
bool browser_open(const struct browser_choice *choice, const char *path, struct buf *why);

#endif
