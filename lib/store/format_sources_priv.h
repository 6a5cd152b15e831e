/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Columns of what is known of sources and instructions. */
#ifndef PROFC_STORE_FORMAT_SOURCES_PRIV_H
#define PROFC_STORE_FORMAT_SOURCES_PRIV_H

enum sources_column {
	SOURCES_FILE,
	SOURCES_BYTES,
	SOURCES_MODIFIED,
	SOURCES_TEXT,
	SOURCES_COLUMNS,
	SOURCES_OLD_COLUMNS = SOURCES_TEXT,
};

enum listings_column {
	LISTINGS_MODULE,
	LISTINGS_START,
	LISTINGS_END,
	LISTINGS_TEXT,
	LISTINGS_COLUMNS,
};

#endif
