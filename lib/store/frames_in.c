// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads and decompresses the zstd frames of a profile. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/alloc.h"
#include "base/err.h"
#include "store/frames_priv.h"

#define CHUNK_BYTES ((size_t)128 * 1024)
/* Memory is allocated in steps of this size, so that a false content size costs nothing. */
#define CONTENT_STEP_BYTES ((size_t)1 << 20)

int frames_in_init(struct frames_in *in, int fd, uint64_t nr_bytes, struct err *err)
{
	*in = (struct frames_in){.fd = fd, .nr_bytes_to_read = nr_bytes, .zstd = ZSTD_createDCtx()};
	if (!in->zstd || ZSTD_isError(ZSTD_DCtx_setParameter(in->zstd, ZSTD_d_windowLogMax,
							     FRAME_WINDOW_LOG_MAX))) {
		frames_in_release(in);
		return err_set(err, ERR_NOMEM, "cannot start the decompressor");
	}
	in->chunk = xmalloc(CHUNK_BYTES);
	return 0;
}

void frames_in_release(struct frames_in *in)
{
	ZSTD_freeDCtx(in->zstd);
	buf_release(&in->content);
	free(in->chunk);
	*in = (struct frames_in){.fd = -1};
}

/* As read(2), after the bytes in the chunk; also 0 at the reader's limit. */
static ssize_t read_some(struct frames_in *in, size_t nr_bytes)
{
	ssize_t n;

	if (nr_bytes > in->nr_bytes_to_read)
		nr_bytes = (size_t)in->nr_bytes_to_read;
	do
		n = read(in->fd, in->chunk + in->nr_bytes, nr_bytes);
	while (n < 0 && errno == EINTR);
	if (n > 0) {
		in->nr_bytes += (size_t)n;
		in->nr_bytes_to_read -= (size_t)n;
	}
	return n;
}

/* Move the rest to the front and read until `want` bytes are there or the file ends. */
static int fill(struct frames_in *in, size_t want, struct err *err)
{
	if (in->nr_bytes - in->at >= want)
		return 0;
	memmove(in->chunk, in->chunk + in->at, in->nr_bytes - in->at);
	in->nr_bytes -= in->at;
	in->at = 0;
	while (in->nr_bytes < want) {
		ssize_t n = read_some(in, CHUNK_BYTES - in->nr_bytes);

		if (n < 0)
			return err_sys(err, "cannot read the profile");
		if (n == 0)
			return 0;
	}
	return 0;
}

static void take(struct frames_in *in, size_t nr_bytes)
{
	in->at += nr_bytes;
	in->nr_bytes_taken += nr_bytes;
}

void frames_in_accept(struct frames_in *in)
{
	in->nr_bytes_used = in->nr_bytes_taken;
}

/* Files that users have beside profiles. */
static const struct {
	const char *magic;
	size_t nr_bytes;
	const char *hint;
} others[] = {
	{"PERFILE2", 8, "it is a perf recording: read it with perf report"},
	{"\x1f\x8b", 2,
	 "it is a gzip file, as --pprof and --push write: read it with go tool pprof"},
};

static int not_a_profile(const struct frames_in *in, struct err *err)
{
	if (in->nr_bytes == 0)
		return err_set(err, ERR_EMPTY, "the file is empty");
	err_set(err, ERR_CORRUPT, "not a profc profile");
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		if (in->nr_bytes >= others[i].nr_bytes &&
		    memcmp(in->chunk, others[i].magic, others[i].nr_bytes) == 0)
			err_hint(err, "%s", others[i].hint);
	}
	return ERR_CORRUPT;
}

int frames_in_header(struct frames_in *in, struct err *err)
{
	struct cursor cursor;
	const uint8_t *magic;
	uint32_t skippable, nr_bytes, version;

	if (fill(in, FORMAT_HEADER_BYTES, err) < 0)
		return ERR_SYS;
	cursor = cursor_over(in->chunk, in->nr_bytes);
	skippable = cursor_u32(&cursor);
	nr_bytes = cursor_u32(&cursor);
	magic = cursor_bytes(&cursor, FORMAT_MAGIC_BYTES);
	version = cursor_u32(&cursor);
	(void)cursor_u32(&cursor); /* reserved */
	if (cursor.failed || skippable != FORMAT_SKIPPABLE_MAGIC ||
	    memcmp(magic, FORMAT_MAGIC, FORMAT_MAGIC_BYTES) != 0)
		return not_a_profile(in, err);
	if (version > FORMAT_VERSION) {
		err_set(err, ERR_VERSION, "format version %u is newer than %u, the newest known",
			version, FORMAT_VERSION);
		err_hint(err, "read it with the profc that wrote it, or a newer one");
		return ERR_VERSION;
	}
	if (version == 0 || nr_bytes != FORMAT_HEADER_CONTENT)
		return err_set(err, ERR_CORRUPT, "the header of the profile is damaged");
	take(in, FORMAT_HEADER_BYTES);
	frames_in_accept(in);
	return 0;
}

static int corrupt(const struct frames_in *in, struct err *err, const char *what)
{
	return err_set(err, ERR_CORRUPT, "damaged at byte %llu: %s",
		       (unsigned long long)in->nr_bytes_used, what);
}

/* Every frame has a content size, so that limits are checked before decoding. */
static int check_frame_head(struct frames_in *in, struct err *err)
{
	size_t nr_bytes = in->nr_bytes - in->at;
	unsigned long long content = ZSTD_getFrameContentSize(in->chunk + in->at, nr_bytes);
	struct cursor cursor = cursor_over(in->chunk + in->at, nr_bytes);
	uint32_t magic = cursor_u32(&cursor);

	if (!cursor.failed && magic != FORMAT_ZSTD_FRAME_MAGIC)
		return corrupt(in, err, "no frame starts here");
	/* A frame with this content size has a header of at most 18 bytes. */
	if (content == ZSTD_CONTENTSIZE_ERROR && nr_bytes < 18)
		return err_set(err, ERR_TRUNCATED, "the file ends inside a frame");
	if (content == ZSTD_CONTENTSIZE_ERROR || content == ZSTD_CONTENTSIZE_UNKNOWN)
		return corrupt(in, err, "bad frame header");
	if (content > FRAME_CONTENT_MAX_BYTES)
		return corrupt(in, err, "a frame claims more than the maximum size");
	return 0;
}

/* A file of a few bytes must not decode to gigabytes. */
static bool is_bomb(const struct frames_in *in)
{
	return in->nr_content_bytes >
	       CONTENT_ALLOWANCE_BYTES + CONTENT_MAX_PER_FILE_BYTE * in->nr_bytes_taken;
}

/* One step of decoding; *left is 0 when the frame is complete. */
static int decode_some(struct frames_in *in, size_t *left, struct err *err)
{
	ZSTD_inBuffer input = {.src = in->chunk + in->at, .size = in->nr_bytes - in->at};
	size_t before = in->content.nr_bytes;
	ZSTD_outBuffer output = {.size = CONTENT_STEP_BYTES};

	output.dst = buf_extend(&in->content, CONTENT_STEP_BYTES);
	*left = ZSTD_decompressStream(in->zstd, &output, &input);
	in->content.nr_bytes = before + output.pos;
	in->nr_content_bytes += output.pos;
	take(in, input.pos);
	if (ZSTD_isError(*left))
		return corrupt(in, err, ZSTD_getErrorName(*left));
	if (in->content.nr_bytes > FRAME_CONTENT_MAX_BYTES || is_bomb(in))
		return corrupt(in, err, "a frame exceeds the maximum size");
	return 0;
}

int frames_in_next(struct frames_in *in, bool *end, struct err *err)
{
	size_t left = 1;
	int status = fill(in, 18, err);

	if (status < 0)
		return status;
	*end = in->at == in->nr_bytes;
	if (*end)
		return 0;
	status = check_frame_head(in, err);
	buf_clear(&in->content);
	ZSTD_DCtx_reset(in->zstd, ZSTD_reset_session_only);
	while (status == 0 && left) {
		uint64_t before = in->nr_bytes_taken + in->content.nr_bytes;

		status = fill(in, 1, err);
		if (status == 0)
			status = decode_some(in, &left, err);
		if (status == 0 && left && before == in->nr_bytes_taken + in->content.nr_bytes)
			return err_set(err, ERR_TRUNCATED, "the file ends inside a frame");
	}
	return status;
}

uint64_t frames_in_nr_bytes_left(struct frames_in *in)
{
	uint64_t nr_bytes = in->nr_bytes_taken - in->nr_bytes_used + (in->nr_bytes - in->at);
	ssize_t n;

	while ((n = read(in->fd, in->chunk, CHUNK_BYTES)) > 0 || (n < 0 && errno == EINTR))
		nr_bytes += n > 0 ? (uint64_t)n : 0;
	in->at = in->nr_bytes = 0;
	return nr_bytes;
}
