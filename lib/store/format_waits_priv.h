/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_STORE_FORMAT_WAITS_PRIV_H
#define PROFC_STORE_FORMAT_WAITS_PRIV_H

/* The columns of awaited objects, as those of format_columns_priv.h. */
enum waits_column {
	WAITS_ROW,
	WAITS_PROCESS,
	WAITS_KIND,
	WAITS_NUMBER,
	WAITS_PLACE,
	WAITS_NAME,
	WAITS_OWNER,
	WAITS_PEER,
	WAITS_COLUMNS,
};

#endif
