/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of a page of --html. */
#ifndef PROFC_EXPORT_HTML_PRIV_H
#define PROFC_EXPORT_HTML_PRIV_H

#include "export/asset_priv.h"

struct extract;
struct page_data;
struct sink;

/*
 * The head of any page, and the begin of its body. The title is raw text. `sources`: what its
 * policy permits besides styles, each after "; ".
 */
void html_write_head(const char *title, const char *sources, struct asset css, struct sink *sink);

/* Everything before the data; `before` precedes the title of the recording. */
void html_write_begin(const struct extract *extract, const char *before, struct sink *sink);
/*
 * Blocks of data under a class: "data", and for a comparison after that "old-data". Those of rows,
 * "data-rows" and "old-data-rows", are written to the memory `rows`.
 */
void html_write_data(struct page_data *data, const char *name, struct sink *sink,
		     struct sink *rows);
/* The scripts, the rows, which are released, and the end of the page. */
void html_write_end(struct sink *sink, struct sink *rows);

#endif
