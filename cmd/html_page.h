/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the page of a profile, and opens it. */
#ifndef PROFC_CMD_HTML_PAGE_H
#define PROFC_CMD_HTML_PAGE_H

#include <stdbool.h>

struct command;
struct export_values;
struct filter;
struct page_options;

/* Where a page comes from, and where it goes. */
struct html_page_request {
	const char *input;  /* as open_profile() takes it */
	const char *output; /* NULL: a file for the owner alone where the system keeps such */
	bool opens;	    /* in the browser; if there is none, says where the page is */
	bool quiet;	    /* says nothing of a page that was written or opened */
	bool shows_progress;
	const struct page_options *page; /* NULL: as without any */
};

/*
 * Make the page of the part of a profile that the filter leaves. Returns the status to exit with,
 * after all messages; these name the help of the command if its options make no sense. NULL: they
 * cannot be wrong.
 */
int html_page_make(const struct command *command, const struct html_page_request *request,
		   const struct export_values *values, const struct filter *filter);

#endif
