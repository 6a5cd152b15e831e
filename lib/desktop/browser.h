/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_DESKTOP_BROWSER_H
#define PROFC_DESKTOP_BROWSER_H

#include <stdbool.h>

struct buf;

/* What the environment says; only the program reads that. */
struct browser_choice {
	const char *browser; /* $BROWSER: commands, parted by colons; NULL or "": none */
	const char *path;    /* $PATH */
	bool has_display;    /* of X or Wayland */
	bool is_wsl;	     /* Linux within Windows, whose browser it is */
};

/*
 * Open a file, by its absolute path, in the browser that was chosen, or where there is a display
 * in what desktops have for that. It runs on in a session of its own, without the terminal, and is
 * not waited for: one that ends with a failure within a moment has not opened the file, and the
 * next is tried. False if none has, and *why, appended to, says why. Children of other kinds are
 * let alone.
 */
bool browser_open(const struct browser_choice *choice, const char *path, struct buf *why);

#endif
