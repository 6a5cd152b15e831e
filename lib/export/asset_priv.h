/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_EXPORT_ASSET_PRIV_H
#define PROFC_EXPORT_ASSET_PRIV_H

#include <stddef.h>

/* Files of this directory that are part of the program, byte for byte. */
struct asset {
	const char *bytes;
	size_t nr_bytes;
};

struct asset asset_base_css(void);
struct asset asset_flamegraph_js(void);
struct asset asset_page_css(void);
struct asset asset_page_html(void);
struct asset asset_page_js(void);
struct asset asset_page_reader_js(void);
struct asset asset_whatif_css(void);

#endif
