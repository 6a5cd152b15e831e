/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Paragraphs that are wrapped to the width of a view. */
#ifndef PROFC_VIEW_PARAGRAPH_H
#define PROFC_VIEW_PARAGRAPH_H

#include "view/style.h"

struct sink;

/*
 * Print words (valid, escaped UTF-8, separated by single spaces) in lines that fit the view: the
 * first after `lead`, the others indented by as many columns. A word that does not fit a line is
 * not broken.
 */
void paragraph_print(const struct view *view, const char *lead, const char *words,
		     struct sink *sink);
/* As paragraph_print(), with all lines in a style. */
void paragraph_print_styled(const struct view *view, enum style style, const char *lead,
			    const char *words, struct sink *sink);

#endif
