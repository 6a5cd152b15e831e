// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One self-contained page: the data that page_data.c packs, and the scripts of page/ that show it.
 * A content security policy keeps the page from loading or sending anything.
 */
#include <string.h>

#include "base/buf.h"
#include "base/escape.h"
#include "base/minmax.h"
#include "base/sink.h"
#include "export/asset_priv.h"
#include "export/extract_priv.h"
#include "export/html_priv.h"
#include "export/markup_priv.h"
#include "export/page_data_priv.h"

static void write_asset(struct sink *sink, const char *before, struct asset asset,
			const char *after)
{
	sink_str(sink, before);
	sink_write(sink, asset.bytes, asset.nr_bytes);
	sink_str(sink, after);
}

static void write_title(const struct extract *extract, const char *before, struct sink *sink)
{
	struct buf raw = {0}, plain = {0}, title = {0};

	extract_append_title(&raw, extract);
	escape_terminal(&plain, buf_str(&raw));
	escape_markup(&title, buf_str(&plain));
	sink_str(sink, "<title>");
	sink_str(sink, before);
	sink_str(sink, buf_str(&title));
	sink_str(sink, "</title>\n");
	buf_release(&raw);
	buf_release(&plain);
	buf_release(&title);
}

void html_write_begin(const struct extract *extract, const char *before, struct sink *sink)
{
	sink_str(sink,
		 "<!DOCTYPE html>\n"
		 "<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		 "style-src 'unsafe-inline'; script-src 'unsafe-inline'; worker-src blob:\">\n"
		 "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		 "<meta name=\"generator\" content=\"profc " PROFC_VERSION "\">\n");
	write_title(extract, before, sink);
	write_asset(sink, "<style>\n", asset_page_css(), "</style>\n</head>\n<body>\n");
	write_asset(sink, "", asset_page_html(), "");
	write_asset(sink, "<script id=\"reader\">\n", asset_page_reader_js(), "</script>\n");
}

/* Browsers read texts of this size faster than one long one. A multiple of 4, to be base64. */
#define BLOCK_BYTES ((size_t)256 << 10)

static void write_blocks(struct sink *sink, const char *name, const char *suffix,
			 const struct sink *packed)
{
	size_t at = 0, nr_bytes;

	for (; at < packed->pending.nr_bytes; at += nr_bytes) {
		nr_bytes = min_u64(packed->pending.nr_bytes - at, BLOCK_BYTES);
		sink_printf(sink, "<div class=\"%s%s\" hidden>", name, suffix);
		sink_write(sink, packed->pending.bytes + at, nr_bytes);
		sink_str(sink, "</div>\n");
	}
}

void html_write_data(struct page_data *data, const char *name, struct sink *sink, struct sink *rows)
{
	struct sink text = SINK_MEMORY, packed = SINK_MEMORY, packed_rows = SINK_MEMORY;
	size_t nr_bytes = page_data_write(data, &text);

	page_write_packed(&packed, text.pending.bytes, nr_bytes);
	page_write_packed(&packed_rows, text.pending.bytes + nr_bytes,
			  text.pending.nr_bytes - nr_bytes);
	sink_release(&text);
	write_blocks(sink, name, "", &packed);
	write_blocks(rows, name, "-rows", &packed_rows);
	sink_release(&packed_rows);
	sink_release(&packed);
}

void html_write_end(struct sink *sink, struct sink *rows)
{
	write_asset(sink, "<script type=\"module\" async>\n", asset_page_js(), "</script>\n");
	sink_write(sink, rows->pending.bytes, rows->pending.nr_bytes);
	sink_str(sink, "</body>\n</html>\n");
	sink_release(rows);
}

void write_html(const struct extract *extract, struct sink *sink)
{
	struct page_data data;
	struct sink rows = SINK_MEMORY;

	page_data_init(&data, extract);
	data.is_alone = true;
	html_write_begin(extract, "", sink);
	html_write_data(&data, "data", sink, &rows);
	html_write_end(sink, &rows);
	page_data_release(&data);
}
