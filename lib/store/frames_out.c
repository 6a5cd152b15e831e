// SPDX-License-Identifier: GPL-2.0-or-later
/* Gathers records, and writes them as compressed zstd frames. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/alloc.h"
#include "base/err.h"
#include "store/frames_priv.h"

/* Frames of about this size compress as well as larger ones and cost readers little memory. */
#define FRAME_TARGET_BYTES ((size_t)1 << 20)
/* A shorter part as a block of its own costs more (header and entropy table) than it gains. */
#define BLOCK_MIN_BYTES 256
#define ZSTD_LEVEL	6

static size_t set_parameters(ZSTD_CCtx *zstd)
{
	size_t level = ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, ZSTD_LEVEL);
	size_t checksum = ZSTD_CCtx_setParameter(zstd, ZSTD_c_checksumFlag, 1);

	return ZSTD_isError(level) ? level : checksum;
}

int frames_out_init(struct frames_out *out, int fd, struct err *err)
{
	*out = (struct frames_out){.fd = fd, .zstd = ZSTD_createCCtx()};
	if (!out->zstd)
		return err_set(err, ERR_NOMEM, "cannot start the compressor");
	if (ZSTD_isError(set_parameters(out->zstd))) {
		frames_out_release(out);
		return err_set(err, ERR_UNSUPPORTED, "the zstd library refuses its parameters");
	}
	return 0;
}

void frames_out_release(struct frames_out *out)
{
	ZSTD_freeCCtx(out->zstd);
	buf_release(&out->content);
	buf_release(&out->compressed);
	free(out->breaks);
	*out = (struct frames_out){.fd = -1};
}

static int write_all(struct frames_out *out, const struct buf *bytes, struct err *err)
{
	size_t done = 0;

	while (done < bytes->nr_bytes) {
		ssize_t n = write(out->fd, bytes->bytes + done, bytes->nr_bytes - done);

		if (n >= 0)
			done += (size_t)n;
		else if (errno != EINTR)
			return err_sys(err, "cannot write the profile");
	}
	out->nr_bytes_written += done;
	return 0;
}

int frames_out_header(struct frames_out *out, struct err *err)
{
	struct buf header = {0};
	int status;

	buf_append_u32(&header, FORMAT_SKIPPABLE_MAGIC);
	buf_append_u32(&header, FORMAT_HEADER_CONTENT);
	buf_append(&header, FORMAT_MAGIC, FORMAT_MAGIC_BYTES);
	buf_append_u32(&header, FORMAT_VERSION);
	buf_append_u32(&header, 0);
	status = write_all(out, &header, err);
	buf_release(&header);
	return status;
}

static void add_break(struct frames_out *out)
{
	size_t last = out->nr_breaks ? out->breaks[out->nr_breaks - 1] : 0;

	if (out->content.nr_bytes - last < BLOCK_MIN_BYTES)
		return;
	ARRAY_GROW(out->breaks, out->nr_breaks, out->cap_breaks);
	out->breaks[out->nr_breaks++] = out->content.nr_bytes;
}

/* Everything before the columns: type, length of the rest, rows, columns, their lengths. */
static void append_head(struct buf *content, enum record_type type,
			const struct columns_out *columns, const struct column_plan *plans)
{
	struct buf head = {0};
	size_t nr_payload_bytes;

	buf_append_uleb(&head, columns->nr_rows);
	buf_append_uleb(&head, columns->nr_columns);
	for (unsigned int i = 0; i < columns->nr_columns; i++)
		buf_append_uleb(&head, plans[i].nr_bytes);
	nr_payload_bytes = head.nr_bytes;
	for (unsigned int i = 0; i < columns->nr_columns; i++)
		nr_payload_bytes += plans[i].nr_bytes;
	buf_append_uleb(content, type);
	buf_append_uleb(content, nr_payload_bytes);
	buf_append(content, head.bytes, head.nr_bytes);
	buf_release(&head);
}

/* Planes differ in their statistics: a long one gets a block, and an entropy table, of its own. */
static void append_column(struct frames_out *out, const struct column_out *column,
			  const struct column_plan *plan)
{
	for (unsigned int part = 0; part < column_nr_parts(plan); part++) {
		size_t nr_bytes = part == 1 ? column->nr_numbers / 8 : plan->nr_stored;

		if (nr_bytes >= BLOCK_MIN_BYTES)
			add_break(out);
		column_append_part(column, plan, part, &out->content);
		if (nr_bytes >= BLOCK_MIN_BYTES)
			add_break(out);
	}
}

int frames_out_record(struct frames_out *out, enum record_type type,
		      const struct columns_out *columns, struct err *err)
{
	struct column_plan plans[COLUMNS_MAX];

	for (unsigned int i = 0; i < columns->nr_columns; i++)
		plans[i] = column_plan(&columns->columns[i]);
	append_head(&out->content, type, columns, plans);
	for (unsigned int i = 0; i < columns->nr_columns; i++)
		append_column(out, &columns->columns[i], &plans[i]);
	return out->content.nr_bytes < FRAME_TARGET_BYTES ? 0 : frames_out_flush(out, err);
}

/* Compress content[from … to - 1]; with ZSTD_e_flush the next bytes begin a new block. */
static size_t compress_part(struct frames_out *out, size_t from, size_t to, ZSTD_EndDirective mode)
{
	ZSTD_inBuffer input = {.src = out->content.bytes + from, .size = to - from};
	ZSTD_outBuffer output = {.dst = out->compressed.bytes,
				 .size = out->compressed.cap,
				 .pos = out->compressed.nr_bytes};
	size_t left;

	do
		left = ZSTD_compressStream2(out->zstd, &output, &input, mode);
	while (!ZSTD_isError(left) && left && output.pos < output.size);
	out->compressed.nr_bytes = output.pos;
	return left;
}

static size_t compress_frame(struct frames_out *out)
{
	size_t nr_bytes = out->content.nr_bytes;
	size_t from = 0;
	size_t left = ZSTD_CCtx_setPledgedSrcSize(out->zstd, nr_bytes);

	buf_clear(&out->compressed);
	/* Each forced block may be stored as it is, with three bytes of header. */
	ARRAY_RESERVE(out->compressed.bytes,
		      ZSTD_compressBound(nr_bytes) + 64 + 4 * (out->nr_breaks + 1),
		      out->compressed.cap);
	for (size_t i = 0; i < out->nr_breaks && !ZSTD_isError(left); i++) {
		left = compress_part(out, from, out->breaks[i], ZSTD_e_flush);
		from = out->breaks[i];
	}
	return ZSTD_isError(left) ? left : compress_part(out, from, nr_bytes, ZSTD_e_end);
}

int frames_out_flush(struct frames_out *out, struct err *err)
{
	size_t left;

	if (!out->content.nr_bytes)
		return 0;
	if (out->content.nr_bytes > FRAME_CONTENT_MAX_BYTES)
		return err_set(err, ERR_LIMIT, "a record of the profile exceeds %zu MiB",
			       FRAME_CONTENT_MAX_BYTES >> 20);
	left = compress_frame(out);
	if (left)
		return err_set(err, ERR_NOMEM, "cannot compress the profile: %s",
			       ZSTD_isError(left) ? ZSTD_getErrorName(left) : "no room");
	buf_clear(&out->content);
	out->nr_breaks = 0;
	return write_all(out, &out->compressed, err);
}
