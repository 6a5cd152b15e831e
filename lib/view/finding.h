/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_VIEW_FINDING_H
#define PROFC_VIEW_FINDING_H

struct buf;
struct view;

/* What was found of a thing that is needed. */
enum finding {
	FINDING_OK,
	FINDING_WARNING, /* it works, but could be better */
	FINDING_FAILURE, /* it does not work */
	FINDING_COUNT,
};

/*
 * "ok", "warn" or "FAIL", what was found, and on a line of its own a hint what to do about it; NULL
 * or "": none. Wrapped to the columns of the view; the texts may be anybody's, and are escaped.
 */
void finding_append(struct buf *out, const struct view *view, enum finding finding,
		    const char *what, const char *hint);

/* The last line, of how many of each kind there were: "profiling works here, with 1 warning". */
void findings_append_sum(struct buf *out, const struct view *view,
			 const unsigned int nr[FINDING_COUNT]);

#endif
