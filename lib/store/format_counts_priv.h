/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_STORE_FORMAT_COUNTS_PRIV_H
#define PROFC_STORE_FORMAT_COUNTS_PRIV_H

/* The columns of counts, as those of format_columns_priv.h. */
enum counts_column {
	COUNTS_ROW,
	COUNTS_KIND,
	COUNTS_FLAGS,
	COUNTS_PROCESS,
	COUNTS_WHERE,
	COUNTS_CALLEE,
	COUNTS_CALLS,
	COUNTS_FROM,
	COUNTS_TO,
	COUNTS_COLUMNS,
};

#endif
