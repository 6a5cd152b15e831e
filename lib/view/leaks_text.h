/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef PROFC_VIEW_LEAKS_TEXT_H
#define PROFC_VIEW_LEAKS_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "view/style.h"

struct leaks;
struct sink;

/*
 * What was not freed, the most first: how much, since when, how fast it grows; and below that the
 * stack, leaf first, in lines as compilers print them. Where there are several owners, what each of
 * them leaks comes first, and whose it is stands with each stack. limit is the number of stacks,
 * and of owners, that are shown; 0: all. Without a view, the same as JSON.
 */
void leaks_print(const struct leaks *leaks, const struct view *view, size_t limit,
		 struct sink *sink);

#endif
