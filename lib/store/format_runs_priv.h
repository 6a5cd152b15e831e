/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The columns of the runs of a merged recording. */
#ifndef PROFC_STORE_FORMAT_RUNS_PRIV_H
#define PROFC_STORE_FORMAT_RUNS_PRIV_H

enum runs_column {
	RUNS_COMMAND,
	RUNS_HOSTNAME,
	RUNS_START,
	RUNS_DURATION,
	RUNS_COLUMNS,
};

#endif
