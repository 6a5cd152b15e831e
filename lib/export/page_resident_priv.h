/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The resident memory of all processes, for the page of --html. */
#ifndef PROFC_EXPORT_PAGE_RESIDENT_PRIV_H
#define PROFC_EXPORT_PAGE_RESIDENT_PRIV_H

struct page_columns;
struct profile;

/* Two columns: moments, and the bytes from each on. None where nothing is known. */
void page_resident_write(const struct profile *profile, struct page_columns *columns);

#endif
