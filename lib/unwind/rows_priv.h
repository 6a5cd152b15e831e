/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_UNWIND_ROWS_PRIV_H
#define PROFC_UNWIND_ROWS_PRIV_H

#include "unwind/hot_rows.h"
#include "unwind/row_cache.h"
#include "unwind/rows.h"

/* The state that rows.c keeps and rows_find.c fills. */
struct rows {
	struct hot_rows hot;
	struct row_cache cache;
	struct row_cache jit;	    /* proved on each stack again: JIT, and rows_find_by_code() */
	struct row_cache disproved; /* number of searches for another row on a stack */
	struct row_cache calls;	    /* known return addresses, after a call */
	struct row_cache
		without_fp; /* alternative rows, for frames with an unknown frame pointer */
	struct module_cfi **modules; /* by module id; NULL if not needed yet */
	size_t nr_modules, cap_modules;
	uint64_t nr_compiled;
	struct walk_work *work; /* borrowed */
};

#endif
