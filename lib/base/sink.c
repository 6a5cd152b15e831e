// SPDX-License-Identifier: GPL-2.0-or-later
/* Buffered output to a file descriptor or to memory. */
#include "base/sink.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/progress.h"

#define FLUSH_AT_BYTES ((size_t)256 * 1024)

void sink_init_fd(struct sink *sink, int fd)
{
	*sink = (struct sink){.fd = fd};
}

/* Another process that shares the descriptor may have made it non-blocking; wait for the reader. */
static void wait_for_room(int fd)
{
	struct pollfd wanted = {.fd = fd, .events = POLLOUT};

	poll(&wanted, 1, -1);
}

int sink_flush(struct sink *sink)
{
	size_t done = 0;

	while (sink->fd >= 0 && !sink->sys_errno && done < sink->pending.nr_bytes) {
		ssize_t n =
			write(sink->fd, sink->pending.bytes + done, sink->pending.nr_bytes - done);

		if (n >= 0) {
			done += (size_t)n;
			progress_add_bytes(sink->progress, (size_t)n);
		} else if (errno == EAGAIN) {
			wait_for_room(sink->fd);
		} else if (errno != EINTR) {
			sink->sys_errno = errno;
		}
	}
	if (sink->fd >= 0)
		buf_clear(&sink->pending);
	return sink->sys_errno;
}

static void flush_if_large(struct sink *sink)
{
	if (sink->fd >= 0 && sink->pending.nr_bytes >= FLUSH_AT_BYTES)
		sink_flush(sink);
}

void sink_write(struct sink *sink, const void *bytes, size_t nr_bytes)
{
	buf_append(&sink->pending, bytes, nr_bytes);
	flush_if_large(sink);
}

void sink_str(struct sink *sink, const char *text)
{
	sink_write(sink, text, strlen(text));
}

void sink_printf(struct sink *sink, const char *format, ...)
{
	char text[512];
	char *long_text;
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (length < (int)sizeof(text)) {
		sink_write(sink, text, length > 0 ? (size_t)length : 0);
		return;
	}
	long_text = xmalloc((size_t)length + 1);
	va_start(args, format);
	vsnprintf(long_text, (size_t)length + 1, format, args);
	va_end(args);
	sink_write(sink, long_text, (size_t)length);
	free(long_text);
}

void sink_release(struct sink *sink)
{
	buf_release(&sink->pending);
}
