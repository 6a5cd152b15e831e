/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The gain of a program from each function, if that were faster. */
#ifndef PROFC_VIEW_WHATIF_TEXT_H
#define PROFC_VIEW_WHATIF_TEXT_H

struct sink;
struct view;
struct whatif_facts;

void whatif_print_text(const struct whatif_facts *facts, const struct view *view,
		       struct sink *sink);
void whatif_print_json(const struct whatif_facts *facts, struct sink *sink);
void whatif_print_csv(const struct whatif_facts *facts, struct sink *sink);

#endif
