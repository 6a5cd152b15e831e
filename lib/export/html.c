// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One self-contained page: the data that page_data.c packs, and the scripts of page/ that show it.
 * A content security policy keeps the page from loading or sending anything.
 */
#include <string.h>

#include "base/buf.h"
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

void html_write_head(const char *title, const char *sources, struct asset css, struct sink *sink)
{
	struct buf shown = {0};

	escape_target_markup(&shown, title);
	sink_printf(sink,
		    "<!DOCTYPE html>\n"
		    "<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
		    "style-src 'unsafe-inline'%s\">\n"
		    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
		    "<meta name=\"generator\" content=\"profc " PROFC_VERSION "\">\n"
		    "<title>%s</title>\n",
		    sources, buf_str(&shown));
	write_asset(sink, "<style>\n", asset_base_css(), "");
	write_asset(sink, "", css, "</style>\n</head>\n<body>\n");
	buf_release(&shown);
}

void html_write_begin(const struct extract *extract, const char *before, struct sink *sink)
{
	struct buf title = {0};

	buf_append_str(&title, before);
	extract_append_title(&title, extract);
	html_write_head(buf_str(&title),
			"; script-src 'unsafe-inline'; worker-src blob:", asset_page_css(), sink);
	write_asset(sink, "", asset_page_html(), "");
	write_asset(sink, "<script id=\"reader\">\n", asset_page_reader_js(), "</script>\n");
	buf_release(&title);
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
