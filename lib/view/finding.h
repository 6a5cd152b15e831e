/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_VIEW_FINDING_H
#define PROFC_VIEW_FINDING_H

struct buf;
struct view;

/* The state of a thing that profc needs. */
enum finding {
	FINDING_OK,
	FINDING_WARNING, /* it works, but could be better */
	FINDING_FAILURE, /* it does not work */
	FINDING_COUNT,
};

/*
 * Append "ok", "warn" or "FAIL", the text of the finding, and on its own line a hint how to mend
 * it; NULL or "": no hint. Wrapped to the columns of the view. The texts may come from anywhere,
 * and are escaped.
 */
void finding_append(struct buf *out, const struct view *view, enum finding finding,
		    const char *what, const char *hint);

/* The last line, with the number of each kind: "profiling works here, with 1 warning". */
void findings_append_sum(struct buf *out, const struct view *view,
			 const unsigned int nr[FINDING_COUNT]);

#endif
