/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_BASE_SINK_H
#define PROFC_BASE_SINK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct progress;

/*
 * The destination of a view's or an export's text and bytes: a file descriptor, or memory in tests.
 * Writes are gathered; the first failure is remembered, everything after it is dropped, and
 * sink_flush() returns it. Not a FILE, so that lib/ cannot reach a terminal by itself.
 */
struct sink {
	struct buf pending;
	int fd;			   /* -1: memory only; the content stays in `pending` */
	int sys_errno;		   /* of the first failed write, else 0 */
	struct progress *progress; /* counts the written bytes; borrowed, or NULL */
};

#define SINK_MEMORY                                                                                \
	{                                                                                          \
		.fd = -1                                                                           \
	}

void sink_init_fd(struct sink *sink, int fd); /* fd stays the caller's */
void sink_write(struct sink *sink, const void *bytes, size_t nr_bytes);
void sink_str(struct sink *sink, const char *text);
void sink_printf(struct sink *sink, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Writes the pending bytes. 0, or the errno of the first failure (EPIPE, ENOSPC, …). */
int sink_flush(struct sink *sink);
void sink_release(struct sink *sink); /* frees; does not flush */

#endif
