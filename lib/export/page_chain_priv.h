/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_EXPORT_PAGE_CHAIN_PRIV_H
#define PROFC_EXPORT_PAGE_CHAIN_PRIV_H

struct json;
struct numbering;
struct page_columns;
struct selection;

/* The critical path (calltree/chain.h) as a track of the page. */
struct page_chain;

/*
 * NULL: there is none. It is of whole recordings of one run in which the path goes from one thread
 * to another at all. The selection is borrowed.
 */
struct page_chain *page_chain_new(const struct selection *selection);
void page_chain_free(struct page_chain *chain); /* may be NULL, as below */

/* The columns, which number threads and functions. */
void page_chain_write(struct page_chain *chain, struct page_columns *columns,
		      struct numbering *threads, struct numbering *functions);
/* Members of the open object. */
void page_chain_write_members(const struct page_chain *chain, struct json *json);

#endif
