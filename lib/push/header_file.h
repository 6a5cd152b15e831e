/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Header lines for receivers, such as tokens, from a file. */
#ifndef PROFC_PUSH_HEADER_FILE_H
#define PROFC_PUSH_HEADER_FILE_H

#include <stdbool.h>
#include <stddef.h>

struct err;

/* Zero-initialised is empty. */
struct push_headers {
	char **lines; /* "Name: value"; owned */
	size_t nr, cap;
	bool is_readable_by_others; /* the file is, and its secrets with it */
};

/*
 * The lines of a text that are neither empty nor begin with '#'. ERR_INVALID, naming the number of
 * the line but never its text: no header, or one that profc sets itself.
 */
int push_headers_parse(struct push_headers *headers, const char *text, struct err *err);
/*
 * push_headers_parse() of a file of at most 64 KiB. ERR_SYS: it cannot be read. Read it again for
 * each attempt that was denied: tokens are renewed.
 */
int push_headers_read(struct push_headers *headers, const char *path, struct err *err);
void push_headers_release(struct push_headers *headers);

#endif
