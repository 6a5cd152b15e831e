/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_AGENT_STREAM_PRIV_H
#define PROFC_AGENT_STREAM_PRIV_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct stream_chunk;

/*
 * Lines for an agent that one thread puts and another one writes. Bounded; putting never waits.
 * Rows that find no room are counted, and the next lines that find some begin with that count.
 */
struct agent_stream {
	size_t max_bytes;
	pthread_mutex_t lock;	    /* for all members below */
	struct stream_chunk *first; /* owned, with its successors */
	struct stream_chunk *last;
	size_t nr_bytes;    /* that wait */
	bool is_full;	    /* set until half of it is free, so that losses come in few pieces */
	bool is_closed;	    /* the pipe has no reader any more */
	uint64_t nr_lost;   /* rows, in all */
	uint64_t nr_untold; /* of these, those not yet reported to the agent */
};

void agent_stream_init(struct agent_stream *stream, size_t max_bytes);
void agent_stream_release(struct agent_stream *stream);

/*
 * Put whole lines; with `is_row` the last of them is a row of the recording. False: there is no
 * room.
 */
bool agent_stream_put(struct agent_stream *stream, const struct buf *lines, bool is_row);
/* As above for the very last lines, for which there is always room. */
void agent_stream_put_last(struct agent_stream *stream, const struct buf *lines);
bool agent_stream_is_full(struct agent_stream *stream);
/* Count a row that was not put. */
void agent_stream_lose(struct agent_stream *stream);
uint64_t agent_stream_nr_lost(struct agent_stream *stream);

enum stream_state {
	STREAM_EMPTY,  /* all was written */
	STREAM_WAITS,  /* the pipe takes no more for now */
	STREAM_CLOSED, /* the pipe has no reader */
};

/*
 * Write pending lines into a non-blocking pipe, with SIGPIPE blocked. *has_moved: some bytes were
 * taken.
 */
enum stream_state agent_stream_write(struct agent_stream *stream, int fd, bool *has_moved);
/* No thread will write any more: pending and all later lines are lost. */
void agent_stream_close(struct agent_stream *stream);

#endif
