/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BASE_ESCAPE_H
#define PROFC_BASE_ESCAPE_H

#include <stddef.h>

#include "base/buf.h"

/*
 * Text that came from a target (names, paths, arguments) is hostile until
 * escaped. For a terminal: C0 and DEL as \n, \t or \xNN, C1 controls, bidi
 * overrides and invalid UTF-8 as \xNN of their bytes; valid UTF-8 passes.
 */
void escape_terminal(struct buf *out, const char *text);

/*
 * The number of terminal columns that valid, escaped text takes: 0 for
 * combining marks, 2 for wide East Asian characters, else 1 a code point.
 */
size_t text_columns(const char *text);

/*
 * Inside a JSON string: quotes, backslash, controls, bidi overrides, U+2028/9 and `<`
 * escaped; invalid UTF-8 bytes become U+FFFD. Safe inside <script> and on a terminal.
 */
void escape_json(struct buf *out, const char *text);

/*
 * A field of comma-separated values (RFC 4180): quoted where it holds a quote or a comma. The rest
 * is as for a terminal, which may read it.
 */
void escape_csv(struct buf *out, const char *text);

/* Quote a word if necessary, so that a shell takes it as one word, whatever bytes it has. */
void escape_shell(struct buf *out, const char *word);

/* Bytes as base64 with padding (RFC 4648). */
void escape_base64(struct buf *out, const void *bytes, size_t nr_bytes);

#endif
