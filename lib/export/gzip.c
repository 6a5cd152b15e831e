// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes a gzip file. */
#define ZLIB_CONST /* so that zlib.h has const where input is */
#include "export/gzip_priv.h"

#include <assert.h>
#include <limits.h>
#include <stdint.h>
#include <zlib.h>

#include "base/sink.h"

#define LEVEL		 4	   /* profiles are repetitive: a higher level gains little */
#define WINDOW_GZIP	 (15 + 16) /* the largest window; +16 asks for a gzip header */
#define MEMORY_LEVEL	 8
#define INPUT_STEP_BYTES ((size_t)1 << 30) /* zlib counts in unsigned int */

static void deflate_step(z_stream *stream, int flush, struct sink *sink)
{
	uint8_t out[16 * 1024 - 512];

	do {
		stream->next_out = out;
		stream->avail_out = sizeof(out);
		(void)deflate(stream, flush); /* fails only on misuse */
		sink_write(sink, out, sizeof(out) - stream->avail_out);
	} while (stream->avail_out == 0);
}

void gzip_write(struct sink *sink, const void *bytes, size_t nr_bytes)
{
	const uint8_t *at = bytes;
	z_stream stream = {.zalloc = NULL};
	int status = deflateInit2(&stream, LEVEL, Z_DEFLATED, WINDOW_GZIP, MEMORY_LEVEL,
				  Z_DEFAULT_STRATEGY);

	assert(status == Z_OK);
	while (nr_bytes > INPUT_STEP_BYTES) {
		stream.next_in = at;
		stream.avail_in = INPUT_STEP_BYTES;
		deflate_step(&stream, Z_NO_FLUSH, sink);
		at += INPUT_STEP_BYTES;
		nr_bytes -= INPUT_STEP_BYTES;
	}
	stream.next_in = at;
	stream.avail_in = (uInt)nr_bytes;
	deflate_step(&stream, Z_FINISH, sink);
	deflateEnd(&stream);
}
