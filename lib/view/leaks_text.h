/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_VIEW_LEAKS_TEXT_H
#define PROFC_VIEW_LEAKS_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "view/style.h"

struct leaks;
struct sink;

/*
 * Memory that was not freed, the largest amount first: its size, age and growth; below these its
 * stack, leaf first, in the form of compilers' messages. Several owners come first with a sum each,
 * and each stack names its owner. `limit` bounds the stacks and owners shown; 0: all.
 */
void leaks_print_text(const struct leaks *leaks, const struct view *view, size_t limit,
		      struct sink *sink);
/* JSON of all this. */
void leaks_print_json(const struct leaks *leaks, size_t limit, struct sink *sink);

#endif
