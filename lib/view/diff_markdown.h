/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A comparison of profiles as a comment for a pull request. */
#ifndef PROFC_VIEW_DIFF_MARKDOWN_H
#define PROFC_VIEW_DIFF_MARKDOWN_H

struct diff;
struct diff_limits;
struct sink;

/* The first line, by which a program finds its former comment. */
#define DIFF_MARKDOWN_MARK "<!-- profc diff -->"

/*
 * The total, the rows that surely changed, and in folded details those within noise, the calls that
 * were counted and what was compared, in GitHub's and GitLab's Markdown. `exceeded` is a text with
 * one limit that was exceeded on each line; empty: none was.
 */
void diff_print_markdown(const struct diff *diff, const struct diff_limits *limits,
			 const char *exceeded, struct sink *sink);

#endif
