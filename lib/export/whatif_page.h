/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_EXPORT_WHATIF_PAGE_H
#define PROFC_EXPORT_WHATIF_PAGE_H

struct sink;
struct whatif_facts;

/*
 * What functions are worth as one self-contained page without scripts: the table and notes of the
 * text, and for each function a curve of its gains. Write errors are the sink's.
 */
void whatif_write_html(const struct whatif_facts *facts, struct sink *sink);

#endif
