/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How slow calls differ from the others, as a table and as JSON. */
#ifndef PROFC_VIEW_SLOW_TEXT_H
#define PROFC_VIEW_SLOW_TEXT_H

#include <stdint.h>

#include "view/style.h"

struct sink;
struct slow_difference;

/* `limit`: of rows of each kind; 0: all. */
void slow_print_text(const struct slow_difference *difference, uint64_t limit,
		     const struct view *view, struct sink *sink);
void slow_print_json(const struct slow_difference *difference, struct sink *sink);

#endif
