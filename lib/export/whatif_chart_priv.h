/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A curve: how much a program gains, by how much faster a function of it is. */
#ifndef PROFC_EXPORT_WHATIF_CHART_PRIV_H
#define PROFC_EXPORT_WHATIF_CHART_PRIV_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct whatif_facts;

/* From bottom to top of all curves of a page, so that they compare; in percent. */
struct whatif_scale {
	double low, high; /* 0 is between them */
	double step;	  /* of lines across */
	bool is_of_time;  /* by how much a time changes, not what the program gains */
};

struct whatif_scale whatif_scale_of(const struct whatif_facts *facts);

/* Charts refer to these: once in a page, before them. */
void whatif_append_chart_parts(struct buf *out);
/* The chart of a function, an <svg>. */
void whatif_append_chart(struct buf *out, const struct whatif_facts *facts, size_t function,
			 const struct whatif_scale *scale);

#endif
