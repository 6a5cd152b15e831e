/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_DESKTOP_WORDS_PRIV_H
#define PROFC_DESKTOP_WORDS_PRIV_H

#include <stddef.h>

struct buf;

/* Append the URL of a file (RFC 8089), from its absolute path. */
void file_url_append(struct buf *out, const char *path);

/*
 * The words of a command of $BROWSER, of nr_bytes: separated by blanks, without a shell. %s is
 * replaced by the URL, which else comes last, and %% by a single one. NULL-ended; NULL: no command.
 * To be freed with browser_words_free().
 */
char **browser_words(const char *command, size_t nr_bytes, const char *url);
void browser_words_free(char **words);

#endif
