// SPDX-License-Identifier: GPL-2.0-or-later
/* A bounded queue of lines, in pieces that are freed as they are written. */
#include "agent/stream_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/write_priv.h"
#include "base/alloc.h"
#include "base/buf.h"

/* The unit for counting rows that were read; a pipe holds as much. */
#define CHUNK_BYTES ((size_t)64 * 1024)

struct stream_chunk {
	struct stream_chunk *next;
	struct buf lines;
	size_t nr_written; /* bytes */
	uint64_t nr_rows;
};

void agent_stream_init(struct agent_stream *stream, size_t max_bytes)
{
	*stream = (struct agent_stream){.max_bytes = max_bytes};
	pthread_mutex_init(&stream->lock, NULL);
}

static void free_first(struct agent_stream *stream)
{
	struct stream_chunk *chunk = stream->first;

	stream->first = chunk->next;
	if (!chunk->next)
		stream->last = NULL;
	buf_release(&chunk->lines);
	free(chunk);
}

void agent_stream_release(struct agent_stream *stream)
{
	while (stream->first)
		free_first(stream);
	pthread_mutex_destroy(&stream->lock);
}

static void append(struct agent_stream *stream, const struct buf *lines, uint64_t nr_rows)
{
	struct stream_chunk *chunk = stream->last;

	if (!chunk || chunk->lines.nr_bytes >= CHUNK_BYTES) {
		chunk = xcalloc(1, sizeof(*chunk));
		if (stream->last)
			stream->last->next = chunk;
		else
			stream->first = chunk;
		stream->last = chunk;
	}
	buf_append(&chunk->lines, lines->bytes, lines->nr_bytes);
	chunk->nr_rows += nr_rows;
	stream->nr_bytes += lines->nr_bytes;
}

static void tell_losses(struct agent_stream *stream)
{
	struct buf line = {0};

	if (stream->nr_untold) {
		agent_write_lost(&line, stream->nr_untold);
		append(stream, &line, 0);
	}
	stream->nr_untold = 0;
	buf_release(&line);
}

/* Call this with the lock held. */
static bool is_full(struct agent_stream *stream)
{
	if (stream->nr_bytes <= stream->max_bytes / 2)
		stream->is_full = false;
	return stream->is_full || stream->is_closed;
}

bool agent_stream_put(struct agent_stream *stream, const struct buf *lines, bool is_row)
{
	bool has_room;

	pthread_mutex_lock(&stream->lock);
	has_room = !is_full(stream) && stream->nr_bytes + lines->nr_bytes <= stream->max_bytes;
	stream->is_full |= !has_room;
	if (has_room) {
		tell_losses(stream);
		append(stream, lines, is_row);
	}
	pthread_mutex_unlock(&stream->lock);
	return has_room;
}

void agent_stream_put_last(struct agent_stream *stream, const struct buf *lines)
{
	pthread_mutex_lock(&stream->lock);
	if (!stream->is_closed) {
		tell_losses(stream);
		append(stream, lines, 0);
	}
	pthread_mutex_unlock(&stream->lock);
}

bool agent_stream_is_full(struct agent_stream *stream)
{
	bool full;

	pthread_mutex_lock(&stream->lock);
	full = is_full(stream);
	pthread_mutex_unlock(&stream->lock);
	return full;
}

void agent_stream_lose(struct agent_stream *stream)
{
	pthread_mutex_lock(&stream->lock);
	stream->nr_lost++;
	stream->nr_untold++;
	pthread_mutex_unlock(&stream->lock);
}

uint64_t agent_stream_nr_lost(struct agent_stream *stream)
{
	uint64_t nr;

	pthread_mutex_lock(&stream->lock);
	nr = stream->nr_lost;
	pthread_mutex_unlock(&stream->lock);
	return nr;
}

/*
 * Write in pieces: writers block on the lock while we hold it, since they may append to the lines
 * being written. The pipe does not block. Returns how many bytes were taken.
 */
static ssize_t write_first(struct agent_stream *stream, int fd)
{
	struct stream_chunk *chunk = stream->first;
	size_t nr_left = chunk->lines.nr_bytes - chunk->nr_written;
	ssize_t nr = write(fd, chunk->lines.bytes + chunk->nr_written, nr_left);

	if (nr < 0)
		return nr;
	chunk->nr_written += (size_t)nr;
	stream->nr_bytes -= (size_t)nr;
	if ((size_t)nr == nr_left)
		free_first(stream);
	return nr;
}

enum stream_state agent_stream_write(struct agent_stream *stream, int fd, bool *has_moved)
{
	ssize_t nr;

	*has_moved = false;
	for (;;) {
		pthread_mutex_lock(&stream->lock);
		nr = stream->first ? write_first(stream, fd) : 0;
		pthread_mutex_unlock(&stream->lock);
		if (nr == 0)
			return STREAM_EMPTY;
		*has_moved |= nr > 0;
		if (nr < 0 && errno != EINTR)
			return errno == EAGAIN ? STREAM_WAITS : STREAM_CLOSED;
	}
}

void agent_stream_close(struct agent_stream *stream)
{
	pthread_mutex_lock(&stream->lock);
	stream->is_closed = true;
	while (stream->first) {
		stream->nr_lost += stream->first->nr_rows;
		free_first(stream);
	}
	stream->nr_bytes = 0;
	pthread_mutex_unlock(&stream->lock);
}
